"""Caches in trouble: what a host's counters show is found, and gone once it is mended.

A host is asked now, and its answers are stored as if minutes had passed in between: the rules look
at half an hour and more.
"""

from __future__ import annotations

import time

import pytest

from jobs.engine.rollback import current_wish
from jobs.models import Job
from jobs.queue.leave_writeback import leave_due
from storage.database_clock import database_now
from storage.discovery.ingest import apply_facts
from storage.health import cache_condition
from storage.health.inventory_findings import findings_of
from storage.inventory.facts import decode
from storage.models import CacheCondition, HostOutline
from storage.planner import plan
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.contract.caches import Broken
from tests.contract.client import MIB, POOL_BYTES, Agent
from tests.contract.lab_world import LabWorld
from tests.contract.watched import START, Watched
from tests.contract.world import World

pytestmark = pytest.mark.django_db
FOLD_SECONDS = 15
"""bcache adds up its counts every 13.64 s."""


@pytest.mark.thorough
def test_dirty_data_that_does_not_drain_is_found_until_it_was_flushed(
    agent: Agent, world: World
) -> None:
    name, _ = agent.cached("writeback")
    watched = Watched(agent, name)
    world.make_dirty(name)
    for _ in range(7):
        watched.sample(5)
    assert watched.codes() == ["cache_dirty_stuck"]
    limits = {"dirty_limit_bytes": 0, "migration_threshold": 32768}
    agent.do("cache.flush", {"lv": name, **limits})
    watched.sample(5)
    assert watched.codes() == []


@pytest.mark.thorough
def test_dirty_data_above_the_limit_is_found_until_it_was_flushed(
    agent: Agent, world: World
) -> None:
    name, _ = agent.cached("writeback")
    watched = Watched(agent, name, dirty_limit_percent=5)
    world.make_dirty(name)
    for _ in range(7):
        watched.sample(5)
    assert "cache_dirty_high" in watched.codes()
    limits = {"dirty_limit_bytes": 0, "migration_threshold": 32768}
    agent.do("cache.flush", {"lv": name, **limits})
    watched.sample(5)
    assert watched.codes() == []


@pytest.mark.thorough
def test_a_group_whose_metadata_is_nearly_full_is_found_until_there_is_room(
    agent: Agent, world: World
) -> None:
    def found() -> list[str]:
        return [each.code for each in findings_of(decode(agent.inventory()), ())]

    assert "vg_metadata_full" not in found()
    with world.crowded_metadata():
        assert "vg_metadata_full" in found()
    assert "vg_metadata_full" not in found()


@pytest.mark.thorough
def test_writeback_ends_by_itself_when_its_mirror_has_lost_a_disk(
    agent: Agent, world: World
) -> None:
    name, pool = agent.cached("writeback")
    world.make_dirty(name)
    lv = agent.lv(name)
    wish = Wish(lv["size_bytes"], cache=LvmCache(pool, POOL_BYTES, "writeback"))
    volume = make.volume(key=name.removeprefix("v-"), managed=True, wish=wish.to_json())
    allowed = {"hello": {"policy": {"vgs": ["vg0"]}}, "leaves_writeback": True}
    host = make.host(last_seen_at=START, **allowed)
    where = {"lv_uuid": lv["uuid"], "lv_name": name, "vg_uuid": agent.vg()["uuid"]}
    target = make.placement(volume, host, **where).target

    def found() -> list[str]:
        apply_facts(host, agent.inventory(), database_now())
        return [each["code"] for each in HostOutline.objects.get(host=host).findings]

    found()
    assert leave_due() == 0
    with world.lost_member():
        assert "writeback_degraded" in found()
        assert leave_due() == 1
        safe = current_wish(Job.objects.get())
        while steps := plan(decode(agent.inventory()), target, safe):
            agent.do(steps[0].verb, steps[0].args)
        assert agent.lv(name)["cache"]["mode"] == "writethrough"
        assert "writeback_degraded" not in found()
        assert leave_due() == 0
    found()


@pytest.mark.thorough
def test_a_suspended_volume_is_found_until_it_is_resumed(agent: Agent, world: World) -> None:
    name = agent.volume()
    watched = Watched(agent, name)
    watched.sample(1)
    with world.suspended(name):
        watched.sample(1)
        assert watched.codes() == [], "once may be for a moment"
        watched.sample(1)
        assert watched.codes() == ["volume_frozen"]
    watched.sample(1)
    assert watched.codes() == []


@pytest.mark.thorough
@pytest.mark.lab
@pytest.mark.xdist_group("lab")
def test_a_cache_that_is_bypassed_is_found_until_the_cutoff_is_off(lab_world: LabWorld) -> None:
    lab_world.reset()
    agent = Agent(lab_world)
    name = agent.volume("bcache", size_bytes=128 * MIB)
    agent.do("bcache.format", {"lv": name})
    _, uuid = agent.cset(name)
    args = {"lv": name, "cset_uuid": uuid, "cache_mode": "writethrough"}
    agent.do("bcache.attach", {**args, "sequential_cutoff_bytes": 0})
    watched = Watched(agent, name)
    lab_world.read_in_order(name, MIB)
    time.sleep(FOLD_SECONDS)
    watched.sample(1)
    assert watched.codes() == []
    cutoff = f"/sys/block/$(basename $(realpath /dev/vg0/{name}))/bcache/sequential_cutoff"
    lab_world.lab.run(f"echo 65536 > {cutoff}")
    lab_world.read_in_order(name, 32 * MIB)
    lab_world.read_scattered(name, MIB, 200)
    time.sleep(FOLD_SECONDS)
    for _ in range(5):
        watched.sample(13)
    assert watched.codes() == ["cache_bypassed"], CacheCondition.objects.get(
        volume=watched.volume
    ).noted
    lab_world.lab.run(f"echo 0 > {cutoff}")
    for _ in range(5):
        watched.sample(14)
        assert watched.codes() in ([], ["cache_bypassed"])
    for _ in range(2):
        lab_world.read_in_order(name, 8 * MIB)
    time.sleep(FOLD_SECONDS)
    watched.sample(14)
    assert watched.codes() == []


