"""pool.create, cache.attach, cache.set, cache.flush, cache.detach, pool.remove."""

from __future__ import annotations

import pytest

from storage.space import pool_bytes
from tests.contract.client import MIB, POOL_BYTES, Agent, argvs, pool_args
from tests.contract.world import World

MODES = ("writethrough", "writeback")


def free_bytes(agent: Agent, pv: str = "md0") -> int:
    found = next(each for each in agent.inventory()["pvs"] if each["name"] == pv)
    return int(found["free_bytes"])


def test_a_pool_takes_the_room_that_was_foretold(agent: Agent) -> None:
    volume = agent.volume()
    before = free_bytes(agent)
    pool = agent.pool(volume)
    needed = pool_bytes(POOL_BYTES, 64, 4 * MIB, 0)
    assert before - free_bytes(agent) == needed
    lv = agent.lv(pool)
    assert lv["layout"] == ["cache", "pool"] and not lv["active"]
    assert lv["size_bytes"] == POOL_BYTES
    assert sorted(lv["tags"]) == ["tiercel", f"tiercel.volume={volume[2:]}"]


def test_a_pool_that_is_not_used_is_removed_and_frees_its_room(agent: Agent) -> None:
    volume = agent.volume()
    before = free_bytes(agent)
    pool = agent.pool(volume)
    agent.do("pool.remove", {"pool": pool})
    assert free_bytes(agent) == before
    assert agent.names() == {volume}


@pytest.mark.parametrize("mode", MODES)
def test_a_cache_comes_and_goes_while_a_guest_holds_the_volume(
    agent: Agent, world: World, mode: str
) -> None:
    volume = agent.volume()
    before = agent.lv(volume)
    with world.guest("web12", volume):
        pool = agent.pool(volume)
        attach = {"lv": volume, "pool": pool, "mode": mode, "migration_threshold": 8192}
        agent.do("cache.attach", attach)
        cached = agent.lv(volume)
        assert (cached["uuid"], cached["dev"]) == (before["uuid"], before["dev"])
        cache = cached["cache"]
        assert (cache["pool"], cache["mode"], cache["policy"]) == (pool, mode, "smq")
        assert cache["size_bytes"] == POOL_BYTES and cache["chunk_bytes"] == 65536
        assert cache["migration_threshold_sectors"] == 8192
        assert not cache["needs_check"] and not cache["failed"]
        detach = {"lv": volume, "pool": pool, "dirty_limit_bytes": 64 * MIB}
        agent.do("cache.detach", detach)
        after = agent.lv(volume)
        assert after["cache"] is None
        assert (after["uuid"], after["dev"]) == (before["uuid"], before["dev"])
        assert agent.names() == {volume}


def test_attaching_twice_runs_nothing_the_second_time(agent: Agent) -> None:
    volume, pool = agent.cached()
    with agent.unchanged():
        args = {"lv": volume, "pool": pool, "mode": "writethrough"}
        assert agent.do("cache.attach", args)["commands"] == []


def test_the_steps_of_a_cache_run_exactly_what_their_preview_showed(agent: Agent) -> None:
    volume = agent.volume()
    pool = f"c-{volume[2:]}"
    create = agent.call("pool.create", pool_args(volume[2:]))
    attach = agent.call("cache.attach", {"lv": volume, "pool": pool, "mode": "writeback"})
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


def test_mode_and_threshold_change_online(agent: Agent, world: World) -> None:
    volume, _ = agent.cached()
    with world.guest("web12", volume):
        agent.do("cache.set", {"lv": volume, "mode": "writeback", "migration_threshold": 4096})
        cache = agent.lv(volume)["cache"]
        assert (cache["mode"], cache["migration_threshold_sectors"]) == ("writeback", 4096)
        agent.do("cache.set", {"lv": volume, "mode": "writethrough"})
        assert agent.lv(volume)["cache"]["mode"] == "writethrough"
        with agent.unchanged():
            outcome = agent.do("cache.set", {"lv": volume, "mode": "writethrough"})
        assert outcome["commands"] == []


def test_dirty_data_is_flushed_before_a_mode_change_and_a_detach(
    agent: Agent, world: World
) -> None:
    volume, pool = agent.cached("writeback", size_bytes=256 * MIB)
    agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 0})
    key = volume.removeprefix("v-")
    agent.do("pool.create", pool_args(key, size_bytes=256 * MIB))
    agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writeback"})
    world.make_dirty(volume, 128 * MIB)
    dirty = agent.lv(volume)["cache"]["dirty_bytes"]
    assert dirty > 8 * MIB
    detach = {"lv": volume, "pool": pool, "dirty_limit_bytes": 4 * MIB}
    assert agent.refused("cache.detach", detach)["code"] == "dirty"
    agent.do("cache.flush", {"lv": volume, "dirty_limit_bytes": 0})
    cache = agent.lv(volume)["cache"]
    assert (cache["dirty_bytes"], cache["policy"], cache["mode"]) == (0, "cleaner", "writeback")
    agent.do("cache.set", {"lv": volume, "policy": "smq", "mode": "writethrough"})
    cache = agent.lv(volume)["cache"]
    assert (cache["policy"], cache["mode"]) == ("smq", "writethrough")
    agent.do("cache.detach", detach)
    assert agent.lv(volume)["cache"] is None
