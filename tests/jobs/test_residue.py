"""What a broken job left on the host, in sentences."""

from __future__ import annotations

import dataclasses

from jobs.residue import residue_of
from storage.facts import LogicalVolume
from storage.naming import new_key
from storage.plan import Target
from storage.wish import GIB, LvmCache, Wish
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
    assert residue_of(make.facts(lv), target, CACHED, BARE) == []


def test_a_pool_that_nobody_uses_is_left_and_others_pools_are_not_ours() -> None:
    target, lv = tagged()
    ours = make.pool(POOL, tags=make.tags(target.volume_key))
    foreign = make.pool("c-bbbbbbbbbbbbbbbb", tags=make.tags(new_key()))
    facts = make.facts(lv, ours, foreign)
    assert residue_of(facts, target, CACHED, BARE) == [f"vg0/{POOL} (2 GiB) is there."]


def test_a_pool_in_use_is_not_left_over() -> None:
    target, lv = tagged()
    lv = dataclasses.replace(lv, cache=make.dm_cache(f"{POOL}_cpool"))
    hidden = make.pool(f"{POOL}_cpool", tags=make.tags(target.volume_key))
    assert residue_of(make.facts(lv, hidden), target, CACHED, BARE) == []


def test_what_is_neither_says_both() -> None:
    target, lv = tagged()
    lv = dataclasses.replace(lv, cache=make.dm_cache(f"{POOL}_cpool", mode="writeback"))
    left = residue_of(make.facts(lv), target, CACHED, BARE)
    assert "Cache mode: writeback now, wished writethrough, before -." in left


def test_a_volume_that_grew_does_not_shrink_and_that_is_said() -> None:
    target, lv = tagged()
    lv = dataclasses.replace(lv, size_bytes=16 * GIB)
    left = residue_of(make.facts(lv), target, BARE, BARE)
    assert left == ["Size: 16 GiB now, should be 8 GiB."]


def test_a_volume_that_is_gone_is_said_to_be_gone() -> None:
    target, _ = tagged()
    assert residue_of(make.facts(), target, CACHED, BARE) == ["vg0/web12 is not on the host."]
