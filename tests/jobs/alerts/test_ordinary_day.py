"""A day of ordinary load, as a pretended host samples it every minute: no message is sent.
With an hour of trouble in it: one message, and one that it is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import pytest

from jobs.alerts import alert_judge
from jobs.models import AlertEvent
from jobs.problems import problems_now
from storage.analysis import disk_condition
from storage.database_clock import database_now
from storage.discovery.ingest import apply_facts, apply_hello
from storage.health import cache_condition_records
from storage.metrics.samples import record_sample
from storage.metrics.samples.sample_round import make_partition
from storage.models import Host, Sample
from tests import make
from tests.contract.client import MIB, Agent
from tests.contract.fake_world import FakeWorld
from tests.fake.fixtures import make_fake_host
from tests.fake.host import FakeHost

__all__ = ["make_fake_host"]
pytestmark = [pytest.mark.django_db, pytest.mark.timeout(1200)]

BUSY_SECONDS: Final = 50
FREE_METADATA_BLOCKS: Final = 3
QUICK_DISK_IOPS, SLOW_DISK_IOPS = 600.0, 300.0
"""Of the bare volume's disk, with which a read of it takes 13 ms, and 27."""
BEGIN, END = 20, 90
"""Minutes of a trouble; kernels and caches are judged over less."""


class OrdinaryDay:
    """A host with a writethrough, a writeback and a bcache cache and a bare volume, whose guests
    work by day and rest by night; the night's backup reads what no cache holds. Guests have nothing
    to do for some seconds of each minute: a cache that never rests never writes back. A shorter day
    has all hours, of fewer minutes each."""

    def __init__(self, host: FakeHost, minutes: int, *, minutes_an_hour: int = 60) -> None:
        self.fake = host
        self.minutes = minutes
        self.minutes_an_hour = minutes_an_hour
        self.metadata_bytes = 0
        self.busy_seconds: float = BUSY_SECONDS
        self.disk_iops = QUICK_DISK_IOPS
        agent = Agent(FakeWorld(host))
        self.writethrough, _ = agent.cached()
        self.writeback, _ = agent.cached("writeback")
        self.bare = agent.volume()
        self.bcache = agent.backing()
        _, cset_uuid = agent.cset(self.bcache)
        settings = {"cache_mode": "writeback", "sequential_cutoff_bytes": 4 * MIB}
        agent.do("bcache.attach", {"lv": self.bcache, "cset_uuid": cset_uuid, **settings})
        self.agent = agent
        self.record = make.host(name="ordinary", machine_id=host.machine.machine_id)
        self.start = database_now() - timedelta(minutes=minutes)
        for day in (self.start, self.start + timedelta(days=1)):
            make_partition(day.date())

    def work(self, minute: int) -> None:
        """What the guests do in this minute."""
        hour = minute // self.minutes_an_hour
        is_backup = hour == 3
        iops = 250 if is_backup else 600 if 8 <= hour < 18 else 40
        hits = 0.4 if is_backup else 0.9
        writes = 0.0 if is_backup else 0.2
        root = self.fake.root
        cached = (self.writethrough, self.writeback, self.bcache)
        loads = [root.load(name, iops, hits, write_share=writes) for name in cached]
        bare = {"write_share": writes, "disk_iops": self.disk_iops}
        loads.append(root.load(self.bare, min(iops, 100), 0.0, **bare))
        self.fake.advance(BUSY_SECONDS)
        for load in loads:
            # The writeback cache alone may never come to rest.
            if load.lv.name != self.writeback or self.busy_seconds < 60:
                root.stop_load(load)
        self.fake.advance(60 - BUSY_SECONDS)

    def trouble(self, family: str, *, is_there: bool) -> None:
        """It begins, or is over."""
        with self.fake.changing() as there:
            if family == "array":
                there.arrays[0].failed = {"sdb"} if is_there else set()
            elif family == "volume_slow":
                self.disk_iops = SLOW_DISK_IOPS if is_there else QUICK_DISK_IOPS
            elif family == "cache_dirty_stuck":
                self.busy_seconds = 60 if is_there else BUSY_SECONDS
            else:
                cache = self.fake.root.lv(self.writethrough).cache
                assert cache is not None and cache.pool.metadata is not None
                self.metadata_bytes = self.metadata_bytes or cache.pool.metadata.size_bytes
                # As the model counts them.
                used = 28 + int(cache.used) // 128
                full = (used + FREE_METADATA_BLOCKS) * 4096
                cache.pool.metadata.size_bytes = full if is_there else self.metadata_bytes

    def read_host(self, at: datetime) -> None:
        apply_facts(self.record, self.agent.inventory(), at)

    def sample(self, at: datetime) -> None:
        reply = self.agent.ask("sample")
        record_sample(self.record, reply["data"], reply["host"], at)
        Host.objects.filter(pk=self.record.pk).update(last_seen_at=at)

    def at(self, minute: int) -> datetime:
        return self.start + timedelta(minutes=minute)

    def pass_by(self, meanwhile: Callable[[int], None] = lambda minute: None) -> None:
        """Minute by minute: all that beat has done about problems."""
        self.read_host(self.start)
        for minute in range(self.minutes):
            at = self.at(minute)
            meanwhile(minute)
            if minute % 60 == 0:
                cache_condition_records.judge_lasting(at)
            self.work(minute)
            self.sample(at)
            cache_condition_records.judge_states(at)
            disk_condition.judge_volumes(at)
            if minute % 5 == 0:
                self.read_host(at)
                cache_condition_records.judge_recent(at)
                disk_condition.judge_disks(at)
            alert_judge.judge(at)


