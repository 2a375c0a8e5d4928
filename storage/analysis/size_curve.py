"""The curve of a volume: what SSD of each size would bring, from its heat, and which size is
enough."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from storage.analysis.curve.prospects import NO_DIFFERENCE, Prospect, Range
from storage.analysis.forecast import Use
from storage.analysis.heat_forecast import heat_forecast
from storage.analysis.measured_use import use_of
from storage.volumes.cache_sizes import SIZES_BYTES
from storage.volumes.snapshot import VolumeSnapshot

ENOUGH: Final = 0.9
"""A size that saves this part of what the largest saves is enough: beyond, SSD buys little."""
MOST_SIZES: Final = 14


@dataclass(frozen=True, slots=True)
class SizeCurve:
    """`prospects` of sizes below the volume's own, the smallest first. `enough` is the smallest
    size that saves nearly as much as the largest; None where no size helps. `size_now` is that of
    the present cache. `without` is what having no cache saves."""

    observed_seconds: int
    prospects: tuple[Prospect, ...]
    use: Use
    without: Range = NO_DIFFERENCE

    @property
    def enough(self) -> Prospect | None:
        helping = [each for each in self.prospects if each.verdict == "helps"]
        if not helping:
            return None
        most = max(_saved(each) for each in helping)
        return next(each for each in helping if _saved(each) >= ENOUGH * most)

    @property
    def size_now(self) -> int | None:
        return self.use.cache_size_bytes


def _saved(prospect: Prospect) -> float:
    return (prospect.saved_seconds_per_day.low + prospect.saved_seconds_per_day.high) / 2


def size_curve(row: VolumeSnapshot, now: datetime, *, writeback: bool = False) -> SizeCurve | None:
    """From the heat of the last two weeks; None where that is not enough
    (`storage.analysis.heat_forecast.missing_heat` says why)."""
    use = use_of(row, now)
    sizes = [size for size in SIZES_BYTES if size < row.volume.size_bytes][-MOST_SIZES:]
    if use.cache_size_bytes:
        sizes.append(use.cache_size_bytes)
    traffic = heat_forecast(row, use, sizes, now, writeback=writeback)
    if traffic is None:
        return None
    return SizeCurve(traffic.observed_seconds, tuple(traffic.prospects), use, traffic.without)
