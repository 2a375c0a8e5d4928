"""What root lets LVM allocate: nothing is begun that LVM would refuse in the middle."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.client import MIB, VOLUME_BYTES, Agent, pool_args
from tests.contract.world import World

pytestmark = pytest.mark.thorough
PIECE = 64 * MIB


def in_pieces(world: World, pv: str) -> None:
    """Two free pieces on a disk, apart from each other, and nothing else free anywhere."""
    for name, size_bytes in (("one", PIECE), ("between", 8 * MIB), ("two", PIECE)):
        world.add_lv(name, size_bytes, pv)
    world.fill()
    world.remove_lv("one")
    world.remove_lv("two")


def refusal(agent: Agent, verb: str, args: Any) -> Any:
    checked, expect = agent.call(verb, args)
    reply = agent.ask(verb, checked, expect)
    assert not reply["ok"], reply
    return reply["error"]


def test_a_volume_that_fits_in_no_piece_is_refused_with_the_reason(
    agent: Agent, world: World
) -> None:
    in_pieces(world, world.slow[0])
    wanted = agent.volume_args(size_bytes=PIECE + 32 * MIB)
    with world.allocation("contiguous"):
        with agent.unchanged():
            error = refusal(agent, "volume.create", wanted)
        assert error["code"] == "no_space" and "longest free piece has 64 MiB" in error["message"]
        assert "vgchange --alloc normal vg0" in error["correction"]
        (said,) = (
            each for each in agent.data("hello")["problems"] if each["code"] == "vg_allocation"
        )
        assert "contiguous" in said["message"]
        agent.do("volume.create", agent.volume_args(size_bytes=PIECE))
    world.remove_lv("between")
    assert "vg_allocation" not in [each["code"] for each in agent.data("hello")["problems"]]


def test_several_pieces_do_under_the_usual_policy(agent: Agent, world: World) -> None:
    in_pieces(world, world.slow[0])
    made = agent.volume_args(size_bytes=PIECE + 32 * MIB)
    agent.do("volume.create", made)
    assert len(agent.lv(made["name"])["segments"]) == 2


def test_a_cache_that_fits_in_no_piece_is_refused(agent: Agent, world: World) -> None:
    volume = agent.volume()
    in_pieces(world, "md0")
    pool = pool_args(volume.removeprefix("v-"), size_bytes=PIECE + 16 * MIB)
    with world.allocation("contiguous"), agent.unchanged():
        assert refusal(agent, "pool.create", pool)["code"] == "no_space"


def test_what_was_left_in_pieces_is_cleared_whatever_the_policy(agent: Agent, world: World) -> None:
    volume = agent.volume()
    in_pieces(world, "md0")
    pool = agent.pool(volume)
    agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
    agent.do("cache.detach", {"lv": volume, "pool": pool, "dirty_limit_bytes": 64 * MIB})
    with world.allocation("contiguous"):
        agent.do("volume.clear", {"lv": volume, "volume_key": volume[2:]})
    assert not [tag for tag in agent.lv(volume)["tags"] if tag.startswith("tiercel.left=")]


def test_a_volume_is_not_moved_into_pieces(agent: Agent, world: World) -> None:
    wanted = agent.volume_args(size_bytes=PIECE + 32 * MIB)
    agent.do("volume.create", wanted)
    in_pieces(world, "md0")
    move = {"lv": wanted["name"], "from_pvs": [world.slow[0]], "to_pvs": ["md0"]}
    with world.allocation("contiguous"), agent.unchanged():
        assert "in one piece on md0" in refusal(agent, "volume.move", move)["message"]
    agent.do("volume.move", move)
    assert agent.lv(wanted["name"])["segments"][0]["pvs"] == ["md0"]


@pytest.mark.parametrize("of_group", [True, False])
def test_a_volume_that_may_not_grow_there_is_not_zeroed_for_it(
    agent: Agent, world: World, of_group: bool
) -> None:
    volume = agent.volume()
    near, far = world.slow
    grow = {
        "lv": volume, "from_bytes": VOLUME_BYTES, "size_bytes": 2 * VOLUME_BYTES, "pvs": [near],
        "volume_key": volume.removeprefix("v-"),
    }  # fmt: skip
    named = None if of_group else volume
    with world.allocation("contiguous", named), agent.unchanged():
        error = refusal(agent, "volume.extend", grow)
        assert error["code"] == "unsupported" and "right behind" in error["message"]
        assert f"{'vgchange' if of_group else 'lvchange'} --alloc normal" in error["correction"]
    with world.allocation("cling", named):
        with agent.unchanged():
            error = refusal(agent, "volume.extend", grow | {"pvs": [far]})
            assert error["code"] == "unsupported" and f"on {near}" in error["message"]
        agent.do("volume.extend", grow)
    assert agent.lv(volume)["size_bytes"] == 2 * VOLUME_BYTES
