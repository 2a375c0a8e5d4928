"""volume.count, cache.warm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.client import WIDE_VOLUME_BYTES, Agent, pool_args
from tests.contract.world import World

pytestmark = pytest.mark.thorough
CHUNK_BYTES = 65536
HOT = [5 + 11 * n for n in range(100)]
"""Chunks, no two of them neighbours."""
LIMIT = {"limit_seconds": 600}


@pytest.fixture
def counting(world: World) -> Iterator[None]:
    with world.counting():
        yield


def warm(agent: Agent, volume: str) -> str:
    outcome = agent.outcome(agent.start("cache.warm", {"lv": volume, **LIMIT}), 700)
    assert (outcome["state"], outcome["commands"][0]["argv"][0]) == ("done", "warm")
    return str(outcome["lines"][-1]["text"])


@pytest.mark.usefixtures("counting")
def test_a_new_cache_is_filled_with_what_its_guest_had_read_most(
    agent: Agent, world: World
) -> None:
    volume = agent.volume(size_bytes=WIDE_VOLUME_BYTES)
    uuid, pool = agent.lv(volume)["uuid"], f"c-{volume[2:]}"
    agent.data("heat.observe", {"lv_uuids": [uuid]})
    # The service has looked once.
    world.read_counted(volume, [], 0)
    assert agent.lv(volume)["heat_observed"]
    agent.do("volume.count", {"lv": volume, "cache": pool})
    assert agent.lv(volume)["counted_for"] == pool
    with world.guest("web12", volume):
        world.read_counted(volume, HOT, 2)
        agent.do("pool.create", pool_args(volume[2:]))
        agent.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
        before_bytes = agent.lv(volume)["cache"]["used_bytes"]
        said = warm(agent, volume)
        lv = agent.lv(volume)
    # smq takes some of it only after it has missed again and again.
    assert lv["cache"]["used_bytes"] - before_bytes >= 0.6 * len(HOT) * CHUNK_BYTES, said
    assert lv["cache"]["dirty_bytes"] == 0
    assert "of what is read most is in the cache" in said
    assert lv["counted_for"] == "", "it is over"


@pytest.mark.usefixtures("counting")
def test_a_bcache_is_filled_too(agent: Agent, world: World) -> None:
    volume = agent.volume("bcache", size_bytes=WIDE_VOLUME_BYTES)
    agent.do("bcache.format", {"lv": volume})
    uuid, device = agent.lv(volume)["uuid"], f"s-{volume[2:]}"
    agent.data("heat.observe", {"lv_uuids": [uuid]})
    world.read_counted(volume, [], 0)
    agent.do("volume.count", {"lv": volume, "cache": device})
    world.read_counted(volume, HOT, 2)
    _, cset_uuid = agent.cset(volume)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": cset_uuid, **wished})
    said = warm(agent, volume)
    assert said.startswith("All is there"), said
    lv = agent.lv(volume)
    assert (lv["counted_for"], lv["bcache"]["dirty_bytes"]) == ("", 0)


def test_a_volume_that_is_not_observed_keeps_a_cold_cache(agent: Agent, world: World) -> None:
    volume, pool = agent.cached()
    asked = {"lv": volume, "cache": pool}
    said = agent.do("volume.count", asked)["lines"][-1]["text"]
    assert said == "Its reads are not counted on this host: the cache starts empty."
    outcome = agent.do("cache.warm", {"lv": volume, **LIMIT})
    assert outcome["commands"] == [], "there is nothing to read by"
