"""Rounds of disks, arrays and partitions become rows, each device by the record it has."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from storage.metrics.samples import record_sample
from storage.models import Device, DeviceKind, DeviceSample, Host, LatestDeviceSample
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON

pytestmark = pytest.mark.django_db
U32 = 2**32


def device(host: Host, kind: str = "disk", name: str = "sda", **fields: Any) -> Device:
    values = {"boot_id": "boot-1", "size_bytes": 2**40, "is_fast": False, **fields}
    return Device.objects.create(
        host=host, kind=kind, identity=f"{kind} {name}", name=name, **values
    )


def on(name: str, seq: int | None = 9, **fields: int) -> dict[str, Any]:
    return {"name": name, "disk": wire.disk(**fields), "seq": seq}


def take(host: Host, seconds: float, boot: str = "boot-1", **devices: Any) -> None:
    sample = wire.sample(**{"disks": [], **devices})
    record_sample(host, sample, wire.stamp(3600 + seconds, boot), NOON + timedelta(seconds=seconds))


def rows(of: Device) -> list[DeviceSample]:
    return list(DeviceSample.objects.filter(device=of).order_by("ts"))


def gap(of: Device) -> str:
    return LatestDeviceSample.objects.get(device=of).gap


def test_each_kind_of_device_has_rows_of_its_own() -> None:
    host = make.host()
    kept = [device(host, kind, name) for kind, name in
            (("disk", "sda"), ("array", "md0"), ("partition", "sda3"))]  # fmt: skip
    for n in (0, 1, 2):
        counted = {"reads": 100 * n, "read_sectors": 800 * n, "busy_ms": 50 * n, "flushes": 3 * n}
        whole = {"degraded_count": 0, "sync_action": "idle", "members": []}
        take(
            host, 10 * n, disks=[on("sda", **counted)], arrays=[on("md0", **counted) | whole],
            partitions=[{"name": "sda3", "disk": wire.disk(**counted)}],
        )  # fmt: skip
    for each in kept:
        assert [(row.dt_ms, row.reads, row.read_sectors) for row in rows(each)] == [
            (10_000, 100, 800)
        ] * 2
        assert [(row.busy_ms, row.flushes) for row in rows(each)] == [(50, 3)] * 2


def test_milliseconds_of_a_device_wrap_at_32_bits() -> None:
    host = make.host()
    disk = device(host)
    take(host, 0, disks=[on("sda", weighted_ms=U32 - 30, busy_ms=U32 - 1)])
    take(host, 10, disks=[on("sda", weighted_ms=12, busy_ms=9)])
    assert [(row.weighted_ms, row.busy_ms) for row in rows(disk)] == [(42, 10)]


def test_a_reboot_is_a_gap_and_names_of_another_boot_are_not_believed() -> None:
    host = make.host()
    disk = device(host)
    take(host, 0, disks=[on("sda", reads=5)])
    take(host, 10, boot="boot-2", disks=[on("sda", reads=900)])
    take(host, 20, boot="boot-2", disks=[on("sda", reads=990)])
    assert rows(disk) == [], "the name may be another disk's until the inventory is read"
    Device.objects.update(boot_id="boot-2")
    take(host, 30, boot="boot-2", disks=[on("sda", reads=1000)])
    assert (rows(disk), gap(disk)) == ([], "rebooted")
    take(host, 40, boot="boot-2", disks=[on("sda", reads=1070)])
    assert [row.reads for row in rows(disk)] == [70]


@pytest.mark.parametrize(
    ("after", "seconds", "reason"),
    [
        (on("sda", seq=10, reads=700), 10, "replaced"),
        (on("sda", reads=2), 10, "reset"),
        (on("sda", reads=2**40), 10, "implausible"),
        (on("sda", reads=500, discards=2**63), 10, "implausible"),
        (on("sda", reads=700), 1000, "silent"),
    ],
)
def test_an_interval_across_a_break_has_no_row(
    after: dict[str, Any], seconds: int, reason: str
) -> None:
    host = make.host()
    disk = device(host)
    take(host, 0, disks=[on("sda", reads=500)])
    take(host, seconds, disks=[after])
    assert (rows(disk), gap(disk)) == ([], reason)


def test_the_same_round_again_and_a_late_one_change_nothing() -> None:
    host = make.host()
    disk = device(host)
    for seconds, reads in ((0, 0), (20, 200), (20, 200), (10, 100), (30, 260)):
        take(host, seconds, disks=[on("sda", reads=reads)])
    assert [row.reads for row in rows(disk)] == [200, 60]


def test_what_no_inventory_knows_or_an_older_agent_does_not_count_is_left_out() -> None:
    host = make.host()
    array = device(host, "array", "md0")
    gone = device(host, "disk", "sdx", gone_at=NOON)
    for n in (0, 1):
        take(
            host, 10 * n, disks=[on("sdz", reads=n), on("sdx", reads=n)],
            arrays=[{"name": "md0", "degraded_count": 0, "sync_action": "idle", "members": []}],
        )  # fmt: skip
    assert rows(array) == rows(gone) == []
    assert LatestDeviceSample.objects.count() == 0


def test_members_are_distinguished_from_what_may_be_added_up() -> None:
    host = make.host()
    array = device(host, "array", "md0")
    member = device(host, name="sda", part_of=array)
    alone = device(host, name="sdb")
    device(host, DeviceKind.PARTITION, "sdb1", part_of=alone)
    assert set(Device.objects.counted_once()) == {array, alone}
    assert member.part_of == array
