"""A bigger or smaller cache in the place of the one that is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import BcacheBacking, HostFacts, LogicalVolume
from storage.naming import ZEROED_TAG
from storage.planner import plan
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner import model
from tests.storage.planner.case import (
    DEVICE,
    KEY,
    OTHER,
    PLAIN,
    POOL,
    POOL_TAGS,
    aim,
    bcached,
    lvmcache,
    ours,
    refused,
    steps,
    verbs,
)

OTHER_CSET = "7b8d2f5f-1b57-4c0e-8a53-90e54ab1c002"
NEW_POOL, NEW_DEVICE = "c-eeeeeeeeffffffff", "s-eeeeeeeeffffffff"
BIGGER = lvmcache(name=NEW_POOL, size_bytes=3 * GIB)
BIGGER_SET = bcached(name=NEW_DEVICE, cset_uuid=OTHER_CSET, size_bytes=3 * GIB)
TIGHT = (make.pv(), make.fast_pv(free_bytes=GIB + 32 * MIB))


def cached(**fields: Any) -> LogicalVolume:
    return ours(cache=make.dm_cache(POOL, **fields))


def on_bcache(**facts: Any) -> tuple[HostFacts, LogicalVolume]:
    return with_bcache(make.bcache(cset_uuid=make.CSET_UUID, state="clean"), **facts)


def with_bcache(bcache: BcacheBacking, **facts: Any) -> tuple[HostFacts, LogicalVolume]:
    lv = ours(bcache=bcache)
    device = make.lv(DEVICE, tags=make.tags(KEY, made="cset"), size_bytes=2 * GIB, pvs=("md0",))
    csets = (make.cset(device.uuid, backing_count=1),)
    return make.facts(lv, device, csets=csets, **facts), lv


def test_the_new_pool_is_made_first_and_the_old_one_goes_when_it_is_clean() -> None:
    lv = cached(mode="writeback", dirty_bytes=GIB)
    found = steps(make.facts(lv), lv, BIGGER)
    assert [step.verb for step in found] == [
        "pool.create", "cache.flush", "cache.detach", "cache.attach", "volume.clear",
    ]  # fmt: skip
    create, flush, detach, attach, _ = found
    assert create.args["name"] == attach.args["pool"] == NEW_POOL
    assert flush.polled and not flush.holds_vg
    assert detach.args["pool"] == POOL and "HDD speed" in detach.title
    assert "empty at first" in attach.title


def test_without_ssd_room_for_both_the_old_one_goes_first_and_the_plan_says_so() -> None:
    lv = cached(pvs=("md0",))
    detach, create, attach, clear = steps(make.facts(lv, pvs=TIGHT), lv, BIGGER)
    assert (detach.verb, create.verb, attach.verb, clear.verb) == (
        "cache.detach", "pool.create", "cache.attach", "volume.clear",
    )  # fmt: skip
    assert "no SSD room for both" in detach.title
    facts, lv = on_bcache(pvs=TIGHT)
    found = steps(facts, lv, BIGGER_SET)
    assert [step.verb for step in found] == [
        "bcache.detach", "cset.remove", "cset.create", "bcache.attach",
    ]  # fmt: skip
    assert "no SSD room for both" in found[0].title


def test_what_fits_not_even_alone_is_refused() -> None:
    lv = cached()
    assert refused(make.facts(lv, pvs=TIGHT), lv, lvmcache(name=NEW_POOL, size_bytes=9 * GIB)) == (
        "no_space"
    )
    facts, lv = on_bcache(pvs=TIGHT)
    wish = bcached(name=NEW_DEVICE, cset_uuid=OTHER_CSET, size_bytes=9 * GIB)
    assert refused(facts, lv, wish) == "no_space"


def test_a_cache_of_the_same_name_and_another_size_makes_way_first() -> None:
    lv = cached()
    for size_bytes in (GIB, 3 * GIB):
        wish = lvmcache(size_bytes=size_bytes)
        assert verbs(make.facts(lv), lv, wish) == [
            "cache.detach", "pool.create", "cache.attach", "volume.clear",
        ]  # fmt: skip


def test_a_pool_that_was_not_zeroed_makes_way_before_a_guest_gets_it() -> None:
    lv = ours()
    unzeroed = tuple(tag for tag in make.tags(KEY, made="pool") if tag != ZEROED_TAG)
    facts = make.facts(lv, make.pool(POOL, tags=unzeroed))
    assert verbs(facts, lv, lvmcache()) == [
        "pool.remove", "pool.create", "cache.attach", "volume.clear",
    ]  # fmt: skip


def test_a_pool_that_is_being_zeroed_is_finished_first() -> None:
    lv = ours()
    tags = make.tags(KEY, made="pool", zeroing=True)
    begun = make.lv(POOL, size_bytes=2 * GIB, pvs=("md0",), tags=tags)
    create, attach = steps(make.facts(lv, begun), lv, lvmcache())
    assert (create.verb, attach.verb) == ("pool.create", "cache.attach")
    assert create.args["size_bytes"] == 2 * GIB and create.expect["lv_uuid"] == begun.uuid
    assert verbs(make.facts(lv, begun), lv, PLAIN)[0] == "pool.remove"


def test_an_older_agent_makes_no_pool_for_it_would_not_zero_it() -> None:
    lv = ours()
    facts = make.facts(lv, vgs=(make.vg(zeroes_pools=False),))
    assert refused(facts, lv, lvmcache()) == "unsupported"


def test_a_found_cache_of_an_odd_size_is_not_replaced_by_a_change_of_mode() -> None:
    lv = ours(cache=make.dm_cache("fastpool", size_bytes=100 * MIB, chunk_bytes=96 * 1024))
    wish = lvmcache(name="fastpool", size_bytes=100 * MIB, chunk_kib=96, mode="writeback")
    assert verbs(make.facts(lv), lv, wish) == ["cache.set"]


def test_a_cache_that_tiercel_did_not_make_is_not_replaced() -> None:
    lv = ours(cache=make.dm_cache("fastpool"))
    assert refused(make.facts(lv), lv, BIGGER) == "not_ours"


@pytest.mark.parametrize("fault", [{"needs_check": True}, {"failed": True}])
def test_a_broken_cache_is_repaired_first(fault: dict[str, bool]) -> None:
    lv = cached(**fault)
    assert refused(make.facts(lv), lv, BIGGER) == "degraded"


def test_a_pool_that_is_made_already_is_used() -> None:
    lv, made = cached(), make.pool(NEW_POOL, tags=POOL_TAGS, size_bytes=3 * GIB)
    assert verbs(make.facts(lv, made), lv, BIGGER) == [
        "cache.detach", "cache.attach", "volume.clear",
    ]  # fmt: skip


def test_writeback_on_a_new_pool_asks_about_its_ssds() -> None:
    wish = lvmcache(name=NEW_POOL, size_bytes=3 * GIB, mode="writeback")
    lv, made = cached(), make.pool(NEW_POOL, tags=POOL_TAGS, size_bytes=3 * GIB, pvs=("sdb",))
    pvs = (make.pv(), make.fast_pv(), make.fast_pv("sdb", redundant=False))
    assert refused(make.facts(lv, made, pvs=pvs), lv, wish) == "not_redundant"


def test_a_new_cache_set_takes_over_from_the_old_one() -> None:
    facts, lv = on_bcache()
    found = steps(facts, lv, BIGGER_SET)
    assert [step.verb for step in found] == [
        "cset.create", "bcache.detach", "bcache.attach", "cset.remove",
    ]  # fmt: skip
    create, detach, attach, remove = found
    assert create.args["cset_uuid"] == attach.args["cset_uuid"] == OTHER_CSET
    assert detach.args["cset_uuid"] == remove.args["cset_uuid"] == make.CSET_UUID
    assert detach.polled and not detach.holds_vg


def test_a_new_cache_set_brings_its_share_of_dirty_data() -> None:
    facts, lv = on_bcache()
    wish = bcached(name=NEW_DEVICE, cset_uuid=OTHER_CSET, writeback_percent=20)
    assert verbs(facts, lv, wish)[2:4] == ["bcache.attach", "bcache.set"]


def test_a_dirty_cache_set_is_written_back_and_leaves_the_new_ones_share() -> None:
    dirty = {"dirty_bytes": 4096, "cache_mode": "writeback", "writeback_percent": 0}
    facts, lv = with_bcache(make.bcache(cset_uuid=make.CSET_UUID, state="dirty", **dirty))
    found = steps(facts, lv, BIGGER_SET)
    assert [step.verb for step in found] == [
        "cset.create", "bcache.flush", "bcache.detach", "bcache.attach", "cset.remove",
    ]  # fmt: skip
    assert found[1].args["writeback_percent"] == 10


def stops(facts: HostFacts, wish: Wish) -> Iterator[HostFacts]:
    """The host before, between and after the steps of a job."""
    yield facts
    while found := plan(facts, aim(facts.lvs[0]), wish):
        facts = model.apply(facts, aim(facts.lvs[0]), found[0])
        yield facts


@pytest.mark.parametrize("technology", ["lvmcache", "bcache"])
def test_from_every_stop_it_goes_on_to_the_new_cache_or_back_to_the_old_one(
    technology: str,
) -> None:
    pool = make.pool(f"{POOL}_cpool", tags=POOL_TAGS)
    lv = cached(mode="writeback", dirty_bytes=GIB, pool_uuid=pool.uuid)
    start, wish, before = make.facts(lv, pool), BIGGER, lvmcache(mode="writeback")
    if technology == "bcache":
        start, lv = on_bcache()
        wish, before = BIGGER_SET, bcached()
    seen = list(stops(start, wish))
    assert len(seen) == (6 if technology == "lvmcache" else 5)
    for stop in seen:
        for way in (wish, before):
            end, _ = model.finish(stop, aim(lv), way)
            found = end.lv(lv.uuid)
            assert found is not None
            assert way.cache is not None
            if technology == "lvmcache":
                assert found.cache is not None and found.cache.pool == way.cache.name
            else:
                assert found.bcache is not None
                assert found.bcache.cset_uuid == getattr(way.cache, "cset_uuid", None)
            assert len(end.lvs) == len(start.lvs) == 2


def test_a_pool_left_by_another_volume_stays() -> None:
    lv, foreign = cached(), make.pool(f"c-{OTHER}", tags=make.tags(OTHER))
    found = steps(make.facts(lv, foreign), lv, BIGGER)
    assert f"c-{OTHER}" not in str([step.args for step in found])
