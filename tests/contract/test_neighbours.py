"""What LVM says of a group and its disks, and what a person at a terminal has it do."""

from __future__ import annotations

import pytest

from tests.contract.client import MIB, Agent
from tests.contract.world import World

pytestmark = pytest.mark.thorough


def test_a_group_says_whose_it_is_and_how_much_more_can_be_written_about_it(agent: Agent) -> None:
    vg = agent.vg()
    assert (vg["sharing"], vg["alone"], vg["lock_type"], vg["system_id"]) == ([], False, "", "")
    assert (vg["exported"], vg["clustered"], vg["partial"]) == (False, False, False)
    assert vg["metadata_bytes"] == 522240
    before = vg["metadata_free_bytes"]
    assert 500_000 < before < 522_240
    agent.cached()
    taken = before - agent.vg()["metadata_free_bytes"]
    assert 1000 < taken <= 3000


def test_a_disk_that_root_has_barred_gives_nothing(agent: Agent, world: World) -> None:
    with world.barred(world.slow[0]):
        pvs = {pv["name"]: pv for pv in agent.inventory()["pvs"]}
        barred = pvs[world.slow[0]]
        assert (barred["allocatable"], barred["free_bytes"]) == (False, 0)
        assert barred["unusable_bytes"] == barred["size_bytes"]
        assert pvs[world.slow[1]]["free_bytes"] > 0
        with agent.unchanged():
            assert agent.refused("volume.create", agent.volume_args()) == "no_space"


def test_a_pvmove_by_hand_is_seen_and_left_alone(agent: Agent, world: World) -> None:
    volume = agent.volume()
    cached, _ = agent.cached()
    world.add_lv("theirs", 3072 * MIB)
    here, there = world.slow
    with world.evacuating(here, there):
        for name in (volume, cached, "theirs"):
            work = agent.lv(name)["work"]
            assert (work["kind"], work["source"], work["ours"]) == ("pvmove", here, False)
            assert 0 <= work["percent"] < 100
        abort = {"lv": volume, "pv": here}
        move = {"lv": volume, "from_pvs": [here], "to_pvs": ["md0"]}
        for verb, args in (("move.abort", abort), ("volume.move", move)):
            assert agent.refused(verb, args) == "occupied"
        assert agent.lv(volume)["work"] is not None
    assert agent.lv(volume)["work"] is None


def test_a_snapshot_by_hand_is_named(agent: Agent, world: World) -> None:
    volume = agent.volume()
    with world.snapshot(volume, "nightly"):
        assert agent.lv(volume)["snapshots"] == ["nightly"]
        more = {
            "lv": volume,
            "pvs": [world.slow[0]],
            "volume_key": volume[2:],
            "from_bytes": 64 * MIB,
            "size_bytes": 96 * MIB,
        }
        with agent.unchanged():
            assert agent.refused("volume.extend", more) == "occupied"
