"""ssd.prepare refuses whatever is in use or is not what was meant."""

from __future__ import annotations

import pytest

from tests.contract.client import Agent
from tests.contract.world import World

pytestmark = pytest.mark.thorough


def test_a_device_in_use_is_not_prepared(agent: Agent, world: World) -> None:
    facts = agent.inventory()
    (array,) = facts["arrays"]
    member = array["members"][0]["name"]
    serials = {disk["name"]: disk["serial"] for disk in facts["disks"]}
    with agent.unchanged():
        taken = {"device": member, "serial": serials[member]}
        assert agent.refused("ssd.prepare", taken) == "in_use"
        wrong = {"device": member, "serial": "hdd0"}
        assert agent.refused("ssd.prepare", wrong) == "stale"
        assert agent.refused("ssd.prepare", {"device": "loop0", "serial": "x"}) == "not_found"
        assert agent.refused("ssd.prepare", {"device": "sdzz", "serial": "x"}) == "not_found"
        mine = {"device": "md0", "serial": array["uuid"]}
        assert agent.do("ssd.prepare", mine)["commands"] == []
        slow = {"device": world.slow[0], "serial": "hdd0"}
        assert agent.do("ssd.prepare", slow)["commands"] == []