def change_of_content(watched: Watched, world: World, name: str) -> list[str]:
    """What is found once the guest reads all over its volume for an hour."""
    world.caches.fill(name)
    world.caches.has_settled()
    watched.sample(15)
    assert watched.codes() == []
    world.caches.read_cold(name, 4_000)
    world.caches.has_settled()
    for _ in range(4):
        watched.sample(13)
    return watched.codes()


def until_it_is_read_again(watched: Watched, world: World, name: str) -> list[str]:
    """What is found once the guest has read a little part of its volume for an hour."""
    world.caches.read_hot(name, 8_000)
    world.caches.has_settled()
    for _ in range(4):
        watched.sample(13)
        watched.codes()
    return watched.codes()


@pytest.mark.thorough
def test_an_lvm_cache_that_changes_what_it_holds_is_found_until_its_guest_reads_less(
    agent: Agent, world: World
) -> None:
    name, _ = agent.wide_cached()
    watched = Watched(agent, name)
    watched.sample(1)
    assert change_of_content(watched, world, name) == ["cache_thrash"]
    assert "were copied to the SSD" in watched.message("cache_thrash")
    assert until_it_is_read_again(watched, world, name) == []


@pytest.mark.thorough
def test_a_bcache_that_changes_what_it_holds_is_found_until_its_guest_reads_less(
    agent: Agent, world: World
) -> None:
    name = agent.wide_bcache()
    watched = Watched(agent, name)
    watched.sample(1)
    assert change_of_content(watched, world, name) == ["cache_thrash"]
    assert "were copied to the SSD" in watched.message("cache_thrash")
    assert until_it_is_read_again(watched, world, name) == []


@pytest.mark.thorough
def test_a_hit_rate_that_the_disks_belie_is_found_until_nothing_reads_past_the_cache(
    agent: Agent, world: World
) -> None:
    name, _ = agent.wide_cached()
    world.caches.fill(name)
    watched = Watched(agent, name)
    watched.sample(5)

    def ten_minutes(*, beside: bool) -> list[str]:
        for _ in range(2):
            world.caches.read_hot(name, 2_000)
            if beside:
                world.caches.read_below(name, 4_000)
            watched.sample(5)
        return watched.codes()

    assert ten_minutes(beside=False) == []
    assert ten_minutes(beside=True) == ["hit_rate_doubtful"]
    assert "of what it read came from the SSD" in watched.message("hit_rate_doubtful")
    assert ten_minutes(beside=False) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("how", "code"), [("needs check", "cache_needs_check"), ("failed", "cache_failed")]
)
def test_a_cache_whose_metadata_broke_is_found_until_it_was_repaired(
    agent: Agent, world: World, how: Broken, code: str
) -> None:
    name, _ = agent.cached()
    volume, host = make.volume(), make.host()
    make.placement(volume, host, lv_uuid=agent.lv(name)["uuid"], lv_name=name)

    def found() -> list[tuple[str, str]]:
        apply_facts(host, agent.inventory(), database_now())
        findings = HostOutline.objects.get(host=host).findings
        return [(each["code"], each["severity"]) for each in findings]

    assert found() == [] and world.caches.flushes(name)
    with world.caches.broken_metadata(name, how):
        assert found() == [(code, "error")]
        assert world.caches.reads(name) and not world.caches.flushes(name)
    assert found() == [(code, "error")], "that the disk is well again mends nothing"
    world.caches.repair(name)
    assert found() == [] and world.caches.flushes(name)


@pytest.mark.thorough
@pytest.mark.lab
@pytest.mark.xdist_group("lab")
def test_an_ssd_that_is_saturated_is_found_until_it_has_less_to_do(
    lab_world: LabWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a disk was busy cannot be hurried: here the rule looks at one minute, not at fifteen."""
    monkeypatch.setattr(cache_condition, "SATURATED_MINUTES", 1)
    lab_world.reset()
    agent = Agent(lab_world)
    name, _ = agent.wide_cached()
    lab_world.caches.fill(name)
    watched = Watched(agent, name)
    apply_facts(watched.host, agent.inventory(), database_now())

    def found() -> dict[str, str]:
        watched.codes()
        row = CacheCondition.objects.filter(host=watched.host, volume=None).first()
        findings = row.findings if row is not None else []
        return {each["subject"]: each["message"] for each in findings}

    watched.sample(0)
    assert found() == {}
    with lab_world.caches.throttled_ssds(iops=150):
        began = time.monotonic()
        lab_world.caches.read_hot(name, 18_000, at_once=64)
        watched.sample((time.monotonic() - began) / 60)
        messages = found()
    assert "sda" in messages and "each took" in messages["sda"], messages
    for _ in range(2):
        watched.sample(15)
    assert found() == {}
