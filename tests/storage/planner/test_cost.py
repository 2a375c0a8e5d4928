"""What a plan is said to cost before it is confirmed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from storage.agent.verbs.registry import VERBS
from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner import PlannedStep
from storage.planner.cost import ZERO_FAST, Cost, cost
from storage.planner.wish import Wish
from tests import make
from tests.storage.planner.case import PLAIN, POOL, aim, bcached, lvmcache, ours, steps


def of(facts: HostFacts, lv: LogicalVolume | None, wish: Wish) -> Cost:
    """The cost of the plan for the wish."""
    return cost(facts, aim(lv), steps(facts, lv, wish))


def alone(
    verb: str, lv: LogicalVolume | None = None, *, makes_irrevocable: bool = False, **args: Any
) -> Cost:
    """The cost of one step on a volume that is alone."""
    lv = lv or ours()
    return cost(
        make.facts(lv),
        aim(lv),
        [PlannedStep(verb, args, {}, "a step", makes_irrevocable=makes_irrevocable)],
    )


def cached(dirty_bytes: int, **fields: Any) -> LogicalVolume:
    cache = make.dm_cache(f"{POOL}_cpool", dirty_bytes=dirty_bytes, mode="writeback", **fields)
    return ours(cache=cache)


def test_a_plan_without_steps_costs_nothing() -> None:
    lv = ours()
    found = of(make.facts(lv), lv, PLAIN)
    assert (found.steps, found.seconds, found.wait_seconds) == ((), 0, 0)
    assert (found.ssd_bytes, found.final_step) == (0, None)


def test_a_new_cache_takes_its_size_and_its_metadata_and_locks_the_group_for_seconds() -> None:
    lv = ours()
    found = of(make.facts(lv), lv, lvmcache())
    assert found.ssd_bytes > 2 * GIB
    assert found.ssd_free_bytes == 40 * GIB
    assert 0 < found.wait_seconds <= 3
    zeroing = 2 * GIB / ZERO_FAST
    assert zeroing < found.seconds < zeroing + 10
    assert found.final_step is None


def test_others_in_the_group_are_counted_and_parts_and_other_groups_are_not() -> None:
    lv = ours()
    others = (
        make.lv("db1"),
        make.lv("spare", open_count=0),
        make.pool("c-zzzzzzzzzzzzzzzz"),
        make.lv("elsewhere", vg_uuid="other", vg_name="vg1"),
    )
    found = of(make.facts(lv, *others), lv, lvmcache())
    assert (found.other_count, found.open_count) == (2, 1)


def test_others_do_not_wait_for_a_flush_but_for_the_rest_of_it() -> None:
    lv = cached(10 * GIB)
    found = of(make.facts(lv), lv, PLAIN)
    flush, detach, _ = found.steps
    assert found.dirty_bytes == 10 * GIB
    assert flush.seconds > 1800, "10 GiB at 5 MiB/s"
    assert flush.locked_seconds <= 1
    assert 10 < detach.locked_seconds < 20, "64 MiB at 5 MiB/s"
    assert found.wait_seconds == detach.locked_seconds


def test_a_clean_cache_goes_at_once() -> None:
    lv = cached(0)
    found = of(make.facts(lv), lv, PLAIN)
    detach, clear = found.steps
    assert detach.seconds < 5 < clear.seconds < 15, "2 GiB of SSD are zeroed"
    assert found.wait_seconds <= 2


def test_large_chunks_are_written_back_faster() -> None:
    small, large = cached(GIB), cached(GIB, chunk_bytes=512 * 1024)
    assert (
        of(make.facts(large), large, PLAIN).seconds * 4
        < of(make.facts(small), small, PLAIN).seconds
    )


def test_a_change_of_mode_flushes_under_the_lock() -> None:
    lv = cached(60 * MIB)
    assert alone("cache.set", lv, mode="writethrough").wait_seconds > 10
    assert alone("cache.set", lv, migration_threshold=2048).wait_seconds <= 2


def test_bcache_locks_no_group_while_it_attaches() -> None:
    backing = make.bcache()
    lv = ours(bcache=backing)
    found = of(make.facts(lv), lv, bcached())
    create, attach = found.steps
    assert create.locked_seconds > 0
    assert attach.locked_seconds == 0
    assert found.ssd_bytes == 2 * GIB


def test_a_new_volume_takes_as_long_as_its_zeroing() -> None:
    small, large = (
        cost(make.facts(), aim(None), steps(make.facts(), None, Wish(size)))
        for size in (GIB, 30 * GIB)
    )
    assert large.seconds > 20 * (small.seconds - 3)
    assert large.wait_seconds == small.wait_seconds <= 2
    assert large.ssd_bytes == 0


def test_an_ssd_volume_is_zeroed_faster_and_takes_ssd_space() -> None:
    facts = make.facts()
    slow, fast = (
        cost(facts, aim(None), steps(facts, None, Wish(10 * GIB, tier=tier)))
        for tier in ("hdd", "ssd")
    )
    assert fast.seconds < slow.seconds / 2
    assert fast.ssd_bytes == 10 * GIB


def test_an_extension_takes_what_is_new_and_has_no_way_back() -> None:
    found = alone("volume.extend", from_bytes=8 * GIB, size_bytes=9 * GIB, pvs=["sdc"])
    assert 8 < found.seconds < 20, "1 GiB at 100 MiB/s"
    assert found.final_step == 1
    assert found.ssd_bytes == 0
    on_ssd = alone("volume.extend", from_bytes=8 * GIB, size_bytes=9 * GIB, pvs=["md0"])
    assert on_ssd.ssd_bytes == GIB


def test_a_move_to_ssd_takes_the_volumes_size_there() -> None:
    to_ssd = alone("volume.move", from_pvs=["sdc"], to_pvs=["md0"])
    assert to_ssd.ssd_bytes == 8 * GIB
    assert to_ssd.seconds > 100
    assert to_ssd.wait_seconds <= 2
    assert alone("volume.move", from_pvs=["md0"], to_pvs=["sdc"]).ssd_bytes == 0


def test_the_first_step_that_turns_is_where_the_way_back_ends() -> None:
    lv = ours()
    plan = [
        PlannedStep("volume.tag", {}, {}, "one"),
        PlannedStep("cache.attach", {}, {}, "two", makes_irrevocable=True),
    ]
    assert cost(make.facts(lv), aim(lv), plan).final_step == 2
    assert alone("volume.destroy").final_step == 1


def test_tagging_alone_has_no_way_back_and_a_cache_on_a_volume_to_tag_has_one() -> None:
    """No job takes the tag off; a cache that comes with it is removed by another job."""
    found = make.lv()
    facts = make.facts(found)
    assert of(facts, found, PLAIN).final_step == 1
    assert [step.verb for step in steps(facts, found, lvmcache())][:1] == ["volume.tag"]
    assert of(facts, found, lvmcache()).final_step is None


def test_a_verb_without_figures_counts_as_a_short_command() -> None:
    assert alone("volume.new-verb").seconds == 2


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_that_changes_something_has_figures(verb: str) -> None:
    estimate = VERBS[verb].estimate
    assert estimate.seconds >= 1
    assert 0 <= estimate.locked_seconds <= estimate.seconds


def test_a_cache_that_is_replaced_needs_room_for_both_at_once() -> None:
    lv = cached(0)
    found = of(make.facts(lv), lv, lvmcache(name="c-bbbbbbbbbbbbbbbb", size_bytes=4 * GIB))
    assert 4 * GIB < found.ssd_bytes < 5 * GIB


def test_room_that_an_earlier_step_frees_is_not_asked_for_again() -> None:
    lv = cached(0)
    detach = PlannedStep("cache.detach", {"pool": POOL, "dirty_limit_bytes": 0}, {}, "old one off")
    create = PlannedStep("pool.create", {"size_bytes": 3 * GIB, "chunk_kib": 64}, {}, "new one")
    both = cost(make.facts(lv), aim(lv), [detach, create]).ssd_bytes
    assert GIB < both < 2 * GIB
    pool = make.pool("c-old")
    remove = PlannedStep("pool.remove", {"pool": "c-old"}, {}, "leftover")
    assert cost(make.facts(lv, pool), aim(lv), [remove, create]).ssd_bytes == both


def test_a_missing_ssd_is_no_room() -> None:
    lv = ours()
    pvs = (make.pv(), dataclasses.replace(make.fast_pv(), missing=True))
    found = cost(make.facts(lv, pvs=pvs), aim(lv), [])
    assert found.ssd_free_bytes == 0