def said() -> list[str]:
    """What they were notified of, with the minutes since the day began."""
    rows = AlertEvent.objects.filter(is_notified=True).select_related("alert").order_by("id")
    return [f"{each.at:%H:%M} {each.kind} {each.alert.message}" for each in rows]


def notified() -> Counter[tuple[str, str]]:
    """Without messages to the next tiers: nothing is acknowledged here."""
    rows = AlertEvent.objects.filter(is_notified=True).exclude(kind="escalated")
    return Counter(rows.values_list("alert__family", "kind"))


@pytest.mark.parametrize("minutes_an_hour", [10, pytest.param(60, marks=pytest.mark.long)])
def test_a_day_of_ordinary_load_notifies_no_one(
    make_fake_host: Callable[..., FakeHost], minutes_an_hour: int
) -> None:
    minutes = 24 * minutes_an_hour
    day = OrdinaryDay(make_fake_host(), minutes, minutes_an_hour=minutes_an_hour)
    day.pass_by()
    assert notified() == {}, "\n".join(said())
    assert Sample.objects.filter(reads__gt=0).count() > 3 * minutes
    assert not [each for each in problems_now(database_now()) if each.code != "silent"]


@pytest.mark.parametrize(
    "family", ["array", "cache_dirty_stuck", "cache_metadata_full", "volume_slow"]
)
def test_an_hour_of_trouble_in_such_a_day_notifies_once_and_so_does_its_end(
    family: str, make_fake_host: Callable[..., FakeHost]
) -> None:
    day = OrdinaryDay(make_fake_host(), minutes=2 * 60)

    def meanwhile(minute: int) -> None:
        if minute in (BEGIN, END):
            day.trouble(family, is_there=minute == BEGIN)

    day.pass_by(meanwhile)
    assert notified() == {(family, "opened"): 1, (family, "resolved"): 1}, "\n".join(said())


def test_a_restart_into_another_kernel_notifies_once_and_so_does_its_end(
    make_fake_host: Callable[..., FakeHost],
) -> None:
    day = OrdinaryDay(make_fake_host(), minutes=60)

    def meanwhile(minute: int) -> None:
        if minute == BEGIN:
            day.fake.machine.kernel = "6.1.0-40-amd64"
            day.fake.root.reboot()
            FakeWorld(day.fake).boot()
            apply_hello(day.record, day.agent.ask("hello")["data"], [], day.at(minute))

    apply_hello(day.record, day.agent.ask("hello")["data"], [], day.start)
    day.pass_by(meanwhile)
    kernel = "kernel_changed"
    assert notified() == {(kernel, "opened"): 1, (kernel, "resolved"): 1}, "\n".join(said())
