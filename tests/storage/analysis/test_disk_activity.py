"""What disks did and who had them do it, as the samples of a host tell it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

from storage.analysis.disk_activity import (
    busy_courses,
    disk_course,
    disks_then,
    fleet_courses,
    own_course,
)
from storage.analysis.disk_users import UsedDisk
from storage.inventory.facts import HostFacts
from storage.models import Device, DeviceSample, Host, Placement, Sample, Volume
from tests import make
from tests.storage.metrics.samples.rounds import noon_gone

pytestmark = pytest.mark.django_db
FIVE_MINUTES = timedelta(minutes=5)


def placed(host: Host, facts: HostFacts) -> list[Volume]:
    """A volume for each LV, here for long."""
    volumes = []
    for lv in facts.lvs:
        volumes.append(make.volume(label=lv.name))
        make.placement(volumes[-1], host, lv_uuid=lv.uuid)
    Placement.objects.filter(host=host).update(since=noon_gone() - timedelta(days=2))
    return volumes


def sample(volume: Volume, at: datetime, read_ms: int, **fields: Any) -> None:
    counted = dict.fromkeys(("reads", "writes", "read_sectors", "write_sectors", "write_ms"), 0)
    values = {**counted, "dt_ms": 60_000, "read_ms": read_ms, **fields}
    Sample.objects.create(volume=volume, ts=at, **values)


def device(host: Host, name: str, kind: str = "disk", **fields: Any) -> Device:
    known = {"identity": name, "name": name, "boot_id": "b", "size_bytes": 1, "is_fast": False}
    return Device.objects.create(host=host, kind=kind, **{**known, **fields})


def counted(of: Device, at: datetime, io_ms: int, busy_ms: int, reads: int = 100) -> None:
    zero = dict.fromkeys(("writes", "read_sectors", "write_sectors", "write_ms"), 0)
    DeviceSample.objects.create(
        device=of, ts=at, dt_ms=60_000, reads=reads, read_ms=io_ms, busy_ms=busy_ms,
        weighted_ms=io_ms, **zero,
    )  # fmt: skip


def then(host: Host, facts: HostFacts, at: datetime) -> dict[str, UsedDisk]:
    return {disk.name: disk for disk in disks_then(host, facts, at, at + FIVE_MINUTES).disks}


def test_the_volumes_of_a_moment_are_listed_by_share_with_what_none_explains() -> None:
    host, facts, noon = make.host(), make.facts(make.lv("noisy"), make.lv("calm")), noon_gone()
    noisy, calm = placed(host, facts)
    disk = device(host, "sdc")
    for n in range(1, 6):
        at = noon + timedelta(minutes=n)
        sample(noisy, at, 90_000)
        sample(calm, at, 6_000)
        counted(disk, at, 120_000, 57_000)
    sample(calm, noon, 600_000)
    sample(calm, noon + timedelta(minutes=6), 600_000)
    found = disks_then(host, facts, noon, noon + FIVE_MINUTES)
    used = {each.name: each for each in found.disks}["sdc"]
    assert [(found.volumes[user.volume_id].label, user.share) for user in used.users] == [
        ("noisy", 0.75),
        ("calm", 0.05),
    ]
    assert (used.busy, used.in_flight) == (0.95, 2.0)
    assert used.other_share == pytest.approx(0.2)


def test_a_cached_volume_is_described_by_its_legs() -> None:
    facts = make.facts(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    host, noon = make.host(), noon_gone()
    (volume,) = placed(host, facts)
    legs = {"slow_read_ms": 20_000, "slow_write_ms": 10_000, "fast_read_ms": 3000}
    at = noon + timedelta(minutes=1)
    sample(volume, at, 50_000, technology=1, fast_write_ms=3000, **legs)
    used = then(host, facts, noon)
    assert [user.in_flight for user in used["sdc"].users] == [0.5]
    assert [user.in_flight for user in used["md0"].users] == [0.1]
    assert not used["sdc"].users[0].is_estimate


def test_an_old_agent_makes_an_estimate_and_never_mixes_with_what_is_counted() -> None:
    facts = make.facts(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    host, noon = make.host(), noon_gone()
    (volume,) = placed(host, facts)
    sample(volume, noon + timedelta(minutes=1), 30_000, technology=1, slow_read_sectors=8)
    legs = dict.fromkeys(("slow_write_ms", "fast_read_ms", "fast_write_ms"), 0)
    at = noon + timedelta(minutes=2)
    sample(volume, at, 50_000, technology=1, slow_read_sectors=8, slow_read_ms=6000, **legs)
    (user,) = then(host, facts, noon)["sdc"].users
    assert user.is_estimate
    assert user.in_flight == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("read", "written", "in_flight"), [(8, 100, 1.0), (8, 25, 0.7), (0, 0, 0.0), (8, 300, 1.0)]
)
def test_legs_without_counters_are_estimated(read: int, written: int, in_flight: float) -> None:
    facts = make.facts(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    host, noon = make.host(), noon_gone()
    (volume,) = placed(host, facts)
    sample(
        volume, noon + timedelta(minutes=1), 36_000, technology=2, write_ms=24_000,
        write_sectors=100, slow_read_sectors=read, slow_write_sectors=written,
    )  # fmt: skip
    users = then(host, facts, noon)["sdc"].users
    assert sum(user.in_flight for user in users) == pytest.approx(in_flight)
    assert all(user.is_estimate for user in users)


def test_volumes_count_while_they_were_on_the_host() -> None:
    host, other, noon = make.host(), make.host(), noon_gone()
    facts = make.facts(make.lv("moved"))
    (volume,) = placed(host, facts)
    sample(volume, noon + timedelta(minutes=1), 30_000)
    assert then(other, facts, noon)["sdc"].users == ()
    Placement.objects.filter(volume=volume).update(until=noon)
    assert then(host, facts, noon)["sdc"].users == ()


def test_an_array_whose_time_the_kernel_does_not_count_is_as_busy_as_its_busiest_disk() -> None:
    array = make.array(name="md1", members=())
    members = tuple(type(make.array().members[0])(name, "in_sync") for name in ("sda", "sdb"))
    facts = make.facts(
        make.lv(pvs=("md1",)),
        pvs=(make.pv("md1"),),
        arrays=(type(array)(**{**_fields(array), "members": members}),),
    )
    host, noon = make.host(), noon_gone()
    (volume,) = placed(host, facts)
    at = noon + timedelta(minutes=1)
    sample(volume, at, 30_000)
    counted(device(host, "md1", "array"), at, 0, 0)
    counted(device(host, "sda"), at, 60_000, 20_000)
    counted(device(host, "sdb"), at, 60_000, 45_000)
    used = then(host, facts, noon)
    assert list(used) == ["md1"]
    assert (used["md1"].busy, used["md1"].other_share) == (0.75, None)
    assert used["md1"].users[0].share == 1


def _fields(array: Any) -> dict[str, Any]:
    return {name: getattr(array, name) for name in array.__dataclass_fields__}


def test_the_disks_of_all_hosts_are_summed_up_by_tier_on_average_and_by_the_busiest() -> None:
    noon = noon_gone()
    first, second, minute = make.host(), make.host(), noon + timedelta(minutes=1)
    counted(device(first, "sdc", vg_name="vg0"), minute, 60_000, 54_000)
    counted(device(second, "sdc", vg_name="vg0"), minute, 60_000, 6_000)
    counted(device(second, "nvme0n1", vg_name="vg0", is_fast=True), minute, 60_000, 3_000)
    counted(device(second, "sda"), minute, 60_000, 60_000)
    array = device(first, "md0", "array", vg_name="vg0", is_fast=True)
    counted(array, minute, 0, 0, reads=9)
    for name, busy_ms in (("sdx", 9_000), ("sdy", 15_000)):
        counted(device(first, name, part_of=array, is_fast=True), minute, 60_000, busy_ms)
    disk = device(second, "sdd")
    device(second, "sdd1", "partition", part_of=disk, vg_name="vg1")
    counted(disk, minute + FIVE_MINUTES, 60_000, 30_000)
    slow, fast = fleet_courses(noon, noon + 3 * FIVE_MINUTES, 300)
    assert slow.average == [pytest.approx(0.5), 0.5, None]
    assert slow.most == [0.9, 0.5, None]
    assert fast.average == [pytest.approx(0.15), None, None], "an array counts as one disk"
    assert fast.most == [0.25, None, None]


def test_a_fleet_without_disks_has_no_course() -> None:
    _, fast = fleet_courses(noon_gone(), noon_gone() + FIVE_MINUTES, 60)
    assert fast.average == fast.most == [None] * 5


def test_a_course_has_the_first_volumes_the_others_and_what_none_explains() -> None:
    facts = make.facts(*(make.lv(f"v{n}") for n in range(7)))
    host, noon = make.host(), noon_gone()
    volumes = placed(host, facts)
    disk = device(host, "sdc")
    for n, volume in enumerate(volumes):
        sample(volume, noon + timedelta(minutes=1), 6000 * (n + 1))
    counted(disk, noon + timedelta(minutes=1), 240_000, 60_000)
    course = disk_course(host, facts, noon, noon + 3 * FIVE_MINUTES, 300, "sdc")
    assert [volume.label for volume, _ in course.top] == ["v6", "v5", "v4", "v3", "v2"]
    assert course.top[0][1] == [pytest.approx(0.7), None, None]
    assert course.others == [pytest.approx(0.3), None, None]
    assert course.unexplained == [pytest.approx(1.2), None, None]
    busy = busy_courses(host, facts, noon, noon + 3 * FIVE_MINUTES, 300)
    nothing = [np.nan, np.nan]
    whole = {name: busy[name] for name in ("sdc", "md0")}
    np.testing.assert_equal(whole, {"sdc": [1.0, *nothing], "md0": [np.nan, *nothing]})


def test_many_buckets_are_read_as_fewer_and_keep_their_number() -> None:
    facts, host, noon = make.facts(make.lv()), make.host(), noon_gone()
    (volume,) = placed(host, facts)
    sample(volume, noon + timedelta(minutes=1), 60_000)
    start = noon - timedelta(hours=12)
    course = disk_course(host, facts, start, start + timedelta(hours=24), 300, "sdc")
    ((_, values),) = course.top
    assert len(values) == 288
    assert [n for n, value in enumerate(values) if value is not None] == [144, 145, 146]


def test_a_disk_has_its_own_iops_throughput_latency_and_queue() -> None:
    host, noon = make.host(), noon_gone()
    disk, other = device(host, "sdc"), device(host, "sdd")
    zero = dict.fromkeys(("write_sectors", "write_ms", "busy_ms"), 0)
    for minute in (1, 2):
        DeviceSample.objects.create(
            device=disk, ts=noon + timedelta(minutes=minute), dt_ms=60_000, reads=6000 * minute,
            writes=0, read_sectors=48_000, read_ms=12_000 * minute, weighted_ms=30_000, **zero,
        )  # fmt: skip
    counted(other, noon + timedelta(minutes=1), 9, 9)
    course = own_course(host, "sdc", noon, noon + 2 * FIVE_MINUTES, 300)
    assert course["read_iops"][0] == 150
    assert course["read_ms"][0] == 2
    assert course["read_bytes_per_s"][0] == 96_000 * 512 / 120
    assert course["queue"][0] == 0.5
    assert np.isnan(course["read_iops"][1])
    assert own_course(host, "sde", noon, noon + FIVE_MINUTES, 300) == {}


def test_the_times_of_an_array_that_its_kernel_does_not_count_are_not_known() -> None:
    host, noon = make.host(), noon_gone()
    counted(device(host, "md1", "array"), noon + timedelta(minutes=1), 0, 0)
    course = own_course(host, "md1", noon, noon + FIVE_MINUTES, 300)
    assert course["read_iops"][0] == pytest.approx(100 / 60)
    assert np.isnan([course["read_ms"][0], course["queue"][0]]).all()
