"""What caches of some sizes would bring to a volume, as a worker has found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from storage.analysis.curve.bands import Bounds
from storage.analysis.curve.prospects import NO_DIFFERENCE, Prospect, Range
from storage.analysis.forecast import OwnTraffic
from storage.analysis.heat_forecast import KINDS
from storage.analysis.size_choice import enough_of
from storage.analysis.size_forecasts import SizePoint, packed_forecasts
from storage.models import SizeForecast, Volume

OBSERVED_SECONDS = 86_400


def foreseen(
    volume: Volume, points: Mapping[int, SizePoint], cache_bytes: int, now: datetime
) -> SizeForecast:
    """One that is not stored yet, the same for each technology and mode. The points are by size,
    0 for no cache, against the cache that the volume has now."""
    prospects = [_prospect(each) for size, each in sorted(points.items()) if size]
    without = _saved(points[0]) if 0 in points else NO_DIFFERENCE
    traffic = OwnTraffic(OBSERVED_SECONDS, prospects, without=without)
    enough = enough_of(prospects)
    return SizeForecast(
        volume=volume,
        made_at=now,
        cache_bytes=cache_bytes,
        observed_seconds=OBSERVED_SECONDS,
        enough_bytes=enough.size_bytes if enough is not None else 0,
        forecasts=packed_forecasts(dict.fromkeys(KINDS, traffic)),
    )


def _saved(point: SizePoint) -> Range:
    return Range(point.saved_low, point.saved_high)


def _prospect(point: SizePoint) -> Prospect:
    rate = point.hit_rate
    return Prospect(
        size_bytes=point.size_bytes,
        hit_rate=Bounds(0.9 * rate, rate, min(1.0, 1.05 * rate)),
        first_half_hour=Range(0.0, 0.2 * rate),
        first_day=Range(0.4 * rate, 0.8 * rate),
        read_ms_now=10.0,
        read_ms=Range(10.0 * (1 - rate), 10.0 * (1 - 0.9 * rate)),
        saved_seconds_per_day=_saved(point),
        ssd_bytes_per_day=Range(0.0, point.written_bytes_per_day),
        verdict="helps" if point.saved_low >= 60 else "no_help",
    )
