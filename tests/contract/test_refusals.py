"""What the agent refuses, with which code; each time the host stays as it was."""

from __future__ import annotations

import uuid

import pytest

from storage.naming import new_key
from tests.contract.client import (
    CSET_BYTES,
    MIB,
    VOLUME_BYTES,
    Agent,
    cset_args,
    pool_args,
    volume_args,
)
from tests.contract.world import World

OTHER_UUID = "AAAAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA"


def test_an_observe_only_host_changes_nothing(agent: Agent, world: World) -> None:
    world.allow([])
    error = agent.refused("volume.create", volume_args(new_key()))
    assert error["code"] == "observe_only"
    assert "allow-vg vg0" in error["correction"]


def test_a_group_the_policy_does_not_name_is_left_alone(agent: Agent, world: World) -> None:
    world.allow(["vg1"])
    assert agent.refused("volume.create", volume_args(new_key()))["code"] == "vg_not_allowed"


def test_a_foreign_volume_is_not_ours(agent: Agent, world: World) -> None:
    world.add_lv("web12", VOLUME_BYTES)
    pool = agent.pool("v-" + new_key())
    args = {"lv": "web12", "pool": pool, "mode": "writethrough"}
    assert agent.refused("cache.attach", args)["code"] == "not_ours"


def test_a_name_that_means_another_volume_now_is_stale(agent: Agent) -> None:
    volume = agent.volume()
    pool = agent.pool(volume)
    args = {"lv": volume, "pool": pool, "mode": "writethrough"}
    assert agent.refused("cache.attach", args, lv_uuid=OTHER_UUID)["code"] == "stale"
    assert agent.refused("cache.attach", args, vg_uuid=OTHER_UUID)["code"] == "stale"
    assert agent.refused("cache.attach", args, size_bytes=4 * MIB)["code"] == "stale"


def test_what_is_not_there_is_not_found(agent: Agent) -> None:
    volume = agent.volume()
    args = {"lv": volume, "pool": "c-aaaaaaaa", "mode": "writethrough"}
    assert agent.refused("cache.attach", args)["code"] == "not_found"
    assert agent.refused("volume.create", volume_args(new_key(), pv="sdz"))["code"] == "not_found"
    reply = agent.ask("op.get", {"op": str(uuid.uuid4()), "after": 0})
    assert reply["error"]["code"] == "not_found"


def test_a_cache_set_that_is_not_registered_is_not_found(agent: Agent) -> None:
    volume = agent.backing()
    args = {"lv": volume, "cset_uuid": str(uuid.uuid4()), "cache_mode": "writethrough"}
    cutoff = {"sequential_cutoff_bytes": 0}
    assert agent.refused("bcache.attach", {**args, **cutoff})["code"] == "not_found"


def test_a_volume_that_a_guest_holds_is_not_formatted(agent: Agent, world: World) -> None:
    volume = agent.volume("bcache", pv="sdd")
    with world.guest("web12", volume):
        error = agent.refused("bcache.format", {"lv": volume})
        assert error["code"] == "in_use"
        assert "web12" in error["message"]


def test_a_volume_that_a_guest_holds_is_not_stopped(agent: Agent, world: World) -> None:
    volume = agent.backing()
    with world.guest("web12", volume):
        assert agent.refused("bcache.stop", {"lv": volume})["code"] == "in_use"


def test_a_mounted_volume_is_not_stopped(agent: Agent, world: World) -> None:
    volume = agent.backing()
    with world.mounted(volume):
        assert agent.refused("bcache.stop", {"lv": volume})["code"] == "in_use"


def test_a_volume_with_data_is_not_formatted(agent: Agent, world: World) -> None:
    plain = agent.volume()
    assert agent.refused("bcache.format", {"lv": plain})["code"] == "not_fresh"
    fresh = agent.volume("bcache", pv="sdd")
    world.format(fresh)
    assert agent.refused("bcache.format", {"lv": fresh})["code"] == "not_fresh"


def test_a_full_group_has_no_space(agent: Agent, world: World) -> None:
    volume = agent.volume()
    world.fill("md0")
    world.fill("sdc")
    world.fill("sdd")
    key = volume.removeprefix("v-")
    assert agent.refused("volume.create", volume_args(new_key()))["code"] == "no_space"
    assert agent.refused("pool.create", pool_args(key))["code"] == "no_space"
    assert agent.refused("cset.create", cset_args(key))["code"] == "no_space"


