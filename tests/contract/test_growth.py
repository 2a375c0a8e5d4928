"""volume.extend and guest.resize: a volume grows while its guest holds it."""

from __future__ import annotations

from typing import Any

import pytest

from storage.agent.facts.program_versions import missing_feature
from tests.contract.client import MIB, VOLUME_BYTES, Agent, argvs
from tests.contract.world import World

pytestmark = pytest.mark.thorough

MORE = 32 * MIB


def extension(world: World, volume: str, **changes: Any) -> dict[str, Any]:
    return {
        "lv": volume,
        "from_bytes": VOLUME_BYTES,
        "size_bytes": VOLUME_BYTES + MORE,
        "pvs": [world.slow[0]],
        "volume_key": volume[2:],
    } | changes


def test_a_held_volume_grows_into_zeros_and_its_guest_sees_it(agent: Agent, world: World) -> None:
    volume = agent.volume()
    # Another tenant's data lies just behind the volume.
    world.add_lv("earlier", 2 * MORE)
    world.scribble("earlier")
    world.remove_lv("earlier")
    args, expect = agent.call("volume.extend", extension(world, volume))
    (step,) = agent.preview(("volume.extend", args, expect))
    assert step["error"] is None and step["deferred"] == []
    with world.guest("web12", volume):
        outcome = agent.do("volume.extend", args)
        grown = agent.lv(volume)
        assert grown["size_bytes"] == VOLUME_BYTES + MORE
        assert f"tiercel.grown={VOLUME_BYTES}" in grown["tags"]
        assert argvs(outcome["commands"]) == argvs(step["commands"])
        assert outcome["progress"]["total_bytes"] == MORE
        assert world.guest_sees("web12") == VOLUME_BYTES
        resize = {
            "lv": volume,
            "size_bytes": VOLUME_BYTES + MORE,
            "from_bytes": VOLUME_BYTES,
            "guests": ["web12"],
        }
        said = agent.do("guest.resize", resize)["lines"]
        assert any(f"sees {VOLUME_BYTES + MORE} bytes" in line["text"] for line in said)
        assert world.guest_sees("web12") == VOLUME_BYTES + MORE
    assert world.reads_as_zeros(volume)
    lv = agent.lv(volume)
    assert sorted(lv["tags"]) == ["tiercel", f"tiercel.volume={volume[2:]}"]
    assert [each["name"] for each in agent.inventory()["lvs"]] == [volume]
    with agent.unchanged():
        assert agent.do("volume.extend", args)["commands"] == []
        assert agent.do("guest.resize", resize)["commands"] == []


def test_a_cached_volume_grows_with_its_cache(agent: Agent, world: World) -> None:
    volume, pool = agent.cached()
    if lacks := missing_feature("extend_cached", agent.data("hello")["lvm2"]):
        with agent.unchanged():
            refusal = agent.ask(
                "volume.extend", *agent.call("volume.extend", extension(world, volume))
            )
        assert refusal["error"]["code"] == "unsupported" and lacks in refusal["error"]["message"]
        return
    agent.do("volume.extend", extension(world, volume))
    lv = agent.lv(volume)
    assert lv["size_bytes"] == VOLUME_BYTES + MORE and lv["cache"]["pool"] == pool
    # No program holds it: the next start of the guest shows the size.
    size = {"lv": volume, "size_bytes": VOLUME_BYTES + MORE, "from_bytes": VOLUME_BYTES}
    assert argvs(agent.do("guest.resize", size)["commands"]) == [
        ["lvchange", "--deltag", f"tiercel.grown={VOLUME_BYTES}", f"vg0/{volume}"]
    ]


def test_what_a_broken_extension_left_is_taken_up_or_away(agent: Agent, world: World) -> None:
    volume = agent.volume()
    room = f"x-{volume[2:]}"
    tags = ["tiercel", f"tiercel.volume={volume[2:]}", "tiercel.made=room", "tiercel.zeroing"]
    world.add_lv(room, MORE, tags=tags)
    world.scribble(room)
    outcome = agent.do("volume.extend", extension(world, volume))
    assert outcome["commands"][0]["argv"][0] == "blkdiscard"
    assert world.reads_as_zeros(volume)
    world.add_lv(room, MORE, tags=tags)
    size = VOLUME_BYTES + MORE
    agent.do("volume.extend", extension(world, volume, from_bytes=size))
    assert [each["name"] for each in agent.inventory()["lvs"]] == [volume]


def test_what_must_not_grow_is_refused(agent: Agent, world: World) -> None:
    volume, backing = agent.volume(), agent.backing()
    world.add_lv(f"x-{volume[2:]}", MORE)
    with agent.unchanged():
        assert agent.refused("volume.extend", extension(world, volume)) == "already_exists"
        assert agent.refused("volume.extend", extension(world, backing)) == "needs_guest_off"
    world.remove_lv(f"x-{volume[2:]}")
    with agent.unchanged():
        stale = extension(world, volume, from_bytes=VOLUME_BYTES // 2)
        assert agent.refused("volume.extend", stale) == "stale"
        huge = extension(world, volume, size_bytes=1 << 50)
        assert agent.refused("volume.extend", huge) == "no_space"
        odd = extension(world, volume, size_bytes=VOLUME_BYTES + 512)
        assert agent.refused("volume.extend", odd) == "bad_request"
