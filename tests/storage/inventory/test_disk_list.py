"""What a disk is used for, and whether it is well."""

from __future__ import annotations

from typing import Any

import pytest

from storage.inventory.device_tree import fast_disks
from storage.inventory.disk_list import DeviceUse, devices_of
from storage.inventory.facts import Array, ArrayMember, BareBacking
from tests import make


def one(name: str = "sda", **facts: Any) -> DeviceUse:
    disk = facts.pop("disk", make.disk(name))
    (device,) = devices_of(make.facts(disks=(disk,), **facts))
    return device


def test_a_member_of_an_array_names_the_group_it_serves() -> None:
    device = one(arrays=(make.array(members=(ArrayMember("sda2", "in_sync"),)),))
    assert (device.serves, device.tone, device.state) == (("md0 → vg0",), "ok", "in sync")


def test_a_member_that_is_only_written_to_is_well() -> None:
    device = one(arrays=(make.array(members=(ArrayMember("sda", "in_sync,write_mostly"),)),))
    assert (device.tone, device.state) == ("ok", "in sync")


def test_a_disk_under_a_group_names_it() -> None:
    device = one("sdc")
    assert (device.serves, device.tone, device.state) == (("vg0",), "quiet", "not in an array")


def test_the_disks_of_a_bcache_made_by_hand_are_used() -> None:
    cset = make.cset(None, device="sdb1")
    backing = BareBacking("sda", "bcache0", cset.uuid, "writethrough", "clean", 0, ())
    facts = {"backings": (backing,), "csets": (cset,), "pvs": (make.pv("bcache0"),)}
    assert (one("sda", **facts).serves, one("sda", **facts).state) == (
        ("bcache0 → vg0",),
        "not in an array",
    )
    assert one("sdb", **facts).serves == ("bcache cache set",)


def test_a_disk_without_a_user_is_not_used() -> None:
    device = one("sdx")
    assert (device.serves, device.tone, device.state) == ((), "quiet", "not used")


@pytest.mark.parametrize(
    ("facts", "tone", "state"),
    [
        (
            {"arrays": (make.array(members=(ArrayMember("sda", "faulty"),)),)},
            "error",
            "failed",
        ),
        ({"pvs": (make.pv("sda", missing=True),)}, "error", "missing for LVM"),
        ({"pvs": (make.pv("sda", duplicate=True),)}, "error", "duplicate (seen twice by LVM)"),
        ({"disk": make.disk("sda", read_only=True)}, "error", "read-only"),
        (
            {"arrays": (make.array(members=(ArrayMember("sda", "want_replacement"),)),)},
            "warning",
            "want replacement",
        ),
        (
            {"arrays": (make.array(members=(ArrayMember("sda", "in_sync"),), degraded_count=1),)},
            "warning",
            "its array is degraded",
        ),
    ],
)
def test_what_is_wrong_with_a_disk_is_said(facts: dict[str, Any], tone: str, state: str) -> None:
    device = one(**facts)
    assert (device.tone, device.state) == (tone, state)


@pytest.mark.parametrize(
    ("slot", "action", "tone", "state"),
    [
        ("1", "recover", "warning", "rebuilding"),
        ("none", "recover", "warning", "its array is degraded"),
        ("", "recover", "warning", "its array is degraded"),
        ("1", "frozen", "warning", "its array is degraded"),
    ],
)
def test_a_disk_that_is_being_filled_is_rebuilding(
    slot: str, action: str, tone: str, state: str
) -> None:
    members = (ArrayMember("sda", "spare", slot),)
    device = one(arrays=(make.array(members=members, degraded_count=1, sync_action=action),))
    assert (device.tone, device.state) == (tone, state)


def test_a_spare_of_a_whole_array_is_a_spare() -> None:
    device = one(arrays=(make.array(members=(ArrayMember("sda", "spare", "none"),)),))
    assert (device.tone, device.state) == ("ok", "spare")


@pytest.mark.parametrize(
    ("pv", "tier", "rotates", "fast"),
    [
        ("sda", "fast", True, {"sda", "sdb"}),
        ("sda1", "fast", True, {"sda", "sdb"}),
        ("md0", "fast", True, {"sda", "sdb", "sdc"}),
        ("sda", "slow", False, {"sdb", "sdc"}),
        ("md0", "slow", False, {"sdb"}),
        ("sda", "fast", False, {"sda", "sdb", "sdc"}),
    ],
)
def test_root_knows_which_disks_are_ssds_where_the_kernel_does_not(
    pv: str, tier: str, rotates: bool, fast: set[str]
) -> None:
    """Behind hardware RAID every disk rotates; `sdb` is in no group, and md0 is of sda and sdc."""
    disks = (
        make.disk("sda", rotational=rotates),
        make.disk("sdb", rotational=False),
        make.disk("sdc", rotational=rotates),
    )
    parts = tuple(ArrayMember(name, "in_sync") for name in ("sda", "sdc"))
    array = Array("md0", "9:0", "u", "raid1", "clean", 1 << 40, 0, "idle", parts)
    arrays = (array,) if pv == "md0" else ()
    facts = make.facts(disks=disks, arrays=arrays, pvs=(make.pv(name=pv, tier=tier),))
    assert fast_disks(facts) == fast
    assert {each.disk.name for each in devices_of(facts) if each.is_fast} == fast


def test_a_mirror_of_an_ssd_and_a_hard_disk_makes_neither_the_other() -> None:
    disks = (make.disk("sda", rotational=False), make.disk("sdb", rotational=True))
    parts = tuple(ArrayMember(disk.name, "in_sync") for disk in disks)
    array = Array("md0", "9:0", "u", "raid1", "clean", 1 << 40, 0, "idle", parts)
    for tier in ("slow", "fast"):
        facts = make.facts(disks=disks, arrays=(array,), pvs=(make.pv(name="md0", tier=tier),))
        assert fast_disks(facts) == {"sda"}
