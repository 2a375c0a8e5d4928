"""The rates of hosts, from samples, and what is learned from hosts with the same disks."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from storage import row_security
from storage.analysis.host_rates import (
    PUBLISHED,
    hardware,
    host_figures,
    measure_hosts,
    measured_rates,
    slow_of,
)
from storage.inventory.facts import ArrayMember
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates import CachedBy
from storage.models import Device, DeviceSample, Host, MeasuredRate, RateKind, Sample
from tests import make
from tests.scene import Scene, scene
from tests.storage.metrics.samples.rounds import noon_gone

pytestmark = pytest.mark.django_db
MS = 1_000_000
MINUTES = 60
SLOW = next(n for n, ns in enumerate(LATENCY_BOUNDS_NS) if ns > 10 * MS)


def there(name: str, model: str = "ST4000") -> Scene:
    """A host with two HDDs in an array and an SSD, and an lvmcache on it."""
    disks = (
        make.disk("sda", model=model),
        make.disk("sdb", model=model),
        make.disk("nvme0n1", model="PM9A3", rotational=False),
    )
    array = make.array(members=(ArrayMember("sda2", "in_sync"), ArrayMember("sdb2", "in_sync")))
    return scene(
        host={"name": name},
        disks=disks,
        arrays=(array,),
        pvs=(make.pv("md0"), make.fast_pv("nvme0n1p2")),
    )


def counts_of(slow_ios: int) -> list[int]:
    counts = [0] * (len(LATENCY_BOUNDS_NS) + 1)
    counts[SLOW] = slow_ios
    return counts


def worked(on: Scene, *, promotions: int = 30, slow_ios: int = 6_000, busy: float = 0.5) -> None:
    """An hour of it, a minute at a time: 100 misses a minute, `slow_ios` and 600 fast reads."""
    noon = noon_gone()
    disk = Device.objects.create(
        host=on.host, kind="array", identity="md0", name="md0", boot_id="b", size_bytes=1,
        is_fast=False,
    )  # fmt: skip
    zero = dict.fromkeys(("reads", "writes", "read_sectors", "write_sectors", "write_ms"), 0)
    for minute in range(MINUTES):
        at = noon + timedelta(minutes=minute + 1)
        Sample.objects.create(
            volume=on.volume, ts=at, dt_ms=60_000, read_ms=0, **zero,
            technology=CachedBy.DM_CACHE, cache_size_bytes=2**31,
            read_hits=900, read_misses=80, write_misses=20, promotions=promotions,
            fast_reads=600, fast_read_ms=90, latency_counts=counts_of(slow_ios),
        )  # fmt: skip
        DeviceSample.objects.create(
            device=disk, ts=at, dt_ms=60_000, read_ms=0, busy_ms=int(60_000 * busy),
            weighted_ms=0, **zero,
        )  # fmt: skip


def rates(on: Scene) -> dict[str, float]:
    now = noon_gone() + timedelta(hours=2)
    found = measured_rates(on.host, on.facts, make.VG_UUID, now)
    return {kind: each.rate for kind, each in found.items()}


def test_rates_are_what_was_counted_for_each_miss_busy_second_and_read() -> None:
    here = there("s1")
    worked(here)
    found = rates(here)
    assert found[RateKind.PROMOTION_SHARE] == pytest.approx(0.3)
    assert found[RateKind.SSD_READ_MS] == pytest.approx(0.15)
    # 100 slow I/Os a second of which the disks were busy a half.
    assert found[RateKind.HDD_IOPS] == pytest.approx(200, rel=0.01)


def test_a_host_that_is_known_for_an_hour_is_not_taken_for_one_idle_for_weeks() -> None:
    here = there("s1")
    worked(here, busy=0.05)
    assert rates(here)[RateKind.HDD_IOPS] == pytest.approx(2_000, rel=0.01)


def test_what_never_happened_is_missing_and_published_figures_stand_for_it() -> None:
    here = there("s1")
    assert rates(here) == {}
    found = host_figures(here.host, here.facts, make.VG_UUID, noon_gone())
    assert found.rates.hdd_iops == pytest.approx(PUBLISHED[RateKind.HDD_IOPS])
    assert found.promotion_share.rate == 1.0
    assert {found.hdd_iops.source, found.ssd_read_ms.source} == {"published"}


def test_hardware_is_how_many_disks_of_which_model_lie_below() -> None:
    here = there("s1")
    assert hardware(here.facts, make.VG_UUID, RateKind.HDD_IOPS) == "2 x ST4000"
    assert hardware(here.facts, make.VG_UUID, RateKind.SSD_READ_MS) == "1 x PM9A3"
    bare = scene()
    assert hardware(bare.facts, make.VG_UUID, RateKind.HDD_IOPS) == ""


def other(name: str, hdd_iops: float, hardware: str = "2 x ST4000", weight: float = 1e6) -> Host:
    """A host of which a rate is stored."""
    host = make.host(name=name)
    MeasuredRate.objects.create(
        host=host, vg_uuid=make.VG_UUID, kind=RateKind.HDD_IOPS, hardware=hardware,
        amount=hdd_iops, weight=weight, measured_at=noon_gone(),
    )  # fmt: skip
    return host


def test_a_new_host_is_taken_for_those_with_the_same_disks_and_no_others() -> None:
    here = there("s1")
    for n, iops in enumerate((148, 150, 152)):
        other(f"same{n}", iops)
        other(f"unlike{n}", 9_000, hardware="12 x ST18000")
    found = host_figures(here.host, here.facts, make.VG_UUID, noon_gone()).hdd_iops
    assert (found.source, found.hosts) == ("same_disks", 3)
    assert 150 < found.rate < 200


def test_what_is_measured_of_a_host_is_stored_and_taken_from_there() -> None:
    here = there("s1")
    worked(here)
    now = noon_gone() + timedelta(hours=2)
    measure_hosts(now)
    measure_hosts(now)
    assert MeasuredRate.objects.filter(host=here.host).count() == 3
    row = MeasuredRate.objects.get(host=here.host, kind=RateKind.HDD_IOPS)
    assert (row.hardware, row.amount) == ("2 x ST4000", pytest.approx(200, rel=0.01))
    MeasuredRate.objects.update(weight=1e9, amount=0.123)
    found = host_figures(here.host, here.facts, make.VG_UUID, now)
    assert found.ssd_read_ms.rate == pytest.approx(0.123, rel=0.01)
    assert found.ssd_read_ms.source == "own"
    measure_hosts(now + timedelta(days=60))
    assert not MeasuredRate.objects.exists()


def test_a_customer_who_asks_gets_the_figures_that_staff_get() -> None:
    here = there("s1")
    worked(here)
    other("s2", 150)
    now = noon_gone() + timedelta(hours=2)
    of_staff = host_figures(here.host, here.facts, make.VG_UUID, now)
    with row_security.scope(str(make.user().pk)):
        assert host_figures(here.host, here.facts, make.VG_UUID, now) == of_staff


def test_a_forecast_asks_a_fixed_number_of_questions_however_many_hosts_there_are(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    here = there("s1")
    for n in range(30):
        other(f"same{n}", 150)
    with django_assert_max_num_queries(12):
        host_figures(here.host, here.facts, make.VG_UUID, noon_gone())


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
