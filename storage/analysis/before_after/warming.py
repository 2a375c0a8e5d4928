"""When a new cache is warm: its hit rate no longer rises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from storage.analysis.before_after.block import Block

LOOKED_AT: Final = 6
"""So many blocks are looked at: the later half against the earlier one."""
STEADY: Final = 0.03
"""A hit rate that rises by less is flat; `storage.metrics.cache_warmth` says "warm" by the same
measure."""
LEAST: Final = 300
"""A half with fewer reads may look flat by chance."""


def is_flat(blocks: Sequence[Block]) -> bool:
    """Whether the hit rate of the last blocks, weighed by their reads, has stopped rising. A cache
    that nobody reads from learns nothing: its hit rate is never called flat."""
    last = blocks[-LOOKED_AT:]
    if len(last) < LOOKED_AT:
        return False
    early, late = last[: LOOKED_AT // 2], last[LOOKED_AT // 2 :]
    reads = [sum(block.accesses for block in half) for half in (early, late)]
    if min(reads) < LEAST:
        return False
    hits = [sum(block.hits for block in half) for half in (early, late)]
    return hits[1] / reads[1] - hits[0] / reads[0] < STEADY


def warm_from(blocks: Sequence[Block]) -> int | None:
    """How many of the blocks since the change it took until the hit rate was flat, None where it
    still rises. The blocks are in the order of time; those without any sample are left out."""
    return next((n for n in range(LOOKED_AT, len(blocks) + 1) if is_flat(blocks[:n])), None)
