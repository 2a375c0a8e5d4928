"""What a change did to a volume: two windows of measured blocks compared like with like.

Pure statistics: blocks in, verdict out. `storage.samples.blocks` reads the blocks.
"""

from storage.gain.block import LEAST_ACCESSES, Block, total
from storage.gain.change import Change, change
from storage.gain.pairs import Pair, pairs, period_seconds
from storage.gain.verdict import Judged, Verdict, judge, notable
from storage.gain.warming import is_flat, warm_from
from storage.gain.windows import before_window, block_seconds

__all__ = [
    "LEAST_ACCESSES",
    "Block",
    "Change",
    "Judged",
    "Pair",
    "Verdict",
    "before_window",
    "block_seconds",
    "change",
    "is_flat",
    "judge",
    "notable",
    "pairs",
    "period_seconds",
    "total",
    "warm_from",
]
