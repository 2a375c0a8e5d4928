"""volume.retire, volume.restore, volume.destroy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.client import VOLUME_BYTES, Agent, argvs
from tests.contract.world import World

pytestmark = pytest.mark.thorough

OURS = "aaaaaaaa"


def naming(volume: str, layout: str = "plain") -> dict[str, Any]:
    """What retire and restore have in common."""
    key = volume.removeprefix("v-")
    names = {"lv": volume, "retired_name": f"del-{key}", "volume_key": key}
    return {**names, "layout": layout}


def retired_at(agent: Agent, volume: str) -> int:
    tags = agent.lv(naming(volume)["retired_name"])["tags"]
    (stamp,) = [tag for tag in tags if tag.startswith("tiercel.retired=")]
    return int(stamp.removeprefix("tiercel.retired="))


def restore_args(agent: Agent, volume: str, layout: str = "plain") -> dict[str, Any]:
    return naming(volume, layout) | {"retired_at": retired_at(agent, volume)}


def destroy_args(agent: Agent, volume: str, layout: str = "plain") -> dict[str, Any]:
    found = agent.lv(naming(volume)["retired_name"])
    key = naming(volume)["volume_key"]
    named = {"lv": found["name"], "lv_uuid": found["uuid"], "volume_key": key}
    return {**named, "size_bytes": VOLUME_BYTES, "layout": layout}


def test_a_volume_is_switched_off_and_comes_back_with_its_data(agent: Agent, world: World) -> None:
    volume = agent.volume()
    world.scribble(volume)
    tags = agent.lv(volume)["tags"]
    args, expect = agent.call("volume.retire", naming(volume))
    with agent.unchanged():
        (step,) = agent.preview(("volume.retire", args, expect))
    assert step["error"] is None and step["deferred"] == []
    outcome = agent.do("volume.retire", naming(volume))
    assert argvs(outcome["commands"]) == argvs(step["commands"])
    assert [command["rc"] for command in outcome["commands"]] == [0, 0, 0]
    off = agent.lv(args["retired_name"])
    assert volume not in agent.names()
    assert (off["active"], off["dev"], off["size_bytes"]) == (False, None, VOLUME_BYTES)
    stamp = f"tiercel.retired={retired_at(agent, volume)}"
    assert sorted(off["tags"]) == sorted([*tags, f"tiercel.name={volume}", stamp])
    with agent.unchanged():
        assert agent.do("volume.retire", naming(volume))["commands"] == []
        assert agent.refused("volume.destroy", destroy_args(agent, volume)) == "too_early"
    back = restore_args(agent, volume)
    agent.do("volume.restore", back)
    on = agent.lv(volume)
    assert on["active"] and sorted(on["tags"]) == sorted(tags)
    assert args["retired_name"] not in agent.names()
    assert not world.reads_as_zeros(volume)
    with agent.unchanged():
        assert agent.do("volume.restore", back)["commands"] == []


def test_a_retired_volume_is_wiped_and_removed_once_its_window_is_over(
    agent: Agent, world: World
) -> None:
    volume = agent.volume()
    world.scribble(volume)
    agent.do("volume.retire", naming(volume))
    args = destroy_args(agent, volume)
    world.allow(["vg0"], undo_hours=0)
    checked, expect = agent.call("volume.destroy", args)
    (step,) = agent.preview(("volume.destroy", checked, expect))
    outcome = agent.do("volume.destroy", args)
    assert argvs(outcome["commands"]) == argvs(step["commands"])
    progress = outcome["progress"]
    assert (progress["label"], progress["total_bytes"]) == ("zeroed", VOLUME_BYTES)
    assert agent.inventory()["lvs"] == []
    with agent.unchanged():
        assert agent.do("volume.destroy", args)["commands"] == []


def test_a_bcache_volume_goes_comes_back_and_ends(agent: Agent, world: World) -> None:
    volume = agent.backing()
    size_bytes = agent.lv(volume)["bcache"]["size_bytes"]
    off = naming(volume, "bcache")
    with agent.unchanged():
        with world.guest("web1", volume):
            assert agent.refused("volume.retire", off) == "in_use"
        assert agent.refused("volume.retire", naming(volume)) == "unsupported"
    agent.do("volume.retire", off)
    found = agent.lv(off["retired_name"])
    assert (found["active"], found["bcache"]) == (False, None)
    agent.do("volume.restore", restore_args(agent, volume, "bcache"))
    assert agent.lv(volume)["bcache"]["size_bytes"] == size_bytes
    agent.do("volume.retire", off)
    world.allow(["vg0"], undo_hours=0)
    agent.do("volume.destroy", destroy_args(agent, volume, "bcache"))
    assert agent.inventory()["lvs"] == []


def test_what_is_held_or_not_meant_is_not_ended(agent: Agent, world: World) -> None:
    cached, _ = agent.cached()
    volume = agent.volume("bcache")
    world.add_lv(f"del-{OURS}", VOLUME_BYTES, tags=["tiercel", f"tiercel.volume={OURS}"])
    world.add_lv("web12", VOLUME_BYTES)
    with agent.unchanged():
        assert agent.refused("volume.retire", naming(cached)) == "in_use"
        with world.guest("web1", volume):
            args, expect = agent.call("volume.retire", naming(volume))
            error = agent.ask("volume.retire", args, expect)["error"]
            assert error["code"] == "in_use" and "web1" in error["message"]
        other = naming(volume) | {"volume_key": OURS}
        assert agent.refused("volume.retire", other) == "not_ours"
        foreign = naming(volume) | {"lv": "web12"}
        assert agent.refused("volume.retire", foreign) == "not_ours"
        taken = naming(volume) | {"retired_name": f"del-{OURS}"}
        assert agent.refused("volume.retire", taken) == "already_exists"
        live = destroy_args(agent, f"v-{OURS}")
        assert agent.refused("volume.destroy", live) == "not_retired"


def test_a_name_that_is_taken_meanwhile_is_not_given_back(agent: Agent, world: World) -> None:
    volume = agent.volume()
    agent.do("volume.retire", naming(volume))
    back = restore_args(agent, volume)
    world.add_lv(volume, VOLUME_BYTES)
    with agent.unchanged():
        assert agent.refused("volume.restore", back) == "already_exists"
        late = {**back, "retired_at": back["retired_at"] - 1}
        assert agent.refused("volume.restore", late) in ("already_exists", "stale")
