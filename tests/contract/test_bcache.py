"""cset.create, bcache.format, attach, set, detach, stop, cset.remove."""

from __future__ import annotations

import pytest

from tests.contract.client import CSET_BYTES, MIB, VOLUME_BYTES, Agent, argvs, cset_args
from tests.contract.world import World

ATTACH = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 4 * MIB}


def test_a_formatted_volume_has_a_device_and_no_cache_yet(agent: Agent) -> None:
    volume = agent.backing()
    lv = agent.lv(volume)
    bcache = lv["bcache"]
    assert bcache["device"].startswith("bcache")
    assert (bcache["cset_uuid"], bcache["state"]) == (None, "no cache")
    assert bcache["size_bytes"] == VOLUME_BYTES - 4 * MIB
    assert (bcache["cache_mode"], bcache["dirty_bytes"]) == ("writethrough", 0)
    assert (bcache["sequential_cutoff_bytes"], bcache["writeback_percent"]) == (4 * MIB, 10)
    assert "tiercel.format=bcache" not in lv["tags"]
    assert lv["users"] == []


def test_a_cache_set_has_the_size_and_uuid_that_were_asked_for(agent: Agent) -> None:
    volume = agent.backing()
    name, uuid = agent.cset(volume)
    (cset,) = agent.inventory()["csets"]
    lv = agent.lv(name)
    assert cset["uuid"] == uuid
    assert (cset["lv_uuid"], cset["device"]) == (lv["uuid"], lv["kname"])
    assert (cset["size_bytes"], cset["bucket_bytes"]) == (CSET_BYTES, 512 << 10)
    assert cset["backing_count"] == 0
    assert lv["segments"][0]["pvs"] == ["md0"]


@pytest.mark.parametrize("mode", ["writethrough", "writeback"])
def test_a_cache_comes_changes_and_goes_while_a_guest_holds_the_volume(
    agent: Agent, world: World, mode: str
) -> None:
    volume = agent.backing()
    name, uuid = agent.cset(volume)
    with world.guest("db1", volume) as pid:
        cutoff = {"sequential_cutoff_bytes": 0}
        agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, "cache_mode": mode, **cutoff})
        lv = agent.lv(volume)
        assert lv["users"] == [{"kind": "qemu", "name": "db1", "disk": "vda", "pid": pid}]
        bcache = lv["bcache"]
        assert (bcache["cset_uuid"], bcache["state"]) == (uuid, "clean")
        assert (bcache["cache_mode"], bcache["sequential_cutoff_bytes"]) == (mode, 0)
        assert agent.inventory()["csets"][0]["backing_count"] == 1
        change = {"cache_mode": "writearound", "sequential_cutoff_bytes": 8 * MIB}
        agent.do("bcache.set", {"lv": volume, **change})
        bcache = agent.lv(volume)["bcache"]
        assert (bcache["cache_mode"], bcache["sequential_cutoff_bytes"]) == ("writearound", 8 * MIB)
        agent.do("bcache.detach", {"lv": volume, "cset_uuid": uuid})
        assert agent.lv(volume)["bcache"]["state"] == "no cache"
        agent.do("cset.remove", {"name": name, "cset_uuid": uuid})
        assert agent.inventory()["csets"] == []
        assert agent.names() == {volume}


def test_a_detach_writes_dirty_data_first(agent: Agent, world: World) -> None:
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    args = {"lv": volume, "cset_uuid": uuid, "cache_mode": "writeback"}
    agent.do("bcache.attach", {**args, "sequential_cutoff_bytes": 0})
    world.make_dirty(volume, 16 * MIB)
    bcache = agent.lv(volume)["bcache"]
    assert bcache["state"] == "dirty" and bcache["dirty_bytes"] > 0
    agent.do("bcache.detach", {"lv": volume, "cset_uuid": uuid})
    bcache = agent.lv(volume)["bcache"]
    assert (bcache["state"], bcache["dirty_bytes"]) == ("no cache", 0)


def test_a_volume_that_nobody_uses_is_stopped(agent: Agent) -> None:
    volume = agent.backing()
    agent.do("bcache.stop", {"lv": volume})
    assert agent.lv(volume)["bcache"] is None
    assert agent.lv(volume)["open_count"] == 0


def test_attaching_twice_runs_nothing_the_second_time(agent: Agent) -> None:
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    args = {"lv": volume, "cset_uuid": uuid, **ATTACH}
    agent.do("bcache.attach", args)
    with agent.unchanged():
        assert agent.do("bcache.attach", args)["commands"] == []


def test_the_steps_of_a_cache_run_exactly_what_their_preview_showed(agent: Agent) -> None:
    volume = agent.volume("bcache", pv="sdd")
    args = cset_args(volume[2:])
    uuid = args["cset_uuid"]
    calls = [
        ("bcache.format", *agent.call("bcache.format", {"lv": volume})),
        ("cset.create", *agent.call("cset.create", args)),
        (
            "bcache.attach",
            *agent.call("bcache.attach", {"lv": volume, "cset_uuid": uuid, **ATTACH}),
        ),
    ]
    with agent.unchanged():
        steps = agent.preview(*calls)
    assert [step["error"] for step in steps] == [None, None, None]
    assert steps[2]["deferred"], "neither the backing device nor the cache set is there yet"
    ran = [agent.do(verb, given)["commands"] for verb, given, _ in calls]
    shown = [argvs(step["commands"]) for step in steps]
    assert [sorted(argvs(each)) for each in ran] == [sorted(each) for each in shown]
    assert all(command["rc"] == 0 for each in ran for command in each)
