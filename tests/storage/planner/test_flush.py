"""Dirty data is written to the slow disk and the cache goes on."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner import plan
from storage.planner.technologies.lookup import with_flush
from tests import make
from tests.storage.planner.case import (
    DEVICE,
    OURS,
    POOL,
    aim,
    bcached,
    lvmcache,
    ours,
    steps,
    verbs,
)
from tests.storage.planner.model import finish

FLUSHED = dataclasses.replace(lvmcache(mode="writeback"), flushed=True)
FLUSHED_SET = dataclasses.replace(bcached(cache_mode="writeback"), flushed=True)


def dirty(dirty_bytes: int, policy: str = "smq") -> LogicalVolume:
    cache = make.dm_cache(POOL, mode="writeback", dirty_bytes=dirty_bytes, policy=policy)
    return ours(cache=cache)


def dirty_bcache(
    dirty_bytes: int, percent: int = 10, mode: str = "writeback", **ssd: Any
) -> tuple[HostFacts, LogicalVolume]:
    backing = make.bcache(
        cset_uuid=make.CSET_UUID,
        state="dirty",
        cache_mode=mode,
        dirty_bytes=dirty_bytes,
        writeback_percent=percent,
    )
    lv = ours(bcache=backing)
    device = make.lv(DEVICE, tags=OURS, size_bytes=2 * GIB, pvs=("md0",))
    csets = (make.cset(device.uuid, backing_count=1),)
    return make.facts(lv, device, csets=csets, pvs=(make.pv(), make.fast_pv(**ssd))), lv


def test_a_flush_ends_with_the_policy_as_it_was() -> None:
    lv = dirty(GIB)
    flush, back = steps(make.facts(lv), lv, FLUSHED)
    assert flush.verb == "cache.flush" and flush.polled and not flush.holds_vg
    assert back.args == {"vg": "vg0", "lv": "web12", "policy": "smq"}
    assert finish(make.facts(lv), aim(lv), FLUSHED)[1] == ["cache.flush", "cache.set"]


def test_only_a_clean_cache_counts_as_flushed() -> None:
    lv, clean = dirty(1), dirty(0)
    assert steps(make.facts(lv), lv, FLUSHED)[0].args["dirty_limit_bytes"] == 0
    assert verbs(make.facts(clean), clean, FLUSHED) == []
    left_on = dirty(0, policy="cleaner")
    assert verbs(make.facts(left_on), left_on, FLUSHED) == ["cache.set"]


def test_a_flush_runs_at_the_wished_pace_and_the_threshold_is_put_back() -> None:
    lv = dirty(GIB)
    fast = dataclasses.replace(FLUSHED, pace_sectors=65536)
    assert steps(make.facts(lv), lv, fast)[0].args["migration_threshold"] == 65536
    assert fast.lasting == FLUSHED.lasting
    cache = make.dm_cache(POOL, mode="writeback", migration_threshold_sectors=65536)
    quick = ours(cache=cache)
    (back,) = steps(make.facts(quick), quick, fast)
    assert (back.verb, back.args["migration_threshold"]) == ("cache.set", 16384)


def test_the_lasting_wish_flushes_nothing() -> None:
    lv = dirty(GIB)
    assert FLUSHED.lasting == lvmcache(mode="writeback")
    assert verbs(make.facts(lv), lv, FLUSHED.lasting) == []


def test_bcache_is_flushed_and_gets_its_mode_and_writeback_percent_back() -> None:
    facts, lv = dirty_bcache(GIB)
    flush, back = steps(facts, lv, FLUSHED_SET)
    assert flush.verb == "bcache.flush" and flush.polled and not flush.holds_vg
    assert (flush.args["writeback_percent"], flush.args["dirty_limit_bytes"]) == (10, 0)
    assert back.args == {"vg": "vg0", "lv": "web12", "cache_mode": "writeback"}
    assert finish(facts, aim(lv), FLUSHED_SET)[1] == ["bcache.flush", "bcache.set"]
    assert verbs(*dirty_bcache(0), FLUSHED_SET) == []
    through = dataclasses.replace(bcached(), flushed=True)
    assert verbs(*dirty_bcache(MIB, mode="writethrough"), through) == ["bcache.flush"]


@pytest.mark.parametrize("ssd", [{"healthy": False}, {"redundant": False}])
def test_a_flush_on_ssds_that_are_not_safe_ends_in_writethrough(ssd: dict[str, Any]) -> None:
    """Else the way to its end would be refused, and so would the way back."""
    facts, lv = dirty_bcache(GIB, **ssd)
    flush, through = steps(facts, lv, FLUSHED_SET)
    assert flush.verb == "bcache.flush"
    assert through.args == {"vg": "vg0", "lv": "web12", "cache_mode": "writethrough"}
    assert "mode to writethrough; writeback asks for SSDs" in through.title
    settled, done = finish(facts, aim(lv), FLUSHED_SET)
    assert done == ["bcache.flush"]
    wish = with_flush(facts, FLUSHED_SET.lasting)
    assert wish == dataclasses.replace(bcached(), flushed=True)
    assert steps(facts, lv, wish) == (flush, through)
    assert plan(settled, aim(lv), wish.lasting) == ()
    clean, lv = dirty_bcache(0, **ssd)
    assert verbs(clean, lv, FLUSHED_SET) == ["bcache.set"]


def test_a_flush_on_safe_ssds_and_one_of_lvmcache_keep_their_mode() -> None:
    facts, lv = dirty_bcache(GIB)
    assert with_flush(facts, FLUSHED_SET.lasting) == FLUSHED_SET
    lv = dirty(GIB)
    facts = make.facts(lv, pvs=(make.pv(), make.fast_pv(healthy=False)))
    assert with_flush(facts, FLUSHED.lasting) == FLUSHED
    assert finish(facts, aim(lv), FLUSHED)[1] == ["cache.flush", "cache.set"]


def test_a_new_cache_is_not_put_into_another_mode_because_it_is_to_be_flushed() -> None:
    facts = make.facts(ours(bcache=make.bcache()))
    assert with_flush(facts, FLUSHED_SET.lasting) == FLUSHED_SET


def test_a_flush_of_bcache_that_was_broken_off_leaves_no_trace() -> None:
    facts, lv = dirty_bcache(MIB, percent=0)
    (step,) = steps(facts, lv, FLUSHED_SET.lasting)
    assert step.args == {"vg": "vg0", "lv": "web12", "writeback_percent": 10}
