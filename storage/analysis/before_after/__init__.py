"""The effect of a change on a volume: two windows of measured blocks, compared like with like.

Pure statistics: blocks in, verdict out. `storage.analysis.sample_blocks` reads the blocks.
"""

from storage.analysis.before_after.block import (
    LEAST_ACCESSES,
    Block,
    Pair,
    before_window,
    block_seconds,
    is_warm,
    pairs,
    period_seconds,
    total,
    warm_from,
)
from storage.analysis.before_after.change import mean_change
from storage.analysis.before_after.verdict import Judged, Verdict, verdict_of
from storage.analysis.before_after.writes import Combined, JudgedWrites, combine, judge_writes
from storage.analysis.comparison.measured_change import MeasuredChange

__all__ = [
    "LEAST_ACCESSES",
    "Block",
    "Combined",
    "Judged",
    "JudgedWrites",
    "MeasuredChange",
    "Pair",
    "Verdict",
    "before_window",
    "block_seconds",
    "combine",
    "is_warm",
    "judge_writes",
    "mean_change",
    "pairs",
    "period_seconds",
    "total",
    "verdict_of",
    "warm_from",
]
