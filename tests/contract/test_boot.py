"""What a restart takes away comes back, and every volume has a stable path."""

from __future__ import annotations

import pytest

from tests.contract.client import MIB, Agent
from tests.contract.world import World

pytestmark = pytest.mark.thorough


def test_settings_that_a_restart_forgets_are_back_after_the_boot_unit(
    agent: Agent, world: World
) -> None:
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
    world.forget_settings(volume)
    assert agent.lv(volume)["bcache"]["sequential_cutoff_bytes"] == 4 * MIB
    rc, said = world.boot()
    assert rc == 0, said
    assert agent.lv(volume)["bcache"]["sequential_cutoff_bytes"] == 0
    hello = agent.data("hello")
    assert hello["boot"] == {"unit": True, "ran": True, "failed": []}
    agent.do("bcache.set", {"lv": volume, "sequential_cutoff_bytes": 8 * MIB})
    world.forget_settings(volume)
    assert world.boot()[0] == 0
    assert agent.lv(volume)["bcache"]["sequential_cutoff_bytes"] == 8 * MIB


def test_a_device_that_waits_for_its_set_is_there_once_the_boot_unit_brought_it(
    agent: Agent, world: World
) -> None:
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
    world.begin_without_set(volume, uuid)
    waiting = agent.lv(volume)["bcache"]
    assert (waiting["device"], waiting["cset_uuid"], waiting["state"]) == (None, None, "clean")
    rc, said = world.boot()
    assert rc == 0, said
    back = agent.lv(volume)["bcache"]
    assert back["cset_uuid"] == uuid and back["device"] is not None
    assert world.path_of(volume[2:]) == back["device"]


def test_each_managed_volume_has_a_path_of_its_own(agent: Agent, world: World) -> None:
    plain = agent.volume()
    assert world.path_of(plain[2:]) == agent.lv(plain)["kname"]
    backing = agent.volume("bcache")
    assert world.path_of(backing[2:]) is None, "before the format it is no device for a guest"
    agent.do("bcache.format", {"lv": backing})
    assert world.path_of(backing[2:]) == agent.lv(backing)["bcache"]["device"]
    assert world.path_of(plain[2:]) == agent.lv(plain)["kname"]
    assert agent.data("hello")["links"] is True


def test_the_path_stays_on_top_while_a_cache_comes(agent: Agent, world: World) -> None:
    volume, _ = agent.cached()
    assert world.path_of(volume[2:]) == agent.lv(volume)["kname"]
