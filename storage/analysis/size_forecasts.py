"""What caches of each size would bring to volumes, worked out by a worker once a day and kept."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.db.models import F, Q

from storage.analysis.curve.prospects import NO_DIFFERENCE, Range
from storage.analysis.heat_forecast import HEAT_BACK, missing_heat
from storage.analysis.size_curve import SizeCurve, size_curve
from storage.models import HeatDay, SizeForecast, Volume
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

RENEWED: Final = timedelta(days=1)
AT_ONCE: Final = 10
SECONDS_AT_ONCE: Final = 10.0
"""Other tasks wait for the same worker."""
SAME_SIZE: Final = 0.02
"""What is measured of a cache differs by metadata and whole extents from what was asked for."""
WRITETHROUGH: Final = "writethrough"


class SizePoint(NamedTuple):
    """Of a cache of `size_bytes` (0 = none): its likely hit rate of reads, the seconds of waiting
    that it saves a day, more than now, and what it writes to the SSD at most."""

    size_bytes: int
    hit_rate: float
    saved_low: float
    saved_high: float
    written_bytes_per_day: float


def mode_of(row: VolumeSnapshot) -> str:
    """Of a cache of another size: as sold, else as now. New data lie on SSD alone only where
    a person chose so."""
    if row.volume.cache_plan is not None:
        return row.volume.cache_plan.mode
    return row.cache.mode if row.cache is not None else WRITETHROUGH


def points_of(forecast: SizeForecast) -> tuple[SizePoint, ...]:
    """The smallest size first."""
    return tuple(SizePoint(*each) for each in forecast.points)


def says_nothing_now(forecast: SizeForecast, row: VolumeSnapshot) -> str:
    """Why the forecast does not hold for the volume as it is; "" where it does."""
    now_bytes = (row.cache.size_bytes or 0) if row.cache is not None else 0
    if not is_same_size(forecast.cache_bytes, now_bytes) or forecast.mode != mode_of(row):
        return "Its cache was changed since. A forecast follows within a day."
    return forecast.reason


def renew_forecasts(now: datetime) -> int:
    """Work out those that are a day old, or missing, of volumes with heat; the oldest first, some
    at once; how many."""
    done, begun = 0, time.monotonic()
    with_heat = HeatDay.objects.filter(day__gte=(now - HEAT_BACK).date()).values("volume")
    due = (
        Volume.objects.in_service()
        .filter(pk__in=with_heat)
        .filter(Q(size_forecast=None) | Q(size_forecast__made_at__lt=now - RENEWED))
        .order_by(F("size_forecast__made_at").asc(nulls_first=True), "pk")
        .select_related("cache_plan")
    )
    for row in snapshots_of(due[:AT_ONCE]):
        renew_forecast(row, now)
        done += 1
        if time.monotonic() - begun > SECONDS_AT_ONCE:
            break
    return done


def renew_forecast(row: VolumeSnapshot, now: datetime) -> SizeForecast:
    """Work out that of one volume."""
    mode = mode_of(row)
    curve = size_curve(row, now, writeback=mode == "writeback")
    points: tuple[SizePoint, ...] = ()
    reason = ""
    cache_bytes = (row.cache.size_bytes or 0) if row.cache is not None else 0
    if curve is None:
        reason = missing_heat(row, now)
    elif not is_same_size(curve.size_now or 0, cache_bytes):
        reason = "Its cache was changed lately, so that figures of the new one are still missing."
    else:
        points = tuple(_points(curve))
    made, _ = SizeForecast.objects.update_or_create(
        volume=row.volume,
        defaults={
            "made_at": now,
            "mode": mode,
            "cache_bytes": cache_bytes,
            "observed_seconds": curve.observed_seconds if curve is not None else 0,
            "points": points,
            "reason": reason,
        },
    )
    return made


def _points(curve: SizeCurve) -> Iterable[SizePoint]:
    """Against what the model says of the present size: what it errs by of that one, it errs by of
    the next. The windows that are good for one size are good for another, so that low is held
    against low."""
    is_now = [each for each in curve.prospects if each.size_bytes == curve.size_now]
    now = is_now[0].saved_seconds_per_day if is_now else NO_DIFFERENCE
    yield SizePoint(0, 0.0, *_against(curve.without, now), 0.0)
    for each in curve.prospects:
        yield SizePoint(
            each.size_bytes,
            each.hit_rate.likely,
            *_against(each.saved_seconds_per_day, now),
            each.ssd_bytes_per_day.high,
        )


def _against(saved: Range, now: Range) -> tuple[float, float]:
    ends = sorted((saved.low - now.low, saved.high - now.high))
    return ends[0], ends[1]


def is_same_size(one: int, other: int) -> bool:
    """Whether two measurements are of one cache."""
    return abs(one - other) <= SAME_SIZE * max(one, other)
