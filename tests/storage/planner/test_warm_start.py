"""A new cache is filled with what is read most, where the host may count that."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from storage.byte_sizes import GIB
from storage.inventory.facts import LogicalVolume
from storage.planner.cost import cost
from storage.planner.fingerprint import plan_fingerprint
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner.case import (
    DEVICE,
    KEY,
    OTHER,
    PLAIN,
    POOL,
    aim,
    bcached,
    lvmcache,
    ours,
    steps,
    verbs,
)
from tests.storage.planner.model import finish

NEW_POOL = f"c-{OTHER}"
EMPTY = make.bcache(cset_uuid=None, state="no cache")


def seen(**fields: Any) -> LogicalVolume:
    """A volume whose heat the host observes."""
    return ours(heat_observed=True, **fields)


@pytest.mark.parametrize(
    ("lv", "wish", "made"),
    [
        (seen(), lvmcache(), ["pool.create", "cache.attach"]),
        (seen(bcache=EMPTY), bcached(), ["cset.create", "bcache.attach"]),
    ],
)
def test_a_new_cache_is_warmed_as_the_step_after_its_attachment(
    lv: LogicalVolume, wish: Wish, made: list[str]
) -> None:
    facts = make.facts(lv)
    expected = ["volume.count", *made, "cache.warm"]
    assert verbs(facts, lv, wish) == expected
    end, done = finish(facts, aim(lv), wish)
    assert done == expected
    assert verbs(end, lv, wish) == [], "it is over once"


def test_the_reads_are_counted_for_this_very_cache() -> None:
    lv = seen(counted_for=NEW_POOL)
    count, *_ = steps(make.facts(lv), lv, lvmcache())
    assert (count.verb, count.args["cache"]) == ("volume.count", POOL)
    lv = seen(counted_for=POOL)
    assert verbs(make.facts(lv), lv, lvmcache()) == ["pool.create", "cache.attach", "cache.warm"]


def test_nothing_waits_for_more_to_be_counted() -> None:
    lv = seen()
    facts = make.facts(lv)
    found = steps(facts, lv, lvmcache())
    assert cost(facts, aim(lv), found).steps[0].seconds < 5


def test_another_cache_is_warmed_by_what_was_read_through_the_old_one() -> None:
    lv = seen(cache=make.dm_cache(POOL))
    wish = lvmcache(name=NEW_POOL, size_bytes=4 * GIB)
    _, done = finish(make.facts(lv), aim(lv), wish)
    assert done[0] == "volume.count"
    assert done[done.index("cache.attach") + 1] == "cache.warm"


def test_the_old_device_of_a_bcache_is_wiped_after_the_new_one_is_warm() -> None:
    old = make.lv(f"s-{OTHER}", tags=make.tags(KEY, made="cset"), pvs=("md0",))
    other_uuid = "11111111-2222-4333-8444-555555555555"
    cset = dataclasses.replace(make.cset(old.uuid), uuid=other_uuid)
    lv = seen(bcache=make.bcache(cset_uuid=other_uuid))
    found = verbs(make.facts(lv, old, csets=(cset,)), lv, bcached(name=DEVICE))
    assert found[-3:] == ["bcache.attach", "cache.warm", "cset.remove"]


@pytest.mark.parametrize("wish", [lvmcache(), PLAIN])
def test_a_volume_whose_heat_may_not_be_counted_gets_its_cache_cold(wish: Wish) -> None:
    lv = ours(counted_for=POOL)
    assert not {"volume.count", "cache.warm"} & set(verbs(make.facts(lv), lv, wish))


def test_a_volume_that_is_made_with_its_cache_has_nothing_that_is_hot() -> None:
    assert verbs(make.facts(), None, lvmcache()) == ["volume.create", "pool.create", "cache.attach"]


@pytest.mark.parametrize("counted_for", ["", NEW_POOL])
def test_a_cache_that_is_there_is_not_warmed_again(counted_for: str) -> None:
    lv = seen(cache=make.dm_cache(POOL), counted_for=counted_for)
    assert verbs(make.facts(lv), lv, lvmcache()) == []


def test_a_cache_that_this_job_attached_is_warmed() -> None:
    lv = seen(cache=make.dm_cache(POOL), counted_for=POOL)
    assert verbs(make.facts(lv), lv, lvmcache()) == ["cache.warm"]


def test_whether_it_is_warmed_is_no_part_of_what_a_person_confirmed() -> None:
    cold = ours()
    warm = dataclasses.replace(cold, heat_observed=True)
    plans = [steps(make.facts(lv), lv, lvmcache()) for lv in (cold, warm)]
    assert len(plans[0]) < len(plans[1])
    assert plan_fingerprint(plans[0]) == plan_fingerprint(plans[1])


def test_the_preview_says_how_long_it_takes_at_most() -> None:
    lv = seen()
    facts = make.facts(lv)
    found = steps(facts, lv, lvmcache())
    assert found[-1].args["limit_seconds"] == 1638
    assert "in at most 27 min" in found[-1].title
    of_warming = cost(facts, aim(lv), found).steps[-1]
    assert of_warming.slowest_seconds == 1638 and of_warming.locked_seconds == 0
    big = lvmcache(size_bytes=512 * GIB, chunk_kib=1024)
    room = make.facts(lv, pvs=(make.pv(), make.fast_pv(free_bytes=1024 * GIB)))
    assert steps(room, lv, big)[-1].args["limit_seconds"] == 3600
