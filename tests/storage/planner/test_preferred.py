"""Plans for what a person has seen: on the disks of then, whatever other volumes take meanwhile."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from storage.byte_sizes import GIB
from storage.inventory.facts import HostFacts, LogicalVolume, PhysicalVolume
from storage.naming import room_name
from storage.planner import PlannedStep, plan
from storage.planner.fingerprint import disks_of, plan_fingerprint
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner import model
from tests.storage.planner.case import (
    KEY,
    OURS,
    PLAIN,
    POOL,
    POOL_TAGS,
    ROOM_TAGS,
    aim,
    bcached,
    lvmcache,
    ours,
)

LARGER, ON_SSD = Wish(10 * GIB), Wish(8 * GIB, "ssd")
FULL = make.pv("sdb", free_bytes=0)
DISKS = (
    FULL,
    make.pv("sdc", free_bytes=40 * GIB),
    make.pv("sdd", free_bytes=39 * GIB),
    make.fast_pv("md0", free_bytes=40 * GIB),
    make.fast_pv("md1", free_bytes=39 * GIB),
)


def backing() -> LogicalVolume:
    return ours(bcache=make.bcache(size_bytes=8 * GIB))


CASES = [
    pytest.param(None, PLAIN, "volume.create", "sdc", id="create"),
    pytest.param(None, lvmcache(), "pool.create", "md0", id="create-with-cache"),
    pytest.param(ours(pvs=("sdb",)), LARGER, "volume.extend", "sdc", id="extend"),
    pytest.param(ours(), ON_SSD, "volume.move", "md0", id="move"),
    pytest.param(ours(), lvmcache(), "pool.create", "md0", id="lvmcache"),
    pytest.param(ours(), lvmcache(mode="writeback"), "pool.create", "md0", id="writeback"),
    pytest.param(backing(), bcached(), "cset.create", "md0", id="bcache"),
]


def with_disk(facts: HostFacts, *names: str, **fields: Any) -> HostFacts:
    """The facts with other fields of the disks of those names."""

    def now(pv: PhysicalVolume) -> PhysicalVolume:
        return dataclasses.replace(pv, **fields) if pv.name in names else pv

    return dataclasses.replace(facts, pvs=tuple(now(pv) for pv in facts.pvs))


def seen(lv: LogicalVolume | None, wish: Wish) -> tuple[HostFacts, tuple[PlannedStep, ...]]:
    facts = make.facts(*[lv] if lv else [], pvs=DISKS)
    return facts, plan(facts, aim(lv), wish)


@pytest.mark.parametrize(("lv", "wish", "verb", "disk"), CASES)
def test_another_volumes_space_does_not_change_what_was_confirmed(
    lv: LogicalVolume | None, wish: Wish, verb: str, disk: str
) -> None:
    facts, preview = seen(lv, wish)
    assert disks_of(preview)[verb] == [disk]
    snapshots = with_disk(facts, "sdc", "md0", free_bytes=38 * GIB)
    assert plan_fingerprint(plan(snapshots, aim(lv), wish)) != plan_fingerprint(preview)
    again = plan(snapshots, aim(lv), wish, disks_of(preview))
    model.check(again)
    assert plan_fingerprint(again) == plan_fingerprint(preview)


@pytest.mark.parametrize("now", [{"free_bytes": GIB}, {"free_bytes": 38 * GIB, "healthy": False}])
@pytest.mark.parametrize(("lv", "wish", "verb", "disk"), CASES)
def test_a_disk_that_will_not_do_any_more_is_not_insisted_on(
    lv: LogicalVolume | None, wish: Wish, verb: str, disk: str, now: dict[str, Any]
) -> None:
    facts, preview = seen(lv, wish)
    other = {"sdc": "sdd", "md0": "md1"}[disk]
    again = plan(with_disk(facts, disk, **now), aim(lv), wish, disks_of(preview))
    assert disks_of(again)[verb] == [other]
    assert plan_fingerprint(again) != plan_fingerprint(preview)


def test_what_was_to_lie_on_two_disks_lies_there_in_that_order() -> None:
    wish = Wish(60 * GIB)
    facts, preview = seen(None, wish)
    assert disks_of(preview) == {"volume.create": ["sdc", "sdd"]}
    after = with_disk(facts, "sdc", free_bytes=30 * GIB)
    assert plan(after, aim(None), wish, disks_of(preview)) == preview
    roomier = with_disk(facts, "sdd", free_bytes=70 * GIB)
    assert plan(roomier, aim(None), wish, disks_of(preview)) == preview


def test_each_step_has_a_disk_of_its_own() -> None:
    """The pool of a volume on SSD need not lie where the volume grows."""
    lv = ours(pvs=("md1",))
    wish = dataclasses.replace(lvmcache(), size_bytes=10 * GIB)
    _, preview = seen(lv, wish)
    assert disks_of(preview) == {"volume.extend": ["md1"], "pool.create": ["md0"]}


def test_what_a_broken_attempt_left_says_nothing_of_where_the_rest_goes() -> None:
    lv, left = ours(), make.lv(room_name(KEY), tags=ROOM_TAGS, size_bytes=GIB, pvs=("sdd",))
    facts = make.facts(lv, left, pvs=DISKS)
    tidy, extend, _ = plan(facts, aim(lv), LARGER)
    assert (tidy.args["pvs"], extend.args["pvs"]) == (["sdd"], ["sdc"])
    assert disks_of((tidy, extend)) == {"volume.extend": ["sdc"]}


def test_what_is_half_made_is_finished_where_it_lies() -> None:
    preferred = {"volume.create": ["sdc"], "pool.create": ["md0"], "cset.create": ["md0"]}
    zeroing = make.lv(f"v-{KEY}", tags=make.tags(KEY, zeroing=True), pvs=("sdd",))
    (create,) = plan(make.facts(zeroing, pvs=DISKS), aim(None), PLAIN, preferred)
    assert create.args["pvs"] == ["sdd"]
    lv, pool = ours(), make.pool(POOL, tags=POOL_TAGS, pvs=("md1",))
    made = plan(make.facts(lv, pool, pvs=DISKS), aim(lv), lvmcache(), preferred)
    assert [step.verb for step in made] == ["cache.attach"]
    of_bcache = backing()
    device = make.lv(f"s-{KEY}", tags=OURS, size_bytes=2 * GIB, pvs=("md1",))
    facts = make.facts(of_bcache, device, pvs=DISKS)
    (cset, _) = plan(facts, aim(of_bcache), bcached(), preferred)
    assert (cset.verb, cset.args["pvs"]) == ("cset.create", ["md1"])
