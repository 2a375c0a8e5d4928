"""What a failure reaches: disks, arrays, physical volumes, caches and volumes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from storage.health.failure_reach import FailureReach, PartFault, gravest
from storage.inventory.facts import ArrayMember, BareBacking, HostFacts
from storage.inventory.volume_parts import DataStanding
from tests import make

LOST = DataStanding(lost=True, degraded=False, redundant=False)
DEGRADED = DataStanding(lost=False, degraded=True, redundant=True)
WELL = DataStanding(lost=False, degraded=False, redundant=True)
MISSING = "[unknown]"

LEG_FAILED = make.array(
    members=(ArrayMember("sda2", "in_sync"), ArrayMember("sdb2", "faulty")), degraded_count=1
)
DISKS = tuple(make.disk(name) for name in ("sda", "sdb", "sdc"))


def level(fault: PartFault | None) -> str:
    return "" if fault is None else fault.level


def test_nothing_is_wrong_on_a_whole_host() -> None:
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaa"))
    facts = make.facts(lv, disks=DISKS, arrays=(make.array(),))
    reach = FailureReach(facts)
    assert [reach.of_disk(disk.name) for disk in facts.disks] == [None] * 3
    assert [reach.of_pv(pv) for pv in facts.pvs] == [None] * 2
    assert reach.of_array("md0") is None
    assert reach.of_cache(lv) is None
    assert reach.of_volume(lv) is None


def test_a_failed_leg_puts_all_that_lies_on_its_array_at_risk_and_nothing_else() -> None:
    writeback = make.dm_cache("c-aaaaaaaa", mode="writeback")
    cached, beside = make.lv("a", cache=writeback), make.lv("b")
    facts = make.facts(cached, beside, disks=DISKS, arrays=(LEG_FAILED,))
    reach = FailureReach(facts)
    assert reach.of_disk("sdb") == PartFault("failed", "sdb", "failed in md0")
    assert reach.of_disk("sda") is None
    on_it = PartFault("at-risk", "md0", "degraded: 1 of 2 disks")
    assert reach.of_array("md0") == on_it
    assert [reach.of_pv(pv) for pv in facts.pvs if pv.name == "md0"] == [on_it]
    assert reach.of_cache(cached) == reach.of_volume(cached) == on_it
    assert reach.of_volume(beside) is None


@pytest.mark.parametrize(
    ("cache", "level"),
    [
        ({"mode": "writethrough"}, "cache-at-risk"),
        ({"mode": "writethrough", "dirty_bytes": 1}, "at-risk"),
        ({"mode": "writeback"}, "at-risk"),
        ({"mode": "a mode of tomorrow"}, "at-risk"),
    ],
)
def test_a_cache_of_copies_on_a_degraded_array_puts_no_data_at_risk(
    cache: dict[str, Any], level: str
) -> None:
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaa", **cache))
    reach = FailureReach(make.facts(lv, disks=DISKS, arrays=(LEG_FAILED,)))
    fault = reach.of_volume(lv)
    assert fault is not None
    assert (fault.level, fault.source) == (level, "md0")


def test_the_partition_that_failed_is_marked_in_its_array_too() -> None:
    reach = FailureReach(make.facts(disks=DISKS, arrays=(LEG_FAILED,)))
    assert reach.of_disk("sdb2") == PartFault("failed", "sdb2", "failed in md0")
    assert reach.of_disk("sda2") is None


def test_an_array_that_lost_too_much_fails_what_lies_on_it() -> None:
    array = make.array(degraded_count=2, members=())
    lv = make.lv(pvs=("md0",))
    reach = FailureReach(make.facts(lv, arrays=(array,)))
    assert reach.of_volume(lv) == PartFault("failed", "md0", "failed")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({"state": "inactive"}, "failed"), ({"state": "readonly"}, "failed"),
     ({"degraded_count": None}, "at-risk"), ({"state": "odd"}, "at-risk")],
)  # fmt: skip
def test_an_array_of_which_the_kernel_says_nothing_good_is_not_well(
    fields: dict[str, object], expected: str
) -> None:
    reach = FailureReach(make.facts(arrays=(make.array(**fields),)))
    assert level(reach.of_array("md0")) == expected


def missing_ssd(**lv: object) -> HostFacts:
    """A host whose SSD LVM does not see; what is on it has LVM's name for that."""
    pvs = (make.pv(), make.fast_pv(MISSING, missing=True, redundant=False))
    return make.facts(make.lv(**lv), pvs=pvs)


