"""A disk takes the place of another one in an array."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.client import Agent
from tests.contract.world import World

REBUILD_SECONDS = 900


def members(agent: Agent) -> dict[str, tuple[str, str]]:
    (array,) = agent.inventory()["arrays"]
    return {each["name"]: (each["slot"], each["state"]) for each in array["members"]}


def replace(agent: Agent, args: dict[str, Any]) -> list[str]:
    outcome = agent.outcome(agent.start("array.replace", args), REBUILD_SECONDS)
    assert (outcome["state"], outcome["error"]) == ("done", None), outcome
    return [each["argv"][0] for each in outcome["commands"]]


@pytest.mark.thorough
@pytest.mark.timeout(2400)
def test_a_member_is_replaced_and_comes_back_in_the_other_s_place(
    agent: Agent, world: World
) -> None:
    (array,) = agent.inventory()["arrays"]
    names = {"array": array["name"], "uuid": array["uuid"]}
    with world.another_ssd() as (name, serial):
        old = {"member": "sda", "member_serial": "ssd0"}
        new = {**names, **old, "device": name, "serial": serial}
        with agent.unchanged():
            assert agent.refused("array.replace", new) == "vg_not_allowed"
        world.allow(["vg0"], replace_members=True)
        hdd = {"device": world.slow[0], "serial": "hdd0"}
        with agent.unchanged():
            assert agent.refused("array.replace", {**new, **hdd}) in ("in_use", "unsupported")
            assert agent.refused("array.replace", {**names, **new, "serial": "x"}) == "stale"
            other = {"device": "sdb", "serial": "ssd1"}
            assert agent.refused("array.replace", {**new, **other}) == "in_use"
            (step,) = agent.preview(("array.replace", *agent.call("array.replace", new)))
        assert [each["argv"][0] for each in step["commands"]] == ["mdadm", "mdadm", "wait", "mdadm"]
        assert replace(agent, new) == ["mdadm", "mdadm", "wait", "mdadm"]
        assert members(agent) == {name: ("0", "in_sync"), "sdb": ("1", "in_sync")}
        assert replace(agent, new) == [], "it is done already"
        back = {**names, "member": name, "member_serial": serial, "device": "sda", "serial": "ssd0"}
        with agent.unchanged():
            assert agent.refused("array.replace", back) == "not_fresh"
        world.wipe("sda")
        assert replace(agent, back) == ["mdadm", "mdadm", "wait", "mdadm"]
        assert members(agent) == {"sda": ("0", "in_sync"), "sdb": ("1", "in_sync")}
