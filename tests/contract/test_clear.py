"""volume.clear: what a volume was moved away from or cached on cannot be read by others."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from tests.contract.client import CSET_BYTES, MIB, POOL_BYTES, VOLUME_BYTES, Agent
from tests.contract.world import World

pytestmark = pytest.mark.thorough

LEFT = "tiercel.left="
EXTENT_BYTES = 4 * MIB
METADATA_BYTES = 8 * MIB
ABORTED_BYTES = 1024 * MIB


def left(agent: Agent, volume: str) -> list[str]:
    return [tag for tag in agent.lv(volume)["tags"] if tag.startswith(LEFT)]


def moved(agent: Agent, world: World) -> str:
    """A volume with data that lies on SSD now, and lay on the first slow disk."""
    volume = agent.volume()
    world.scribble(volume)
    agent.do("volume.move", {"lv": volume, "from_pvs": [world.slow[0]], "to_pvs": ["md0"]})
    return volume


def clear(agent: Agent, volume: str) -> list[str]:
    """The programs that ran."""
    outcome = agent.do("volume.clear", {"lv": volume, "volume_key": volume[2:]})
    assert left(agent, volume) == [] and f"w-{volume[2:]}" not in agent.names()
    return [command["argv"][0] for command in outcome["commands"]]


def test_what_a_volume_was_moved_away_from_is_cleared(agent: Agent, world: World) -> None:
    volume = moved(agent, world)
    assert len(left(agent, volume)) == 1, "noted before it went"
    assert clear(agent, volume) == ["lvcreate", "blkdiscard", "lvchange", "lvremove"]
    world.take_lv("next", VOLUME_BYTES)
    assert world.reads_as_zeros("next")
    assert not world.reads_as_zeros(volume), "its own data is where it went"
    with agent.unchanged():
        assert clear(agent, volume) == []


def test_what_an_aborted_move_had_copied_is_cleared(agent: Agent, world: World) -> None:
    # The kernel copies on while LVM ends: so much that it does not come to the end.
    volume = agent.volume(size_bytes=ABORTED_BYTES)
    world.scribble(volume)
    world.slow_moves()
    slow = world.slow[0]
    op = agent.start("volume.move", {"lv": volume, "from_pvs": [slow], "to_pvs": ["md0"]})
    until_copied(agent, op)
    agent.data("op.abort", {"op": op})
    assert agent.outcome(op)["error"]["code"] == "aborted"
    stop = start_when_free(agent, "move.abort", {"lv": volume, "pv": slow})
    assert agent.outcome(stop)["state"] == "done"
    assert [segment["pvs"] for segment in agent.lv(volume)["segments"]] == [[slow]]
    assert any("/" in tag for tag in left(agent, volume)), "noted before it went"
    clear(agent, volume)
    world.take_lv("next", VOLUME_BYTES, "md0")
    assert world.reads_as_zeros("next")
    assert not world.reads_as_zeros(volume), "its own data stayed where it was"


def start_when_free(agent: Agent, verb: str, args: Mapping[str, object]) -> str:
    """The operation, once LVM has ended the command that was stopped."""
    end = time.monotonic() + 60
    while True:
        reply = agent.ask(verb, *agent.call(verb, args))
        if reply["ok"]:
            return str(reply["data"]["op"])
        assert reply["error"]["code"] == "busy" and time.monotonic() < end, reply["error"]
        time.sleep(agent.world.poll_seconds)


def until_copied(agent: Agent, op: str, deadline_seconds: float = 180.0) -> None:
    end = time.monotonic() + deadline_seconds
    while time.monotonic() < end:
        outcome = agent.data("op.get", {"op": op})
        assert outcome["state"] == "running", "the move is over before it could be stopped"
        if outcome["progress"] and outcome["progress"]["done_bytes"]:
            return
        time.sleep(0.2)
    raise AssertionError("nothing was copied")


def test_what_was_cached_is_cleared(agent: Agent, world: World) -> None:
    volume, pool = agent.cached()
    agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 64 * MIB})
    places = [tag.rpartition("/")[2].split("-") for tag in left(agent, volume)]
    noted = sum(int(last) - int(first) + 1 for first, last in places) * EXTENT_BYTES
    assert noted == POOL_BYTES + METADATA_BYTES, "all of the pool"
    outcome = agent.do("volume.clear", {"lv": volume, "volume_key": volume[2:]})
    assert outcome["progress"]["total_bytes"] == noted
    assert left(agent, volume) == [] and agent.names() == {volume}


def test_what_an_unused_pool_held_is_noted_on_its_volume(agent: Agent, world: World) -> None:
    volume, other = agent.volume(), agent.volume()
    pool = agent.pool(volume)
    with agent.unchanged():
        assert agent.refused("pool.remove", {"pool": pool, "lv": other}) == "not_ours"
    agent.do("pool.remove", {"pool": pool, "lv": volume})
    assert left(agent, volume)
    clear(agent, volume)


def test_a_cache_device_is_cleared_before_it_is_given_back(agent: Agent, world: World) -> None:
    volume = agent.backing()
    name, uuid = agent.cset(volume)
    outcome = agent.do("cset.remove", {"name": name, "cset_uuid": uuid})
    ran = [command["argv"][0] for command in outcome["commands"]]
    assert ran == ["write", "wipefs", "blkdiscard", "lvremove"]
    world.take_lv("next", CSET_BYTES // 8, "md0")
    assert world.reads_as_zeros("next")


def test_what_a_killed_try_reserved_is_cleared_and_given_back(agent: Agent, world: World) -> None:
    volume = moved(agent, world)
    key = volume[2:]
    tags = ["tiercel", f"tiercel.volume={key}", "tiercel.made=left", "tiercel.zeroing"]
    world.add_lv(f"w-{key}", VOLUME_BYTES, tags=tags)
    assert not world.reads_as_zeros(f"w-{key}")
    assert clear(agent, volume) == ["blkdiscard", "lvchange", "lvremove"]
    world.take_lv("next", VOLUME_BYTES)
    assert world.reads_as_zeros("next")


def test_what_another_has_taken_meanwhile_is_left_alone(agent: Agent, world: World) -> None:
    volume = moved(agent, world)
    world.take_lv("next", VOLUME_BYTES // 2)
    world.scribble("next")
    clear(agent, volume)
    assert not world.reads_as_zeros("next")
    world.take_lv("more", VOLUME_BYTES // 2)
    assert world.reads_as_zeros("more")


def test_an_lv_of_that_name_that_is_not_ours_is_not_cleared(agent: Agent, world: World) -> None:
    volume = moved(agent, world)
    world.add_lv(f"w-{volume[2:]}", VOLUME_BYTES)
    with agent.unchanged():
        asked = {"lv": volume, "volume_key": volume[2:]}
        assert agent.refused("volume.clear", asked) == "already_exists"


def test_root_decides_whether_anything_is_cleared(agent: Agent, world: World) -> None:
    world.allow(["vg0"], clear_freed=False)
    volume = moved(agent, world)
    assert left(agent, volume) == []
    with agent.unchanged():
        assert clear(agent, volume) == []