def test_a_missing_ssd_fails_the_caches_on_it_and_their_volumes() -> None:
    facts = missing_ssd(cache=make.dm_cache("c-aaaaaaaa", pvs=(MISSING,)))
    (lv,), reach = facts.lvs, FailureReach(facts)
    assert level(reach.of_cache(lv)) == level(reach.of_volume(lv)) == "failed"
    assert "is missing" in str(reach.of_cache(lv))
    assert str(reach.of_pv(facts.pvs[1])) == "a device of vg0: missing"


def test_a_missing_ssd_leaves_volumes_without_a_cache_alone() -> None:
    facts = missing_ssd()
    assert FailureReach(facts).of_volume(facts.lvs[0]) is None


def test_a_cache_that_the_kernel_gave_up_fails_its_volume() -> None:
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaa", failed=True))
    fault = FailureReach(make.facts(lv)).of_volume(lv)
    assert fault is not None and fault.has_failed
    assert str(fault) == "c-aaaaaaaa: The cache has failed: every flush of its guest fails"


def test_a_volume_that_waits_for_its_cache_has_failed() -> None:
    lv = make.lv(bcache=make.bcache(device=None, cset_uuid=None, state="dirty"))
    assert level(FailureReach(make.facts(lv)).of_volume(lv)) == "failed"


def test_a_cache_set_that_is_gone_fails_its_volume() -> None:
    lv = make.lv(bcache=make.bcache(cset_uuid="gone"))
    assert level(FailureReach(make.facts(lv, csets=())).of_volume(lv)) == "failed"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"standing": LOST}, "failed"),
        ({"standing": DEGRADED}, "at-risk"),
        ({"standing": WELL}, ""),
        ({"health": "partial"}, "failed"),
        ({"health": "refresh needed"}, "at-risk"),
        ({"suspended": True}, "failed"),
    ],
)
def test_a_volume_tells_of_itself(fields: dict[str, object], expected: str) -> None:
    lv = make.lv(**fields)
    assert level(FailureReach(make.facts(lv)).of_volume(lv)) == expected


def test_copies_that_lvm_keeps_outlive_a_missing_disk() -> None:
    pvs = (make.pv(MISSING, missing=True), make.pv("sdd"))
    there = {"pvs": (MISSING, "sdd"), "layout": ("raid", "raid1")}
    reported, older, broken = (
        make.lv("a", standing=DEGRADED, **there),
        make.lv("b", **there),
        make.lv("c", health="partial", **there),
    )
    reach = FailureReach(make.facts(reported, older, broken, pvs=pvs))
    levels = [level(reach.of_volume(lv)) for lv in (reported, older, broken)]
    assert levels == ["at-risk", "at-risk", "failed"]


def test_a_read_only_disk_and_one_that_is_seen_twice_fail_what_lies_on_them() -> None:
    lv = make.lv(pvs=("sdc1",))
    disks = (dataclasses.replace(make.disk("sdc"), read_only=True),)
    reach = FailureReach(make.facts(lv, pvs=(make.pv("sdc1"),), disks=disks))
    assert reach.of_volume(lv) == PartFault("failed", "sdc", "read-only")
    twice = FailureReach(make.facts(make.lv(), pvs=(make.pv(duplicate=True),)))
    assert level(twice.of_volume(make.lv())) == "failed"


def test_bcache_made_by_hand_fails_the_group_on_it_where_its_cache_is_missing() -> None:
    made = BareBacking("sdc", None, "aa", "writeback", "dirty", 1, ())
    lv = make.lv(pvs=(made.name,))
    facts = make.facts(lv, pvs=(make.pv(made.name),), backings=(made,))
    assert level(FailureReach(facts).of_volume(lv)) == "failed"


def test_the_gravest_fault_counts() -> None:
    risk, failed = PartFault("at-risk", "md0", "x"), PartFault("failed", "sda", "y")
    assert gravest((None, risk, failed)) == failed
    assert gravest((risk, None)) == risk
    assert gravest(()) is None
