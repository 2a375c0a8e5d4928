"""What a disk is used for, and whether it is well."""

from __future__ import annotations

from typing import Any

import pytest

from storage.inventory.disk_list import DeviceUse, devices_of
from storage.inventory.facts import ArrayMember, BareBacking
from tests import make


def one(name: str = "sda", **facts: Any) -> DeviceUse:
    disk = facts.pop("disk", make.disk(name))
    (device,) = devices_of(make.facts(disks=(disk,), **facts))
    return device


def test_a_member_of_an_array_names_the_group_it_serves() -> None:
    device = one(arrays=(make.array(members=(ArrayMember("sda2", "in_sync"),)),))
    assert (device.serves, device.tone, device.health) == (("md0 → vg0",), "ok", "in sync")


def test_a_member_that_is_only_written_to_is_well() -> None:
    device = one(arrays=(make.array(members=(ArrayMember("sda", "in_sync,write_mostly"),)),))
    assert (device.tone, device.health) == ("ok", "in sync")


def test_a_disk_under_a_group_names_it() -> None:
    device = one("sdc")
    assert (device.serves, device.tone, device.health) == (("vg0",), "ok", "in use")


def test_the_disks_of_a_bcache_made_by_hand_are_used() -> None:
    cset = make.cset(None, device="sdb1")
    backing = BareBacking("sda", "bcache0", cset.uuid, "writethrough", "clean", 0, ())
    facts = {"backings": (backing,), "csets": (cset,), "pvs": (make.pv("bcache0"),)}
    assert (one("sda", **facts).serves, one("sda", **facts).health) == (
        ("bcache0 → vg0",),
        "in use",
    )
    assert one("sdb", **facts).serves == ("bcache cache set",)


def test_a_disk_of_nobody_is_not_used() -> None:
    device = one("sdx")
    assert (device.serves, device.tone, device.health) == ((), "quiet", "not used")


@pytest.mark.parametrize(
    ("facts", "tone", "health"),
    [
        (
            {"arrays": (make.array(members=(ArrayMember("sda", "faulty"),)),)},
            "error",
            "failed in its array",
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
def test_what_is_wrong_with_a_disk_is_said(facts: dict[str, Any], tone: str, health: str) -> None:
    device = one(**facts)
    assert (device.tone, device.health) == (tone, health)
