"""pool.create, cache.attach, cache.set, cache.flush, cache.detach, pool.remove."""

from __future__ import annotations

from typing import Any

import pytest

from storage.naming import new_key
from storage.planner.lvm_sizes import pool_bytes
from tests.contract.client import MIB, POOL_BYTES, Agent, argvs, pool_args
from tests.contract.world import World


def free_bytes(facts: Any) -> int:
    return int(next(pv for pv in facts["pvs"] if pv["name"] == "md0")["free_bytes"])


def test_a_pool_takes_the_predicted_room_and_gives_it_back(agent: Agent) -> None:
    before = free_bytes(agent.inventory())
    pool = agent.pool("v-aaaaaaaa")
    facts = agent.inventory()
    assert before - free_bytes(facts) == pool_bytes(POOL_BYTES, 64, 4 * MIB, 0)
    lv = next(lv for lv in facts["lvs"] if lv["name"] == pool)
    assert lv["layout"] == ["cache", "pool"] and not lv["active"]
    assert lv["size_bytes"] == POOL_BYTES
    assert sorted(lv["tags"]) == [
        "tiercel", "tiercel.made=pool", "tiercel.volume=aaaaaaaa", "tiercel.zeroed",
    ]  # fmt: skip
    agent.do("pool.remove", {"pool": pool})
    facts = agent.inventory()
    assert free_bytes(facts) == before and facts["lvs"] == []


@pytest.mark.parametrize("mode", ["writeback", "writethrough"])
def test_a_guest_that_trims_its_disk_reads_nothing_of_what_lay_on_the_ssd(
    agent: Agent, world: World, mode: str
) -> None:
    world.add_lv("strangers", POOL_BYTES + 16 * MIB, "md0")
    world.scribble("strangers")
    world.remove_lv("strangers")
    volume, _ = agent.cached(mode)
    assert world.caches.foreign_bytes_after_trim(volume) == 0


@pytest.mark.thorough
def test_a_writethrough_cache_comes_and_goes_while_a_guest_holds_the_volume(
    agent: Agent, world: World
) -> None:
    volume = agent.volume()
    before = agent.lv(volume)
    pool = f"c-{volume[2:]}"
    wished = {"lv": volume, "pool": pool, "mode": "writethrough", "migration_threshold": 8192}
    with world.guest("web12", volume):
        create = agent.call("pool.create", pool_args(volume[2:]))
        attach = agent.call("cache.attach", wished)
        with agent.unchanged():
            steps = agent.preview(("pool.create", *create), ("cache.attach", *attach))
        assert [step["error"] for step in steps] == [None, None]
        assert steps[0]["deferred"] == []
        assert steps[1]["deferred"], "the pool is not there yet"
        ran = [
            agent.do("pool.create", create[0])["commands"],
            agent.do("cache.attach", attach[0])["commands"],
        ]
        assert [argvs(each) for each in ran] == [argvs(step["commands"]) for step in steps]
        cached = agent.lv(volume)
        assert (cached["uuid"], cached["dev"]) == (before["uuid"], before["dev"])
        cache = cached["cache"]
        assert (cache["pool"], cache["mode"], cache["policy"]) == (pool, "writethrough", "smq")
        assert (cache["lvm_policy"], cache["dirty_known"]) == ("smq", True)
        assert cache["size_bytes"] == POOL_BYTES and cache["chunk_bytes"] == 65536
        assert cache["migration_threshold_sectors"] == 8192
        assert not cache["needs_check"] and not cache["failed"]
        with agent.unchanged():
            assert agent.do("cache.attach", wished)["commands"] == []
        agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 64 * MIB})
        facts = agent.inventory()
        (after,) = facts["lvs"]
        assert after["cache"] is None
        assert (after["uuid"], after["dev"]) == (before["uuid"], before["dev"])


@pytest.mark.thorough
def test_writeback_is_attached_flushed_and_left_while_a_guest_holds_the_volume(
    agent: Agent, world: World
) -> None:
    volume, pool = agent.cached("writeback")
    assert agent.lv(volume)["cache"]["mode"] == "writeback", "at once, on a redundant array"
    with world.guest("web12", volume):
        agent.do("cache.set", {"lv": volume, "migration_threshold": 4096})
        cache = agent.lv(volume)["cache"]
        assert (cache["mode"], cache["migration_threshold_sectors"]) == ("writeback", 4096)
        detach = {"lv": volume, "pool": pool, "dirty_limit_bytes": 0}
        world.make_dirty(volume)
        assert agent.lv(volume)["cache"]["dirty_bytes"] > 0
        assert agent.refused("cache.detach", detach) == "dirty"
        agent.do(
            "cache.flush", {"lv": volume, "dirty_limit_bytes": 0, "migration_threshold": 32768}
        )
        cache = agent.lv(volume)["cache"]
        assert (cache["dirty_bytes"], cache["policy"], cache["mode"]) == (0, "cleaner", "writeback")
        assert cache["lvm_policy"] == "cleaner"
        assert cache["migration_threshold_sectors"] == 32768
        back = {"lv": volume, "policy": "smq", "mode": "writethrough"}
        agent.do("cache.set", back)
        cache = agent.lv(volume)["cache"]
        assert (cache["policy"], cache["mode"]) == ("smq", "writethrough")
        with agent.unchanged():
            assert agent.do("cache.set", back)["commands"] == []
        agent.do("cache.detach", detach)
    assert agent.names() == {volume}


@pytest.mark.thorough
def test_a_bigger_cache_takes_over_while_a_guest_holds_the_volume(
    agent: Agent, world: World
) -> None:
    volume, old = agent.cached("writeback")
    before = agent.lv(volume)
    made = pool_args(volume[2:], size_bytes=2 * POOL_BYTES) | {"name": f"c-{new_key()}"}
    clean = {"lv": volume, "dirty_limit_bytes": 0}
    with world.guest("web12", volume):
        world.make_dirty(volume)
        calls = [
            ("pool.create", *agent.call("pool.create", made)),
            ("cache.flush", *agent.call("cache.flush", clean)),
            ("cache.detach", *agent.call("cache.detach", {**clean, "pool": old})),
            (
                "cache.attach",
                *agent.call(
                    "cache.attach", {"lv": volume, "pool": made["name"], "mode": "writeback"}
                ),
            ),
        ]
        with agent.unchanged():
            steps = agent.preview(*calls)
        assert [step["error"] for step in steps] == [None] * 4
        assert steps[3]["deferred"], "the old cache is still there"
        ran = [agent.do(verb, args)["commands"] for verb, args, _ in calls]
        assert [argvs(each) for each in ran] == [argvs(step["commands"]) for step in steps]
        after = agent.lv(volume)
        assert (after["uuid"], after["dev"]) == (before["uuid"], before["dev"])
        cache = after["cache"]
        assert (cache["pool"], cache["mode"], cache["policy"]) == (made["name"], "writeback", "smq")
        assert cache["size_bytes"] == 2 * POOL_BYTES
    assert not [name for name in agent.names() if name.startswith(old)]
