"""volume.move: the extents of one volume go to other disks while a guest holds it."""

from __future__ import annotations

import pytest

from tests.contract.client import VOLUME_BYTES, Agent, argvs
from tests.contract.world import World

pytestmark = pytest.mark.thorough


def test_a_held_volume_goes_to_ssd_and_back(agent: Agent, world: World) -> None:
    volume = agent.volume()
    world.scribble(volume)
    slow = world.slow[0]
    there = {"lv": volume, "from_pvs": [slow], "to_pvs": ["md0"]}
    args, expect = agent.call("volume.move", there)
    (step,) = agent.preview(("volume.move", args, expect))
    assert step["error"] is None
    with world.guest("web12", volume):
        outcome = agent.do("volume.move", there)
        lv = agent.lv(volume)
        assert [segment["pvs"] for segment in lv["segments"]] == [["md0"]]
        assert argvs(outcome["commands"]) == argvs(step["commands"])
        with agent.unchanged():
            assert agent.do("volume.move", there)["commands"] == []
        agent.do("volume.move", {"lv": volume, "from_pvs": ["md0"], "to_pvs": [slow]})
    assert agent.lv(volume)["size_bytes"] == VOLUME_BYTES
    assert [segment["pvs"] for segment in agent.lv(volume)["segments"]] == [[slow]]
    assert not world.reads_as_zeros(volume)
    assert [each["name"] for each in agent.inventory()["lvs"]] == [volume]


def test_a_bcache_volume_moves_under_its_device(agent: Agent, world: World) -> None:
    backing = agent.backing()
    slow = world.slow[1]
    with world.guest("web12", backing):
        agent.do("volume.move", {"lv": backing, "from_pvs": [slow], "to_pvs": ["md0"]})
    lv = agent.lv(backing)
    assert lv["segments"][0]["pvs"] == ["md0"] and lv["bcache"]["device"]


def test_what_cannot_move_is_refused(agent: Agent, world: World) -> None:
    cached, _ = agent.cached()
    other = agent.volume()
    slow = world.slow[0]
    with agent.unchanged():
        move = {"lv": cached, "from_pvs": [slow], "to_pvs": ["md0"]}
        assert agent.refused("volume.move", move) == "unsupported"
        same = {"lv": other, "from_pvs": [slow], "to_pvs": [slow]}
        assert agent.refused("volume.move", same) == "bad_request"
    world.fill()
    with agent.unchanged():
        move = {"lv": other, "from_pvs": [slow], "to_pvs": ["md0"]}
        assert agent.refused("volume.move", move) == "no_space"
        nothing = {"lv": other, "pv": slow}
        assert agent.do("move.abort", nothing)["commands"] == []
