"""What each cache does for the SSD that it takes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from storage.analysis.cache_yield import CacheYield, cache_yields
from storage.analysis.size_forecasts import SizePoint
from storage.byte_sizes import GIB
from storage.metrics.rates import CachedBy
from storage.models import Volume
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.storage.analysis.advice.load import NOW, known, sampled_days

pytestmark = pytest.mark.django_db
CACHED = {"technology": CachedBy.DM_CACHE, "cache_size_bytes": 2 * GIB}
HITS = {"read_misses": 0, "write_hits": 0, "write_misses": 0}


def cached(mode: str = "writethrough") -> Volume:
    _, _, volumes = known(make.lv("mail", cache=make.dm_cache("c-mail", mode=mode)))
    return next(iter(volumes.values()))


def hits(volume: Volume, days: int, each_quarter: int, *, ago: int = 0, **others: int) -> None:
    sampled_days(
        volume,
        days,
        lambda ts: 0,
        end=NOW - timedelta(days=ago),
        **{**CACHED, **HITS, "reads": each_quarter, "read_hits": each_quarter, **others},
    )


def found(volume: Volume, *points: SizePoint) -> CacheYield:
    [only] = cache_yields(
        snapshots_of(Volume.objects.filter(pk=volume.pk)), {volume.pk: points}, NOW
    )
    return only


def test_hits_are_counted_for_each_gib_and_hour() -> None:
    volume = cached()
    hits(volume, 2, 500)
    only = found(volume)
    # 2,000 an hour on 2 GiB.
    assert only.per_gib_hour == pytest.approx(1000)
    assert not only.is_idle and only.verdict == ""


def test_less_than_a_day_says_nothing() -> None:
    volume = cached()
    sampled_days(volume, 1, lambda ts: 0, end=NOW - timedelta(days=20), **CACHED, **HITS)
    only = found(volume)
    assert only.per_gib_hour is None and only.verdict == "Measured for less than a day."


def test_an_idle_cache_says_since_when() -> None:
    volume = cached()
    hits(volume, 14, 0)
    hits(volume, 2, 500, ago=20)
    only = found(volume)
    assert only.is_idle and only.busy_until is not None
    assert timedelta(days=19) < NOW - only.busy_until < timedelta(days=22)
    assert only.verdict == f"Idle since {only.busy_until:%d %b %Y}."


def test_writes_count_where_the_ssd_alone_takes_them() -> None:
    volume = cached("writeback")
    hits(volume, 8, 0, writes=500, write_hits=500)
    assert not found(volume).is_idle
    volume = cached()
    hits(volume, 8, 0, writes=500, write_hits=500)
    assert found(volume).is_idle


def test_a_smaller_size_that_serves_nearly_as_much_is_named() -> None:
    volume = cached()
    hits(volume, 2, 500)
    points = [
        SizePoint(0, 0.0, -9.0, -9.0, 0.0),
        SizePoint(GIB // 2, 0.5, -5.0, -5.0, 0.0),
        SizePoint(GIB, 0.89, 0.0, 0.0, 0.0),
        SizePoint(2 * GIB, 0.9, 0.0, 0.0, 0.0),
    ]
    only = found(volume, *points)
    assert (only.enough, only.spare_bytes) == (points[2], GIB)
    assert only.verdict == "1 GiB would serve nearly as much."
    assert found(volume).enough is None


def test_caches_that_are_not_idle_cost_one_query() -> None:
    volume = cached()
    hits(volume, 2, 500)
    rows = snapshots_of(Volume.objects.filter(pk=volume.pk))
    with CaptureQueriesContext(connection) as queries:
        cache_yields(rows, {}, NOW)
    assert len(queries) == 1
