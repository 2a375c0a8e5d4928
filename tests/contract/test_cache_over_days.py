"""Caches that do no good for days: found by hours of a host's figures, and gone once it is mended.

The guest's reads of an hour are made at once, between two answers of the host.
"""

from __future__ import annotations

import pytest

from tests.contract.client import SMALL_POOL_BYTES, WIDE_VOLUME_BYTES, Agent
from tests.contract.lab_world import LabWorld
from tests.contract.watched import Watched
from tests.contract.world import World

pytestmark = pytest.mark.django_db
READS = 12_000
"""More than a judgement of days needs."""
WEEK_HOURS = 7 * 24


def renewed(agent: Agent, name: str, pool: str) -> None:
    """The volume has another, larger cache in place of `pool`."""
    agent.do("cache.detach", {"lv": name, "pool": pool, "dirty_limit_bytes": 0})
    agent.do("cache.attach", {"lv": name, "pool": agent.pool(name), "mode": "writethrough"})


@pytest.mark.thorough
def test_a_full_cache_without_reads_is_found_until_it_was_replaced(
    agent: Agent, world: World
) -> None:
    name, pool = agent.wide_cached()
    world.caches.fill(name)
    watched = Watched(agent, name)
    watched.sample(0)
    watched.hours(12, lambda: world.caches.read_cold(name, READS))
    watched.hours(13)
    assert watched.codes() == ["cache_useless"]
    message = watched.message("cache_useless")
    assert "was full for the last 1 d " in message and "reads came from it" in message
    renewed(agent, name, pool)
    watched.hours(2)
    assert watched.codes() == []


@pytest.mark.thorough
def test_a_hit_rate_that_fell_is_found_until_the_volume_has_a_larger_cache(
    agent: Agent, world: World
) -> None:
    """In the lab 72,000 reads as before did not bring it back: a full cache takes in little."""
    name, pool = agent.wide_cached()
    world.caches.fill(name)
    watched = Watched(agent, name)
    watched.sample(0)
    watched.hours(3)
    watched.hours(3, lambda: world.caches.read_hot(name, READS))
    watched.sample(60 * (WEEK_HOURS - 6))
    watched.hours(3)
    watched.hours(3, lambda: world.caches.read_cold(name, READS))
    watched.sample(15)
    assert "hit_rate_fell" in watched.codes()
    message = watched.message("hit_rate_fell")
    assert "in the same hours of last week it was" in message
    renewed(agent, name, pool)
    watched.hours(1)
    assert "hit_rate_fell" not in watched.codes()


@pytest.mark.thorough
@pytest.mark.lab
@pytest.mark.xdist_group("lab")
def test_a_cache_that_is_slower_than_the_disk_is_found_until_its_ssd_is_quick_again(
    lab_world: LabWorld,
) -> None:
    lab_world.reset()
    agent, caches = Agent(lab_world), lab_world.caches
    name = agent.volume(size_bytes=WIDE_VOLUME_BYTES)
    watched = Watched(agent, name)
    # The first answer has the kernel count how long I/Os take; the second one tells.
    watched.sample(0)
    watched.sample(1)
    watched.hours(1, lambda: caches.read_cold(name, READS, at_once=1))
    watched.sample(0)
    pool = agent.pool(name, size_bytes=SMALL_POOL_BYTES)
    agent.do("cache.attach", {"lv": name, "pool": pool, "mode": "writethrough"})
    caches.fill(name)
    watched.sample(60)
    watched.sample(1)
    with caches.slow_data(name, milliseconds=100):
        watched.hours(24, lambda: caches.read_hot(name, READS, at_once=64))
    watched.sample(15)
    assert watched.codes() == ["cache_slower"]
    assert "99 % of its I/Os took at most" in watched.message("cache_slower")
    watched.hours(24, lambda: caches.read_hot(name, READS))
    watched.sample(15)
    assert watched.codes() == []
