"""What the agent refuses, with which code; each time the host stays as it was."""

from __future__ import annotations

import uuid

import pytest

from tests.contract.client import CSET_BYTES, MIB, VOLUME_BYTES, Agent, cset_args, pool_args
from tests.contract.world import World

pytestmark = pytest.mark.thorough

OTHER_UUID = "AAAAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA"
KEY = "aaaaaaaa"


def test_what_the_local_policy_does_not_allow_is_refused(agent: Agent, world: World) -> None:
    args, expect = agent.call("volume.create", agent.volume_args())
    with agent.unchanged():
        world.allow([])
        error = agent.ask("volume.create", args, expect)["error"]
        assert error["code"] == "observe_only"
        assert "allow-vg vg0" in error["correction"]
        world.allow(["vg1"])
        assert agent.ask("volume.create", args, expect)["error"]["code"] == "vg_not_allowed"
        world.allow(["vg0"])


def test_what_cannot_be_made_is_refused(agent: Agent) -> None:
    odd = agent.volume_args(size_bytes=VOLUME_BYTES + 512)
    with agent.unchanged():
        assert agent.refused("volume.create", odd) == "bad_request"
        assert agent.refused("volume.create", agent.volume_args(pvs=["sdz"])) == "not_found"
        small = cset_args(KEY, size_bytes=CSET_BYTES // 2)
        assert agent.refused("cset.create", small) == "unsupported"
        stale = {"vg_uuid": OTHER_UUID}
        assert agent.refused("volume.create", agent.volume_args(), **stale) == "stale"


def test_what_was_said_to_be_unknown_is_not_run_when_it_comes_after_all(agent: Agent) -> None:
    op = str(uuid.uuid4())
    with agent.unchanged():
        reply = agent.ask("op.get", {"op": op, "after": 0})
        assert reply["error"]["code"] == "not_found"
        reply = agent.ask("volume.create", *agent.call("volume.create", agent.volume_args()), id=op)
        assert reply["error"]["code"] == "op_conflict"


def test_what_is_not_ours_or_not_as_it_was_seen_is_refused(agent: Agent, world: World) -> None:
    volume = agent.volume()
    pool = agent.pool(volume)
    world.add_lv("web12", VOLUME_BYTES)
    world.add_lv(f"v-{KEY}", VOLUME_BYTES)
    attach = {"lv": volume, "pool": pool, "mode": "writethrough"}
    with agent.unchanged():
        assert agent.refused("cache.attach", {**attach, "lv": "web12"}) == "not_ours"
        assert agent.refused("cache.attach", attach, lv_uuid=OTHER_UUID) == "stale"
        assert agent.refused("cache.attach", attach, size_bytes=4 * MIB) == "stale"
        assert agent.refused("cache.attach", {**attach, "pool": "c-aaaaaaaa"}) == "not_found"
        assert agent.refused("volume.create", agent.volume_args(KEY)) == "already_exists"
        assert agent.refused("bcache.format", {"lv": volume}) == "not_fresh"


def test_a_volume_in_use_is_neither_formatted_nor_stopped(agent: Agent, world: World) -> None:
    volume = agent.volume("bcache")
    args, expect = agent.call("bcache.format", {"lv": volume})
    with agent.unchanged():
        with world.guest("web12", volume):
            error = agent.ask("bcache.format", args, expect)["error"]
            assert error["code"] == "in_use" and "web12" in error["message"]
        world.format(volume)
        assert agent.refused("bcache.format", {"lv": volume}) == "not_fresh"
    world.unformat(volume)
    agent.do("bcache.format", {"lv": volume})
    pool = agent.pool(volume)
    with agent.unchanged():
        with world.guest("web12", volume):
            assert agent.refused("bcache.stop", {"lv": volume}) == "in_use"
        with world.mounted(volume):
            assert agent.refused("bcache.stop", {"lv": volume}) == "in_use"
        unknown = {"lv": volume, "cset_uuid": str(uuid.uuid4()), "cache_mode": "writethrough"}
        cutoff = {"sequential_cutoff_bytes": 0}
        assert agent.refused("bcache.attach", {**unknown, **cutoff}) == "not_found"
        attach = {"lv": volume, "pool": pool, "mode": "writethrough"}
        assert agent.refused("cache.attach", attach) == "unsupported"


def test_a_full_group_has_no_space(agent: Agent, world: World) -> None:
    world.fill()
    with agent.unchanged():
        assert agent.refused("volume.create", agent.volume_args()) == "no_space"
        assert agent.refused("pool.create", pool_args(KEY)) == "no_space"
        assert agent.refused("cset.create", cset_args(KEY)) == "no_space"


def test_writeback_on_a_single_disk_is_not_redundant(agent: Agent, world: World) -> None:
    volume = agent.volume()
    pool = agent.pool(volume, pv=world.slow[1])
    attach = {"lv": volume, "pool": pool, "mode": "writeback"}
    assert agent.refused("cache.attach", attach) == "not_redundant"
    agent.do("cache.attach", {**attach, "mode": "writethrough"})
    agent.do("pool.create", {**pool_args(volume[2:]), "name": f"c-{KEY}"})
    with agent.unchanged():
        change = {"lv": volume, "mode": "writeback"}
        assert agent.refused("cache.set", change) == "not_redundant"
        second = {**attach, "pool": f"c-{KEY}"}
        assert agent.refused("cache.attach", second) == "already_exists"


def test_bcache_writeback_on_a_single_disk_is_not_redundant(agent: Agent, world: World) -> None:
    volume = agent.backing()
    _, cset_uuid = agent.cset(volume, pv=world.slow[0])
    attach = {"lv": volume, "cset_uuid": cset_uuid, "sequential_cutoff_bytes": 0}
    with agent.unchanged():
        writeback = {**attach, "cache_mode": "writeback"}
        assert agent.refused("bcache.attach", writeback) == "not_redundant"


def test_a_missing_program_is_named(agent: Agent, world: World) -> None:
    pool = agent.call("pool.create", pool_args(KEY))
    cset = agent.call("cset.create", cset_args(KEY))
    with agent.unchanged():
        for tool, verb, request in (
            ("lvcreate", "pool.create", pool),
            ("cache_check", "pool.create", pool),
            ("make-bcache", "cset.create", cset),
        ):
            with world.without(tool):
                error = agent.ask(verb, *request)["error"]
            assert error["code"] == "missing_tool", tool
            assert "Install the package" in error["correction"]
        with world.without("lvcreate"):
            problems = {problem["code"] for problem in agent.data("hello")["problems"]}
            assert "no_lvm2" in problems
            assert agent.ask("inventory")["error"]["code"] == "missing_tool"
            assert agent.ask("sample")["ok"]
