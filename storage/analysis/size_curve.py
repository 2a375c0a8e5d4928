"""The curve of a volume: what SSD of each size would bring, from its heat, and which size is
enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from storage.analysis.curve.prospects import NO_DIFFERENCE, Prospect, Range
from storage.analysis.forecast import ForecastInputs, Use
from storage.analysis.heat_forecast import heat_forecast, missing_heat
from storage.analysis.measured_use import use_of
from storage.analysis.size_choice import (
    RISK,
    SizeChoice,
    by_curve,
    by_traffic,
    bytes_per_day,
    enough_of,
    why_no_size,
)
from storage.formatting import size
from storage.volumes.cache_sizes import SIZES_BYTES
from storage.volumes.cache_wish import mode_refusal
from storage.volumes.snapshot import VolumeSnapshot

MOST_SIZES: Final = 14


@dataclass(frozen=True, slots=True)
class SizeCurve:
    """`prospects` of sizes below the volume's own, the smallest first. `enough` is the smallest
    size that saves nearly as much as the largest; None where no size is certain to help. `size_now`
    is that of the present cache. `without` is what having no cache saves."""

    observed_seconds: int
    prospects: tuple[Prospect, ...]
    use: Use
    inputs: ForecastInputs | None = None
    without: Range = NO_DIFFERENCE

    @property
    def choosable(self) -> tuple[Prospect, ...]:
        """Of the present cache and of sizes that forms have, not of those of plans."""
        sizes = {*SIZES_BYTES, self.size_now}
        return tuple(each for each in self.prospects if each.size_bytes in sizes)

    @property
    def enough(self) -> Prospect | None:
        enough = enough_of(self.choosable)
        return enough if enough is not None and enough.verdict == "helps" else None

    @property
    def why_not(self) -> str:
        """Why no size is enough; "" where one is."""
        return "" if self.enough else why_no_size(self.prospects, has_cache=self.use.has_cache)

    @property
    def size_now(self) -> int | None:
        return self.use.cache_size_bytes


def curve_sizes(volume_bytes: int) -> list[int]:
    """The sizes of a curve: those below the volume's own, the smallest first."""
    return [each for each in SIZES_BYTES if each < volume_bytes][-MOST_SIZES:]


def size_curve(
    row: VolumeSnapshot,
    now: datetime,
    *,
    writeback: bool = False,
    also: Sequence[int] = (),
) -> SizeCurve | None:
    """From the heat of the last two weeks, with the sizes `also`; None where that is not enough
    (`storage.analysis.heat_forecast.missing_heat` says why)."""
    use = use_of(row, now)
    sizes = {*curve_sizes(row.volume.size_bytes), *also}
    if use.cache_size_bytes:
        sizes.add(use.cache_size_bytes)
    traffic = heat_forecast(row, use, sizes, now, writeback=writeback)
    if traffic is None:
        return None
    return SizeCurve(
        traffic.observed_seconds, tuple(traffic.prospects), use, traffic.inputs, traffic.without
    )


def chosen_size(row: VolumeSnapshot, sizes: Sequence[int], now: datetime) -> SizeChoice | None:
    """Which of the offered sizes, the smallest first, a form chooses at first; None of none. In
    the mode that the cache has, else in writethrough."""
    if not sizes:
        return None
    mode = row.cache.mode if row.cache is not None else ""
    now_bytes = row.cache.size_bytes if row.cache is not None else None
    choice = _by_curve(
        row, (*sizes, *([now_bytes] if now_bytes else [])), now, writeback=mode == "writeback"
    )
    if choice is not None and now_bytes is not None and choice.size_bytes == now_bytes:
        text = f"The cache of {size(now_bytes)} is enough. {choice.reason}"
        return SizeChoice(None, text, choice.prospect)
    if choice is not None and choice.size_bytes is None and row.cache is None:
        back = _by_curve(row, sizes, now, writeback=True)
        if back is not None and back.size_bytes is not None:
            refusal = mode_refusal(row, "writeback")
            text = f"In writeback mode it would: {back.reason} {refusal or RISK}"
            return SizeChoice(None, f"{choice.reason} {text}")
    if choice is not None:
        return choice
    missing = missing_heat(row, now)
    if now_bytes is not None:
        larger = [each for each in sizes if each > now_bytes] or [max(sizes)]
        return SizeChoice(larger[0], f"{size(larger[0])} is the next size.", missing=missing)
    choice = by_traffic(sizes, bytes_per_day(use_of(row, now).sums), row.volume.size_bytes)
    return replace(choice, missing=missing)


def _by_curve(
    row: VolumeSnapshot, sizes: Sequence[int], now: datetime, *, writeback: bool
) -> SizeChoice | None:
    curve = size_curve(row, now, writeback=writeback)
    if curve is None or not any(each.size_bytes in sizes for each in curve.choosable):
        return None
    return by_curve(curve.choosable, sizes, has_cache=row.cache is not None)
