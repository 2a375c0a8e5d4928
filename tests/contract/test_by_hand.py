"""In the lab: what a page prints for root to type does what it says."""

from __future__ import annotations

import json

import pytest

from storage.inventory.facts import decode
from storage.naming import new_key
from storage.planner import Refused, Target, plan
from storage.planner.wish import Wish
from tests.contract.client import MIB, VOLUME_BYTES, Agent
from tests.contract.lab_world import LabWorld

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab"), pytest.mark.thorough]

MORE = 32 * MIB


def test_the_printed_way_to_grow_a_bcache_volume_gives_it_zeros_only(
    lab_world: LabWorld,
) -> None:
    """On a terminal, where blkdiscard asks before it writes over a signature, and beside the udev
    rule that registers the volume as soon as it changes."""
    world = lab_world
    world.reset()
    agent = Agent(world)
    key = new_key()
    volume = f"v-{key}"
    agent.do("volume.create", agent.volume_args(key, layout="bcache"))
    agent.do("bcache.format", {"lv": volume})
    world.add_lv("earlier", 2 * MORE)
    world.scribble("earlier")
    world.remove_lv("earlier")
    before = agent.lv(volume)["bcache"]["size_bytes"]
    facts = decode(agent.inventory())
    lv = next(each for each in facts.lvs if each.name == volume)
    target = Target(key, lv.vg_uuid, "vg0", volume, lv.uuid)
    with pytest.raises(Refused) as caught:
        plan(facts, target, Wish(before + MORE, layout="bcache"))
    lines = caught.value.correction.split("in one go: ")[1].split(". Where one")[0]
    world.lab.shell.write("/run/grow.sh", lines)
    world.lab.run(["script", "-qec", "bash /run/grow.sh", "/dev/null"])
    grown = agent.lv(volume)
    assert grown["size_bytes"] == VOLUME_BYTES + MORE, json.dumps(grown)
    assert grown["bcache"]["size_bytes"] == before + MORE
    assert agent.names() == {volume}
    device = world.device(volume)
    skip = f"-i {before}:0 -n {MORE}"
    assert world.lab.run(f"cmp {skip} {device} /dev/zero", check=False).returncode == 0
