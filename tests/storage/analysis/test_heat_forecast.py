"""What the heat of a volume says, held against its own figures and its host's."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.cache import cache

from storage.analysis.curve.prospects import HostRates, VolumeWaits, without_cache
from storage.analysis.forecast import Use
from storage.analysis.heat_forecast import (
    HDD_IOPS,
    LEAST_SECONDS,
    heat_forecast,
    host_figures,
    missing_heat,
    slow_of,
    waits_of,
    with_few_misses,
)
from storage.analysis.size_curve import size_curve
from storage.byte_sizes import GIB
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates import Sums
from storage.models import HeatDay, Host, Volume
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests.heat_scene import count_heat, counting_scene, slow_reads
from tests.scene import Scene
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
    assert missing_heat(row, NOW) == "Counted so far: 2 h. A forecast needs 6 h."
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


def test_a_host_without_figures_is_taken_for_that_of_the_published_runs(here: Scene) -> None:
    row = row_of(here.volume)
    assert row.facts is not None and row.placement is not None
    found = host_figures(here.host, row.facts, row.placement.vg_uuid, NOW)
    assert found.rates.hdd_iops == HDD_IOPS
    assert found.promotion_share == 1.0


def test_slow_ios_are_those_above_two_milliseconds_of_a_histogram() -> None:
    counts = [0] * (len(LATENCY_BOUNDS_NS) + 1)
    counts[0] = 1000
    assert slow_of(counts) == 0
    counts[-1] = 10
    assert slow_of(counts) == 10
    bounds = [0, *LATENCY_BOUNDS_NS]
    across = next(n for n in range(len(LATENCY_BOUNDS_NS)) if bounds[n] <= 2 * MS < bounds[n + 1])
    counts[across] = 100
    assert 10 <= slow_of(counts) <= 110


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
