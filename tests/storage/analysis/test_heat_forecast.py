"""What the heat of a volume says, held against its own figures and its host's."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.cache import cache

from storage.analysis.curve.prospects import HostRates, VolumeWaits, without_cache
from storage.analysis.forecast import CacheChoice, Use, forecast
from storage.analysis.heat_forecast import (
    LEAST_SECONDS,
    cutoff_of,
    heat_forecast,
    missing_heat,
    waits_of,
    with_few_misses,
)
from storage.analysis.size_curve import size_curve
from storage.byte_sizes import GIB
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates import Sums
from storage.models import ForecastRecord, HeatDay, Host, Volume
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests import make
from tests.heat_scene import COUNTING, count_heat, counting_scene, slow_reads
from tests.scene import Scene, scene
from tests.storage.metrics.samples.rounds import NOON

pytestmark = pytest.mark.django_db
NOW = NOON + timedelta(hours=1)
MS = 1_000_000


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    cache.clear()


@pytest.fixture
def here() -> Scene:
    return counting_scene()


def row_of(volume: Volume) -> VolumeSnapshot:
    return snapshots_of([Volume.objects.get(pk=volume.pk)])[0]


def busy(volume: Volume) -> Use:
    """200 reads a second of 10 ms for an hour, all of them slow."""
    counts = [0] * (len(LATENCY_BOUNDS_NS) + 1)
    counts[next(n for n, ns in enumerate(LATENCY_BOUNDS_NS) if ns > 10 * MS)] = 720_000
    sums = Sums(
        dt_ms=3_600_000,
        reads=720_000,
        read_ms=7_200_000,
        busy_ms=3_000_000,
        latency_counts=tuple(counts),
    )
    return Use(
        volume_bytes=volume.size_bytes,
        days=1.0,
        seconds=3600.0,
        reads=sums.reads,
        read_iops=200.0,
        read_ms=10.0,
        waited_seconds_per_day=72_000.0,
        sums=sums,
    )


def test_hot_data_are_worth_a_cache_and_its_range_has_a_width(here: Scene) -> None:
    count_heat(here.volume, 12, NOW)
    found = heat_forecast(row_of(here.volume), busy(here.volume), [GIB, 2 * GIB], NOW)
    assert found is not None
    assert found.observed_seconds == 12 * 3600
    small, large = found.prospects
    assert 0 < small.hit_rate.low < small.hit_rate.likely < small.hit_rate.high <= 1
    assert small.hit_rate.likely <= large.hit_rate.likely
    assert small.read_ms.high <= small.read_ms_now
    assert small.verdict in ("helps", "unknown")


def test_what_was_forecast_lately_is_not_worked_out_again(here: Scene) -> None:
    count_heat(here.volume, 12, NOW)
    asked = (row_of(here.volume), busy(here.volume), [GIB], NOW)
    first = heat_forecast(*asked)
    HeatDay.objects.all().delete()
    assert heat_forecast(*asked) == first
    # What it says of another mode is another question.
    assert heat_forecast(*asked, writeback=True) is None


def test_too_little_heat_is_no_forecast_and_says_how_much_there_is(here: Scene) -> None:
    count_heat(here.volume, 2, NOW)
    row = row_of(here.volume)
    assert heat_forecast(row, busy(here.volume), [GIB], NOW) is None
    assert missing_heat(row, NOW) == (
        "What this volume reads again is not known yet: 2 h counted so far of 6 h needed."
    )
    assert LEAST_SECONDS == 6 * 3600


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        ({}, "too old"),
        ({"heat": {"state": "off"}}, "allow-heat"),
        ({"heat": {"state": "stopped"}}, "systemctl status tiercel-heat"),
        ({"heat": {"state": "unavailable"}}, "does not let itself be traced"),
        ({"heat": 7}, "too old"),
    ],
)
def test_what_keeps_heat_from_being_counted_is_said(
    here: Scene, hello: dict[str, object], words: str
) -> None:
    Host.objects.update(hello=hello)
    assert words in missing_heat(row_of(here.volume), NOW)


def test_a_customer_who_does_not_wish_it_is_not_forecast(here: Scene) -> None:
    Volume.objects.update(counts_heat=False)
    assert "may not be counted" in missing_heat(row_of(here.volume), NOW)


def test_a_volume_on_ssd_has_no_curve(here: Scene) -> None:
    count_heat(here.volume, 12, NOW)
    use = Use(volume_bytes=here.volume.size_bytes, on_ssd=True, reads=100)
    assert heat_forecast(row_of(here.volume), use, [GIB], NOW) is None


def test_what_is_on_ssd_is_not_said_to_read_too_little() -> None:
    fast = scene(make.lv(pvs=("md0",)), host={"hello": COUNTING})
    assert missing_heat(row_of(fast.volume), NOW) == "The volume is on SSD and needs no cache."


def test_ranges_that_held_too_seldom_are_wider_and_forecasts_say_so(here: Scene) -> None:
    count_heat(here.volume, 12, NOW)
    asked = (row_of(here.volume), busy(here.volume), [GIB], NOW)
    narrow = heat_forecast(*asked)
    ForecastRecord.objects.create(
        technology="lvmcache", orders=25, within=19, widened=1.5, judged_at=NOW
    )
    ForecastRecord.objects.create(
        technology="bcache", orders=25, within=5, widened=9, judged_at=NOW
    )
    cache.clear()
    wide = heat_forecast(*asked)
    assert narrow is not None and wide is not None
    before, after = narrow.prospects[0].hit_rate, wide.prospects[0].hit_rate
    assert after.likely == before.likely
    assert after.low == pytest.approx(max(0, before.likely - 1.5 * (before.likely - before.low)))
    assert after.high == pytest.approx(min(1, before.likely + 1.5 * (before.high - before.likely)))
    assert (
        wide.prospects[0].saved_seconds_per_day.low < narrow.prospects[0].saved_seconds_per_day.low
    )
    said = forecast(busy(here.volume), CacheChoice(GIB), (), wide)
    assert said is not None
    assert "25 forecasts of this kind that were measured, 19 held" in said.basis
    assert "1.5 times as wide" in said.basis


def test_the_slow_reads_of_a_volume_are_its_part_of_the_histogram(here: Scene) -> None:
    waits = waits_of(busy(here.volume))
    assert waits.slow_reads == 1.0
    assert waits.slow_read_ms == pytest.approx(10.0)
    assert waits.write_seconds_per_day == 0.0


def test_a_volume_of_which_nothing_was_measured_has_no_curve(here: Scene) -> None:
    count_heat(here.volume, 12, NOW)
    assert size_curve(row_of(here.volume), NOW) is None


def test_the_curve_of_a_volume_names_a_size_that_is_enough(here: Scene) -> None:
    count_heat(here.volume, 12, NOW)
    slow_reads(here, 30, NOON)
    curve = size_curve(row_of(here.volume), NOW)
    assert curve is not None
    assert curve.prospects[-1].size_bytes < here.volume.size_bytes
    assert curve.enough in curve.prospects
    assert curve.size_now is None


def test_data_read_once_name_no_size(here: Scene) -> None:
    count_heat(here.volume, 12, NOW, is_hot=False)
    slow_reads(here, 30, NOON)
    curve = size_curve(row_of(here.volume), NOW)
    assert curve is not None
    small = curve.prospects[0]
    assert small.verdict != "helps"


def test_a_bcache_keeps_its_cutoff_and_a_new_one_has_none() -> None:
    kernel = {"sequential_cutoff_bytes": 4 << 20, "cset_uuid": make.CSET_UUID}
    for backing, bypasses in (
        (make.bcache(sequential_cutoff_bytes=4 << 20), False),
        (make.bcache(cset_uuid=make.CSET_UUID), False),
        (make.bcache(**kernel), True),
    ):
        lv = make.lv(bcache=backing)
        there = scene(lv, layout="bcache", csets=(make.cset(None),))
        assert (cutoff_of(row_of(there.volume)) > 0) is bypasses


def test_a_cache_that_misses_nothing_is_still_worth_what_the_hdds_would_take() -> None:
    rates = HostRates(ssd_read_ms=0.2, hdd_iops=200, hdd_utilisation=0.1)
    served = VolumeWaits(
        volume_bytes=GIB,
        read_ms=0.1,
        slow_reads=0.0,
        slow_read_ms=2.0,
        read_seconds_per_day=0.0,
        hit_rate=1.0,
    )
    waits = with_few_misses(served, 1_000_000, rates)
    # All reads from HDDs would take 5 ms each.
    assert waits.read_seconds_per_day / waits.slow_reads == pytest.approx(5_000)
    assert without_cache(waits).low == pytest.approx(-5_000, rel=0.01)
    busy = replace(served, slow_reads=0.3, hit_rate=0.7, read_seconds_per_day=900.0)
    assert with_few_misses(busy, 1_000_000, rates) == busy
