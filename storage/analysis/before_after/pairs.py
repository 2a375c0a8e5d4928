"""Like with like: pairs each block before a change with the comparable block after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from storage.analysis.before_after.block import Block
from storage.analysis.before_after.windows import DAY, WEEK

Pair = tuple[Block, Block]
"""Before, after."""
SHORTEST_PERIOD: Final = DAY


def period_seconds(window_seconds: float) -> int | None:
    """After how long a guest does the same again: a week in windows of whole weeks, a day in whole
    days; None in shorter ones, where nobody can know."""
    if window_seconds >= WEEK:
        return WEEK
    return SHORTEST_PERIOD if window_seconds >= SHORTEST_PERIOD else None


def pairs(before: Sequence[Block], after: Sequence[Block], period: int | None) -> list[Pair]:
    """The pairs in the order of time after the change, of blocks that are used enough: those of the
    same hour of the period, the first with the first; without a period, simply in their order."""
    waiting: dict[int, list[Block]] = {}
    for block in sorted(before, key=lambda block: block.at):
        if block.is_used:
            waiting.setdefault(block.at % period if period else 0, []).append(block)
    found = []
    for block in sorted(after, key=lambda block: block.at):
        candidates = waiting.get(block.at % period if period else 0)
        if block.is_used and candidates:
            found.append((candidates.pop(0), block))
    return found
