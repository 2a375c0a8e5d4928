"""What a broken job left on the host, in sentences."""

from __future__ import annotations

import dataclasses

import pytest

from jobs.engine.rollback import leftovers_of, leftovers_on_host
from storage.byte_sizes import GIB
from storage.inventory.facts import LogicalVolume
from storage.naming import new_key
from storage.planner import Target
from storage.planner.ssd_wish import Preparation
from storage.planner.wish import LvmCache, Wish
from tests import make

POOL = "c-aaaaaaaaaaaaaaaa"
BARE = Wish(size_bytes=8 * GIB)
CACHED = Wish(size_bytes=8 * GIB, cache=LvmCache(POOL, 2 * GIB))


def tagged() -> tuple[Target, LogicalVolume]:
    """A volume of ours, and what a plan aims at."""
    key = new_key()
    lv = make.lv("web12", tags=make.tags(key))
    return make.target(lv, volume_key=key), lv


def test_what_is_as_it_was_or_as_it_should_be_leaves_nothing() -> None:
    target, lv = tagged()
    assert leftovers_of(make.facts(lv), target, CACHED, BARE) == []


def test_a_pool_without_use_is_left_and_others_pools_are_not_ours() -> None:
    target, lv = tagged()
    ours = make.pool(POOL, tags=make.tags(target.volume_key, made="pool"))
    foreign = make.pool("c-bbbbbbbbbbbbbbbb", tags=make.tags(new_key()))
    facts = make.facts(lv, ours, foreign)
    assert leftovers_of(facts, target, CACHED, BARE) == [f"vg0/{POOL} (2 GiB) exists."]


def test_a_pool_in_use_is_not_left_over() -> None:
    target, lv = tagged()
    lv = dataclasses.replace(lv, cache=make.dm_cache(f"{POOL}_cpool"))
    hidden = make.pool(f"{POOL}_cpool", tags=make.tags(target.volume_key))
    assert leftovers_of(make.facts(lv, hidden), target, CACHED, BARE) == []


def test_what_is_neither_says_both() -> None:
    target, lv = tagged()
    lv = dataclasses.replace(lv, cache=make.dm_cache(f"{POOL}_cpool", mode="writeback"))
    left = leftovers_of(make.facts(lv), target, CACHED, BARE)
    assert "Cache mode: writeback now, target writethrough, before -." in left


def test_a_volume_that_grew_does_not_shrink_and_that_is_said() -> None:
    target, lv = tagged()
    lv = dataclasses.replace(lv, size_bytes=16 * GIB)
    left = leftovers_of(make.facts(lv), target, BARE, BARE)
    assert left == ["Size: 16 GiB now, should be 8 GiB."]


def test_a_volume_that_is_gone_is_said_to_be_gone() -> None:
    target, _ = tagged()
    assert leftovers_of(make.facts(), target, CACHED, BARE) == ["vg0/web12 is not on the host."]


@pytest.mark.parametrize(
    ("tag", "state"),
    [
        ({"zeroing": True}, ", not fully zeroed yet"),
        ({"unformatted": True}, ", not formatted yet"),
    ],
)
def test_a_volume_that_is_half_made_is_left_with_its_state(
    tag: dict[str, bool], state: str
) -> None:
    target, lv = tagged()
    lv = dataclasses.replace(lv, tags=make.tags(target.volume_key, **tag))
    left = leftovers_of(make.facts(lv), target, CACHED, None, made=True)
    assert left == [f"vg0/web12 (8 GiB) exists{state}."]


def test_a_volume_that_is_made_is_left_with_what_it_lacks() -> None:
    target, lv = tagged()
    assert leftovers_of(make.facts(lv), target, BARE, None, made=True) == [
        "vg0/web12 (8 GiB) exists."
    ]
    left = leftovers_of(make.facts(lv), target, CACHED, None, made=True)
    assert "Cache: none now, should be lvmcache." in left


def test_a_volume_that_was_never_made_leaves_nothing() -> None:
    target, _ = tagged()
    assert leftovers_of(make.facts(), target, CACHED, None, made=True) == []


def test_an_ssd_is_left_while_it_is_marked_and_in_no_group() -> None:
    wanted = Preparation("sde", "ssd2", make.VG_UUID, "vg0")
    marked = make.facts(pvs=(make.pv("sdc"), make.pv("sde", vg_uuid="", vg_name="")))
    assert leftovers_on_host(marked, wanted) == ["sde is a physical volume of no volume group."]
    for pvs in ((make.pv("sdc"),), (make.pv("sde"),)):
        assert leftovers_on_host(make.facts(pvs=pvs), wanted) == []
