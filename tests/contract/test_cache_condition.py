"""Caches in trouble: what a host's counters show is found, and gone once it is mended.

A host is asked now, and its answers are stored as if minutes had passed in between: the rules look
at half an hour and more.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from jobs.engine.rollback import current_wish
from jobs.models import Job
from jobs.queue.leave_writeback import leave_due
from storage.database_clock import database_now
from storage.discovery.ingest import apply_facts
from storage.health.cache_condition_records import judge_recent, judge_states
from storage.health.inventory_findings import findings_of
from storage.inventory.facts import decode
from storage.metrics.samples import record
from storage.models import CacheCondition, Host, HostOutline, Volume
from storage.planner import plan
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.contract.client import MIB, POOL_BYTES, Agent
from tests.contract.lab_world import LabWorld
from tests.contract.world import World

pytestmark = pytest.mark.django_db
START = datetime.now(UTC).replace(hour=6, minute=0, second=0, microsecond=0)
FOLD_SECONDS = 15
"""bcache adds up its counts every 13.64 s."""


class Watched:
    """A volume of the host in the panel's books; its minutes begin at `START`."""

    def __init__(self, agent: Agent, name: str, dirty_limit_percent: int = 50) -> None:
        self.agent = agent
        limit = {"dirty_limit_percent": dirty_limit_percent}
        self.host: Host = make.host(last_seen_at=START, **limit)
        self.volume: Volume = make.volume()
        make.placement(self.volume, self.host, lv_uuid=agent.lv(name)["uuid"], lv_name=name)
        self.minute = 0.0

    def sample(self, minutes: float) -> None:
        """What the host says now is stored as of so many minutes after the last time."""
        self.minute += minutes
        reply = self.agent.ask("sample")
        boottime_ns = round((3600 + 60 * self.minute) * 1e9)
        stamp = {"boot_id": reply["host"]["boot_id"], "boottime_ns": boottime_ns}
        record(self.host, reply["data"], stamp, self.now)

    @property
    def now(self) -> datetime:
        return START + timedelta(minutes=self.minute)

    def codes(self) -> list[str]:
        """What is wrong by all that is known now."""
        judge_states(self.now)
        judge_recent(self.now)
        row = CacheCondition.objects.filter(volume=self.volume).first()
        return [each["code"] for each in row.findings] if row is not None else []


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
