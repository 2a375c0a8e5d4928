"""A cache set serves however long it takes: the kernel's brakes on a slow SSD are off."""

from __future__ import annotations

from tests.contract.client import Agent, argvs
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost
from tests.fake.parts import CacheSet


def brakes(cset: CacheSet) -> set[int]:
    return set(cset.congested_us.values())


def test_attaching_takes_the_brakes_off_also_after_an_attempt_that_broke_off() -> None:
    world = FakeWorld(FakeHost())
    agent = Agent(world)
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    (cset,) = world.host.machine.csets
    assert 0 not in brakes(cset)
    attach = {"lv": volume, "cset_uuid": uuid, "cache_mode": "writethrough"}
    attach["sequential_cutoff_bytes"] = 0
    agent.do("bcache.attach", attach)
    assert brakes(cset) == {0}
    with world.host.changing():
        cset.congested_us["congested_write_threshold_us"] = 20000
        world.host.machine.changed()
    outcome = agent.do("bcache.attach", attach)
    path = f"/sys/fs/bcache/{uuid}/congested_write_threshold_us"
    assert argvs(outcome["commands"]) == [["write", path, "0"]]
    assert brakes(cset) == {0}