def test_writeback_on_a_single_disk_is_not_redundant(agent: Agent) -> None:
    volume = agent.volume()
    pool = agent.pool(volume, pv="sdd")
    args = {"lv": volume, "pool": pool, "mode": "writeback"}
    assert agent.refused("cache.attach", args)["code"] == "not_redundant"
    agent.do("cache.attach", {**args, "mode": "writethrough"})
    change = {"lv": volume, "mode": "writeback"}
    assert agent.refused("cache.set", change)["code"] == "not_redundant"


def test_bcache_writeback_on_a_single_disk_is_not_redundant(agent: Agent) -> None:
    volume = agent.backing()
    _, cset_uuid = agent.cset(volume, pv="sdc")
    args = {"lv": volume, "cset_uuid": cset_uuid, "sequential_cutoff_bytes": 0}
    refused = agent.refused("bcache.attach", {**args, "cache_mode": "writeback"})
    assert refused["code"] == "not_redundant"


def test_a_cache_set_of_too_few_buckets_is_unsupported(agent: Agent) -> None:
    args = cset_args(new_key(), size_bytes=CSET_BYTES // 2)
    assert agent.refused("cset.create", args)["code"] == "unsupported"


def test_a_size_that_is_no_whole_number_of_extents_is_refused(agent: Agent) -> None:
    args = volume_args(new_key(), size_bytes=VOLUME_BYTES + 512)
    assert agent.refused("volume.create", args)["code"] == "bad_request"


def test_a_name_that_is_taken_by_something_else_already_exists(agent: Agent, world: World) -> None:
    key = new_key()
    world.add_lv(f"v-{key}", VOLUME_BYTES)
    assert agent.refused("volume.create", volume_args(key))["code"] == "already_exists"


def test_a_second_cache_is_refused(agent: Agent) -> None:
    volume, _ = agent.cached()
    other = "c-" + new_key()
    agent.do("pool.create", {**pool_args(volume[2:]), "name": other})
    args = {"lv": volume, "pool": other, "mode": "writethrough"}
    assert agent.refused("cache.attach", args)["code"] == "already_exists"


def test_an_lvm_cache_before_a_bcache_volume_is_unsupported(agent: Agent) -> None:
    volume = agent.backing()
    pool = agent.pool(volume)
    args = {"lv": volume, "pool": pool, "mode": "writethrough"}
    assert agent.refused("cache.attach", args)["code"] == "unsupported"


@pytest.mark.parametrize(
    ("tool", "verb"), [("lvcreate", "pool.create"), ("cache_check", "pool.create")]
)
def test_a_missing_program_is_named(agent: Agent, world: World, tool: str, verb: str) -> None:
    args, expect = agent.call(verb, pool_args(new_key()))
    before = agent.state()
    with world.without(tool):
        reply = agent.ask(verb, args, expect)
    assert reply["error"]["code"] == "missing_tool"
    assert "Install the package" in reply["error"]["correction"]
    assert agent.state() == before


def test_a_host_without_bcache_tools_makes_no_cache_set(agent: Agent, world: World) -> None:
    args, expect = agent.call("cset.create", cset_args(new_key()))
    before = agent.state()
    with world.without("make-bcache"):
        reply = agent.ask("cset.create", args, expect)
    assert reply["error"]["code"] == "missing_tool"
    assert agent.state() == before


def test_a_host_without_lvm2_says_so(agent: Agent, world: World) -> None:
    with world.without("lvcreate"):
        problems = agent.data("hello")["problems"]
        reply = agent.ask("inventory")
        assert agent.ask("sample")["ok"]
    assert "no_lvm2" in {problem["code"] for problem in problems}
    assert reply["error"]["code"] == "missing_tool"


def test_a_locked_group_is_busy(agent: Agent, world: World) -> None:
    args, expect = agent.call("volume.create", volume_args(new_key()))
    with world.vg_lock():
        reply = agent.ask("volume.create", args, expect)
    assert reply["error"]["code"] == "busy"
    assert agent.names() == set()
