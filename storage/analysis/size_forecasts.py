"""What caches of each size would bring to volumes, worked out by a worker once a day and kept."""

from __future__ import annotations

import time
import zlib
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec
from django.db.models import F, Q
from django.db.models.functions import NullIf

from storage.analysis.curve.prospects import NO_DIFFERENCE, Range
from storage.analysis.forecast import OwnTraffic
from storage.analysis.heat_forecast import (
    HEAT_BACK,
    CacheKind,
    ForecastByKind,
    forecast_of_kinds,
    missing_heat,
)
from storage.analysis.heat_store import packed
from storage.analysis.measured_use import use_of
from storage.analysis.size_choice import enough_of
from storage.analysis.size_curve import curve_sizes
from storage.models import HeatDay, SizeForecast, Volume
from storage.models.key_sets import any_of
from storage.planner.wish import TechnologyName
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

RENEWED: Final = timedelta(days=1)
AT_ONCE: Final = 10
SECONDS_AT_ONCE: Final = 10.0
"""Other tasks wait for the same worker."""
SAME_SIZE: Final = 0.02
"""What is measured of a cache differs by metadata and whole extents from what was asked for."""
WRITETHROUGH: Final = "writethrough"
WAITING: Final = (
    1000
    * (F("latest_sample__read_ms") + F("latest_sample__write_ms"))
    / NullIf("latest_sample__dt_ms", 0)
)
"""How many reads and writes of a volume wait at a time, in thousandths, by its last sample."""


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
    that was chosen."""
    if row.volume.cache_plan is not None:
        return row.volume.cache_plan.mode
    return row.cache.mode if row.cache is not None else WRITETHROUGH


def known_forecasts(volume_ids: Collection[int]) -> dict[int, SizeForecast]:
    """Of those that had no cache when it was made, by primary key. One query."""
    known = SizeForecast.objects.filter(pk__in=any_of(volume_ids), cache_bytes=0, reason="")
    return {each.pk: each for each in known}


def packed_forecasts(by_kind: ForecastByKind) -> bytes:
    """As the table keeps them."""
    return packed((*kind, each) for kind, each in by_kind.items())


_FORECASTS: Final = msgspec.msgpack.Decoder(list[tuple[TechnologyName, bool, OwnTraffic]])


def forecasts_of(forecast: SizeForecast) -> ForecastByKind:
    """What the table keeps, of one with forecasts."""
    kept = _FORECASTS.decode(zlib.decompress(forecast.forecasts))
    return {(name, writeback): each for name, writeback, each in kept}


def points_of(forecast: SizeForecast, row: VolumeSnapshot) -> tuple[SizePoint, ...]:
    """The smallest size first, of a forecast that holds for the volume (`says_nothing_now`); none
    where too few of its reads go through its technology, which was changed since.

    Against what the model says of the present size: what it errs by of that one, it errs by of the
    next. The windows that are good for one size are good for another, so that low is held against
    low. Where the model takes the present cache to miss more than it does, no cache saves more than
    is waited all the same."""
    traffic = forecasts_of(forecast).get(_kind_of(row))
    if traffic is None:
        return ()
    is_now = traffic.of(forecast.cache_bytes)
    now = is_now.saved_seconds_per_day if is_now is not None else NO_DIFFERENCE
    most = traffic.waited_seconds_per_day
    return (
        SizePoint(0, 0.0, *_against(traffic.without, now, most), 0.0),
        *(
            SizePoint(
                each.size_bytes,
                each.hit_rate.likely,
                *_against(each.saved_seconds_per_day, now, most),
                each.ssd_bytes_per_day.high,
            )
            for each in traffic.prospects
        ),
    )


def _against(saved: Range, now: Range, most: float) -> tuple[float, float]:
    ends = sorted(min(most, each) for each in (saved.low - now.low, saved.high - now.high))
    return ends[0], ends[1]


def _kind_of(row: VolumeSnapshot) -> CacheKind:
    return row.technology.name, mode_of(row) == "writeback"


def says_nothing_now(forecast: SizeForecast, row: VolumeSnapshot) -> str:
    """Why the forecast does not hold for the volume as it is; "" where it does."""
    if not is_same_size(forecast.cache_bytes, _cache_bytes(row)):
        return "Its cache was changed since. A forecast follows within a day."
    return forecast.reason


def renew_forecasts(now: datetime) -> int:
    """Work out those that are missing of volumes with heat, of those that wait most first, then
    those that are a day old, the oldest first; some at once; how many. What is old is renewed
    without heat too: it says then what is missing."""
    done, begun = 0, time.monotonic()
    with_heat = HeatDay.objects.filter(day__gte=(now - HEAT_BACK).date()).values("volume")
    is_missing = Q(size_forecast=None, pk__in=with_heat)
    due = (
        Volume.objects.in_service()
        .filter(is_missing | Q(size_forecast__made_at__lt=now - RENEWED))
        .order_by(
            F("size_forecast__made_at").asc(nulls_first=True), WAITING.desc(nulls_last=True), "pk"
        )
        .select_related("cache_plan")
    )
    for row in snapshots_of(due[:AT_ONCE]):
        renew_forecast(row, now)
        done += 1
        if time.monotonic() - begun > SECONDS_AT_ONCE:
            break
    return done


def renew_forecast(row: VolumeSnapshot, now: datetime) -> None:
    """Work out that of one volume."""
    use, cache_bytes = use_of(row, now), _cache_bytes(row)
    sizes = {*curve_sizes(row.volume.size_bytes), cache_bytes}
    by_kind = forecast_of_kinds(row, use, sizes, now)
    own, enough, reason = by_kind.get(_kind_of(row)), None, ""
    if own is None:
        reason = missing_heat(row, now)
    elif not is_same_size(use.cache_size_bytes or 0, cache_bytes):
        reason = "Its cache was changed lately, so that figures of the new one are still missing."
    else:
        enough = enough_of(own.prospects)
    SizeForecast.objects.update_or_create(
        volume=row.volume,
        defaults={
            "made_at": now,
            "cache_bytes": cache_bytes,
            "observed_seconds": own.observed_seconds if own is not None else 0,
            "enough_bytes": None if reason else enough.size_bytes if enough is not None else 0,
            "forecasts": b"" if reason else packed_forecasts(by_kind),
            "reason": reason,
        },
    )


def _cache_bytes(row: VolumeSnapshot) -> int:
    return (row.cache.size_bytes or 0) if row.cache is not None else 0


def is_same_size(one: int, other: int) -> bool:
    """Whether two measurements are of one cache."""
    return abs(one - other) <= SAME_SIZE * max(one, other)
