"""Who keeps a disk busy: shares of volumes, and what none of them explains."""

from __future__ import annotations

from typing import Any

import pytest

from storage.analysis.disk_users import (
    DiskTimes,
    UsedDisk,
    VolumeTimes,
    disk_map,
    used_disks,
)
from storage.inventory.device_tree import disk_below
from storage.inventory.facts import HostFacts, LogicalVolume
from tests import make

MINUTE = 60_000


def times(volume_id: int, slow_ms: float, fast_ms: float = 0.0, **fields: Any) -> VolumeTimes:
    return VolumeTimes(
        **{"volume_id": volume_id, "dt_ms": MINUTE, "slow_ms": slow_ms, "fast_ms": fast_ms} | fields
    )


def counted(io_ms: int, busy_ms: int) -> DiskTimes:
    return DiskTimes(dt_ms=MINUTE, io_ms=io_ms, busy_ms=busy_ms)


def used(
    *lvs: LogicalVolume,
    volumes: tuple[VolumeTimes, ...] = (),
    disks: dict[str, DiskTimes] | None = None,
    **facts: Any,
) -> dict[str, UsedDisk]:
    """Volume n lies on the LV at place n."""
    uuids = {n: lv.uuid for n, lv in enumerate(lvs)}
    of = used_disks(disk_map(make.facts(*lvs, **facts)), uuids, volumes, disks or {})
    return {disk.name: disk for disk in of}


def shares(disk: UsedDisk) -> dict[int, float]:
    return {user.volume_id: round(user.share, 3) for user in disk.users}


def test_volumes_share_the_time_of_their_disk_and_the_rest_is_other() -> None:
    found = used(
        make.lv("a"),
        make.lv("b"),
        volumes=(times(0, 24_000), times(1, 96_000)),
        disks={"sdc": counted(240_000, 57_000)},
    )
    assert shares(found["sdc"]) == {1: 0.4, 0: 0.1}
    assert found["sdc"].other_share == pytest.approx(0.5)
    assert (found["sdc"].busy, found["sdc"].in_flight) == (0.95, 4.0)
    assert [user.in_flight for user in found["sdc"].users] == [1.6, 0.4]


def test_volumes_that_explain_more_than_the_disk_counted_leave_no_other() -> None:
    found = used(make.lv(), volumes=(times(0, 62_000),), disks={"sdc": counted(60_000, 61_000)})[
        "sdc"
    ]
    assert (shares(found), found.other_share, found.busy) == ({0: 1.0}, 0.0, 1.0)


def test_without_figures_of_the_disk_shares_are_of_what_volumes_explain() -> None:
    found = used(make.lv("a"), make.lv("b"), volumes=(times(0, 30_000), times(1, 10_000)))["sdc"]
    assert shares(found) == {0: 0.75, 1: 0.25}
    assert (found.busy, found.other_share, found.other_in_flight) == (None, None, None)


def test_a_disk_that_did_nothing_has_neither_users_nor_other() -> None:
    found = used(make.lv(), volumes=(times(0, 0),), disks={"sdc": counted(0, 0)})["sdc"]
    assert (found.users, found.busy, found.other_share) == ((), 0.0, 0.0)


def test_a_cached_volume_uses_its_own_disk_and_that_of_its_cache() -> None:
    cached = make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"))
    found = used(cached, volumes=(times(0, 30_000, 6_000),))
    assert [(name, disk.is_fast) for name, disk in found.items()] == [("sdc", False), ("md0", True)]
    assert [user.in_flight for user in found["sdc"].users] == [0.5]
    assert [user.in_flight for user in found["md0"].users] == [0.1]


def test_the_cache_of_a_bcache_volume_is_found_by_its_set() -> None:
    cache = make.lv("c-aaaaaaaaaaaaaaaa", pvs=("md0",), role=("private",))
    there = make.facts(
        make.lv("v", bcache=make.bcache(cset_uuid=make.CSET_UUID)),
        cache,
        csets=(make.cset(cache.uuid),),
    )
    (legs,) = disk_map(there).legs.values()
    assert (legs.slow, legs.fast) == ({"sdc": 1.0}, {"md0": 1.0})


def test_a_volume_on_two_disks_is_divided_by_its_extents() -> None:
    spread = make.lv(
        size_bytes=40,
        segments=(make.segment("sdc", size_bytes=30), make.segment("sdd", size_bytes=10)),
    )
    pvs = (make.pv("sdc"), make.pv("sdd"))
    found = used(spread, volumes=(times(0, 60_000),), pvs=pvs)
    assert [found[name].users[0].in_flight for name in ("sdc", "sdd")] == [0.75, 0.25]


def test_a_volume_that_left_the_host_is_within_other() -> None:
    found = used(volumes=(times(7, 60_000),), disks={"sdc": counted(60_000, 60_000)})["sdc"]
    assert (found.users, found.other_share) == ((), 1.0)


@pytest.mark.parametrize(
    ("pv", "below"), [("md1", "md1"), ("md1p2", "md1"), ("sda3", "sda"), ("dm-9", "dm-9")]
)
def test_an_array_counts_once_and_a_partition_as_its_disk(pv: str, below: str) -> None:
    there: HostFacts = make.facts(disks=(make.disk("sda"),), arrays=(make.array(name="md1"),))
    assert disk_below(there, pv) == below
