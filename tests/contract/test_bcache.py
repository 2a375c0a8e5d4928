"""cset.create, bcache.format, attach, set, detach, stop, cset.remove."""

from __future__ import annotations

import pytest

from storage.naming import new_key
from tests.contract.client import CSET_BYTES, MIB, VOLUME_BYTES, Agent, argvs, cset_args
from tests.contract.world import World

pytestmark = pytest.mark.thorough


def test_a_fresh_volume_is_formatted_and_given_a_cache_as_previewed(
    agent: Agent, world: World
) -> None:
    volume = agent.volume("bcache")
    lv = agent.lv(volume)
    assert "tiercel.format=bcache" in lv["tags"] and lv["bcache"] is None
    made = cset_args(volume[2:])
    uuid = made["cset_uuid"]
    wished = {"lv": volume, "cset_uuid": uuid, "cache_mode": "writeback"}
    wished |= {"sequential_cutoff_bytes": 8 * MIB}
    calls = [
        ("bcache.format", *agent.call("bcache.format", {"lv": volume})),
        ("cset.create", *agent.call("cset.create", made)),
        ("bcache.attach", *agent.call("bcache.attach", wished)),
    ]
    with agent.unchanged():
        steps = agent.preview(*calls)
    assert [step["error"] for step in steps] == [None, None, None]
    assert steps[2]["deferred"], "neither the backing device nor the cache set is there yet"
    ran = [agent.do(verb, args)["commands"] for verb, args, _ in calls]
    shown = [argvs(step["commands"]) for step in steps]
    assert [sorted(argvs(each)) for each in ran] == [sorted(each) for each in shown]
    assert all(command["rc"] == 0 for each in ran for command in each)
    with agent.unchanged():
        assert agent.do("bcache.attach", wished)["commands"] == []
    facts = agent.inventory()
    lvs = {lv["name"]: lv for lv in facts["lvs"]}
    bcache = lvs[volume]["bcache"]
    assert "tiercel.format=bcache" not in lvs[volume]["tags"]
    assert bcache["size_bytes"] == VOLUME_BYTES - 4 * MIB
    assert (bcache["cset_uuid"], bcache["state"], bcache["dirty_bytes"]) == (uuid, "clean", 0)
    assert (bcache["cache_mode"], bcache["sequential_cutoff_bytes"]) == ("writeback", 8 * MIB)
    (cset,) = facts["csets"]
    device = lvs[made["name"]]
    assert (cset["uuid"], cset["lv_uuid"], cset["device"]) == (
        uuid,
        device["uuid"],
        device["kname"],
    )
    assert (cset["size_bytes"], cset["bucket_bytes"]) == (CSET_BYTES, 512 << 10)
    assert cset["backing_count"] == 1
    assert device["segments"][0]["pvs"] == ["md0"]


def test_a_cache_comes_changes_and_goes_while_a_guest_holds_the_volume(
    agent: Agent, world: World
) -> None:
    volume = agent.backing()
    bcache = agent.lv(volume)["bcache"]
    assert bcache["device"].startswith("bcache")
    assert (bcache["cset_uuid"], bcache["state"]) == (None, "no cache")
    assert (bcache["cache_mode"], bcache["writeback_percent"]) == ("writethrough", 10)
    assert bcache["sequential_cutoff_bytes"] == 4 * MIB
    name, uuid = agent.cset(volume)
    with world.guest("db1", volume) as pid:
        wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
        agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
        lv = agent.lv(volume)
        (user,) = lv["users"]
        assert (user["kind"], user["name"], user["pid"]) == ("qemu", "db1", pid)
        bcache = lv["bcache"]
        assert (bcache["cset_uuid"], bcache["cache_mode"]) == (uuid, "writethrough")
        assert bcache["sequential_cutoff_bytes"] == 0
        change = {"lv": volume, "cache_mode": "writeback"}
        agent.do("bcache.set", change)
        assert agent.lv(volume)["bcache"]["cache_mode"] == "writeback"
        with agent.unchanged():
            assert agent.do("bcache.set", change)["commands"] == []
        world.make_dirty(volume)
        bcache = agent.lv(volume)["bcache"]
        assert bcache["state"] == "dirty" and bcache["dirty_bytes"] > 0
        agent.do("bcache.detach", {"lv": volume, "cset_uuid": uuid})
        bcache = agent.lv(volume)["bcache"]
        assert (bcache["state"], bcache["dirty_bytes"]) == ("no cache", 0)
        agent.do("cset.remove", {"name": name, "cset_uuid": uuid})
        assert agent.inventory()["csets"] == []
    agent.do("bcache.stop", {"lv": volume})
    (lv,) = agent.inventory()["lvs"]
    assert lv["bcache"] is None and lv["open_count"] == 0


def test_another_cache_set_takes_over_while_a_guest_holds_the_volume(
    agent: Agent, world: World
) -> None:
    volume = agent.backing()
    old, old_uuid = agent.cset(volume)
    attach = {"lv": volume, "cache_mode": "writeback", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {**attach, "cset_uuid": old_uuid})
    made = cset_args(volume[2:], size_bytes=2 * CSET_BYTES) | {"name": f"s-{new_key()}"}
    uuid = made["cset_uuid"]
    with world.guest("db1", volume):
        world.make_dirty(volume)
        calls = [
            ("cset.create", *agent.call("cset.create", made)),
            (
                "bcache.detach",
                *agent.call("bcache.detach", {"lv": volume, "cset_uuid": old_uuid}),
            ),
            ("bcache.attach", *agent.call("bcache.attach", {**attach, "cset_uuid": uuid})),
            ("cset.remove", *agent.call("cset.remove", {"name": old, "cset_uuid": old_uuid})),
        ]
        with agent.unchanged():
            steps = agent.preview(*calls)
        assert [step["error"] for step in steps] == [None] * 4
        ran = [agent.do(verb, args)["commands"] for verb, args, _ in calls]
        assert [argvs(each) for each in ran] == [argvs(step["commands"]) for step in steps]
        facts = agent.inventory()
        bcache = next(lv for lv in facts["lvs"] if lv["name"] == volume)["bcache"]
        assert (bcache["cset_uuid"], bcache["cache_mode"]) == (uuid, "writeback")
        assert [cset["uuid"] for cset in facts["csets"]] == [uuid]
        assert facts["csets"][0]["size_bytes"] == 2 * CSET_BYTES
    assert agent.names() == {volume, made["name"]}


def test_dirty_data_is_flushed_and_the_cache_stays(agent: Agent, world: World) -> None:
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    attach = {"lv": volume, "cache_mode": "writeback", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {**attach, "cset_uuid": uuid})
    with world.guest("db1", volume):
        agent.do("bcache.set", {"lv": volume, "writeback_percent": 40})
        assert agent.lv(volume)["bcache"]["writeback_percent"] == 40
        world.make_dirty(volume)
        assert agent.lv(volume)["bcache"]["dirty_bytes"] > 0
        flush = {"lv": volume, "dirty_limit_bytes": 0, "writeback_percent": 20}
        outcome = agent.do("bcache.flush", flush)
        progress = outcome["progress"]
        assert progress["done_bytes"] == progress["total_bytes"] > 0
        assert progress["left_s"] == 0
        bcache = agent.lv(volume)["bcache"]
        assert (bcache["dirty_bytes"], bcache["writeback_percent"]) == (0, 20)
        assert (bcache["cset_uuid"], bcache["cache_mode"]) == (uuid, "writethrough")
        with agent.unchanged():
            assert agent.do("bcache.flush", flush)["commands"] == []
        agent.do("bcache.set", {"lv": volume, "cache_mode": "writeback"})
