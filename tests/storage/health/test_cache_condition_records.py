"""The condition of caches and SSDs in the database, from the samples of a host."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from jobs import tasks
from jobs.problems import problems_of
from storage.database_clock import database_now
from storage.health.cache_condition_records import judge_lasting, judge_recent, judge_states
from storage.metrics.rates import CachedBy
from storage.metrics.rates.figures import NO_LATENCY
from storage.metrics.samples import record_sample
from storage.metrics.samples.sample_round import make_partition
from storage.models import CacheCondition, Host, LatestSample, Placement, Sample, Volume
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, placed, take

pytestmark = pytest.mark.django_db
CHUNKS = 1000
"""Of 64 KiB: a cache of 62.5 MiB."""


@pytest.fixture
def host() -> Host:
    return make.host(last_seen_at=NOON, facts_at=NOON)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def sampled(
    host: Host, lv_uuid: str, minutes: float, *, reads: int = 0, writes: int = 0, **cache: Any
) -> None:
    """One round with a dm-cache; by then the guest had read and written that many blocks."""
    counted = {"read_hits": reads, "write_hits": writes, "total": CHUNKS, "used": CHUNKS, **cache}
    disk = wire.disk(reads=reads, read_sectors=8 * reads, writes=writes, write_sectors=8 * writes)
    fields = {"disk": disk, "cache": wire.cache(**counted)}
    take(host, minutes * 60, wire.volume(lv_uuid, **fields))


def findings(volume: Volume) -> list[str]:
    row = CacheCondition.objects.filter(volume=volume).first()
    return [each["code"] for each in row.findings] if row is not None else []


def test_dirty_data_that_stays_is_found_reported_and_gone_again(host: Host) -> None:
    volume, lv_uuid = placed(host)
    for minute in range(36):
        sampled(host, lv_uuid, minute, dirty=300, mode="writeback")
    assert judge_recent(at(35)) == 1
    [kept] = CacheCondition.objects.get(volume=volume).findings
    name = f"vg0/{Placement.objects.get(volume=volume).lv_name}"
    assert (kept["code"], kept["subject"], kept["since"]) == (
        "cache_dirty_stuck", name, at(35).isoformat(),
    )  # fmt: skip
    [problem] = problems_of([host.pk], NOON)[host.pk]
    assert (problem.code, problem.volume_key, problem.severity) == (
        "cache_dirty_stuck", volume.key, "warning",
    )  # fmt: skip
    assert "18.8 MiB 30 min ago, 18.8 MiB now" in problem.message
    judge_recent(at(35.5))
    assert CacheCondition.objects.get(volume=volume).findings[0]["since"] == at(35).isoformat()
    sampled(host, lv_uuid, 36, dirty=10, mode="writeback")
    judge_recent(at(36))
    assert findings(volume) == [] and problems_of([host.pk], NOON)[host.pk] == ()


def test_the_hosts_own_limit_of_dirty_data_counts(host: Host) -> None:
    volume, lv_uuid = placed(host)
    for minute in range(36):
        # Busy enough that nothing need be written back.
        sampled(host, lv_uuid, minute, dirty=600, mode="writeback", writes=6000 * minute)
    judge_recent(at(35))
    assert findings(volume) == ["cache_dirty_high"]
    Host.objects.update(dirty_limit_percent=70)
    judge_recent(at(35))
    assert findings(volume) == []


def test_a_flush_that_does_not_get_on_is_found_after_ten_minutes(host: Host) -> None:
    volume, lv_uuid = placed(host)
    for minute in range(11):
        sampled(host, lv_uuid, minute, dirty=20, mode="writeback", policy="cleaner")
        judge_recent(at(minute))
    assert findings(volume) == ["cache_dirty_stuck"]


def test_a_cache_that_is_too_small_is_found(host: Host) -> None:
    volume, lv_uuid = placed(host)
    for minute in range(61):
        reads = 100 * minute
        moves = {"read_hits": 0, "read_misses": reads, "promotions": reads, "demotions": reads}
        sampled(host, lv_uuid, minute, reads=reads, **moves)
    judge_recent(at(60))
    assert findings(volume) == ["cache_thrash"]


def legs(minute: int, slow_per_minute: int) -> dict[str, Any]:
    return {
        "origin": wire.disk(read_sectors=slow_per_minute * minute),
        "cdata": wire.disk(),
    }


def test_a_hit_rate_that_the_legs_contradict_is_found(host: Host) -> None:
    volume, lv_uuid = placed(host)
    other, other_uuid = placed(host)
    for minute in range(12):
        for uuid, slow in ((lv_uuid, 7000), (other_uuid, 0)):
            disk = wire.disk(reads=1000 * minute, read_sectors=8000 * minute)
            cache = wire.cache(read_hits=1000 * minute, **legs(minute, slow))
            take(
                host, minute * 60 + (uuid == other_uuid), wire.volume(uuid, disk=disk, cache=cache)
            )
    judge_recent(at(11.1))
    assert (findings(volume), findings(other)) == (["hit_rate_doubtful"], [])


def bypassing(host: Host, lv_uuid: str, minute: int, boot: str = "boot-1", **fields: int) -> None:
    """By then 100 reads a minute: 2 hits, 98 past the cache and from the slow disk."""
    counts = {"hits": 2 * minute, "misses": 0, "bypass_misses": 98 * minute, **fields}
    disk = wire.disk(reads=100 * minute, read_sectors=800 * minute)
    bcache = wire.bcache(disk=disk, unused_percent=0, **counts)
    backing = wire.disk(read_sectors=784 * minute)
    volume = wire.volume(lv_uuid, disk=backing, bcache=bcache)
    take(host, minute * 60, volume, boot=boot)


@pytest.mark.parametrize("anew", [("boot-2", {}), ("boot-1", {"hits": 0})])
def test_reads_that_pass_their_cache_are_found_over_an_hour_of_judgements(
    host: Host, anew: tuple[str, dict[str, int]]
) -> None:
    volume, lv_uuid = placed(host)
    for minute in range(61):
        bypassing(host, lv_uuid, minute)
        if minute % 5 == 0:
            judge_recent(at(minute))
            assert (findings(volume) == ["cache_bypassed"]) == (minute >= 50), minute
    assert len(CacheCondition.objects.get(volume=volume).noted["reads"]) <= 9
    # Totals that began anew say nothing of what was before.
    bypassing(host, lv_uuid, 61, boot=anew[0], **anew[1])
    judge_recent(at(61))
    assert findings(volume) == []


def test_the_clock_judges_minutes_and_days() -> None:
    due = settings.CELERY_BEAT_SCHEDULE
    assert due["caches"]["task"] == "jobs.tasks.judge_caches"
    assert due["cache-days"]["task"] == "jobs.tasks.judge_cache_days"
    now = database_now()
    host = make.host(last_seen_at=now)
    volume, lv_uuid = placed(host)
    disk = wire.disk()
    for minute in range(36):
        cache = wire.cache(dirty=30_000, mode="writeback")
        reply = wire.sample(wire.volume(lv_uuid, disk=disk, cache=cache))
        moment = now - timedelta(minutes=35 - minute)
        record_sample(host, reply, wire.stamp(3600 + 60 * minute), moment)
    tasks.judge_caches()
    tasks.judge_cache_days()
    assert findings(volume) == ["cache_dirty_stuck", "cache_dirty_high"]


def test_nothing_is_found_without_samples(host: Host) -> None:
    _, lv_uuid = placed(host)
    sampled(host, lv_uuid, 0, dirty=900, mode="writeback")
    assert judge_recent(at(1)) == 1
    judge_lasting(at(1))
    judge_states(at(1))
    assert not CacheCondition.objects.exclude(volume=None).exists()


def test_what_was_found_stays_while_the_host_is_silent_and_goes_with_the_volume(
    host: Host,
) -> None:
    volume, lv_uuid = placed(host)
    for minute in range(36):
        sampled(host, lv_uuid, minute, dirty=300, mode="writeback")
    judge_recent(at(35))
    judge_recent(at(90))
    assert findings(volume) == ["cache_dirty_stuck"]
    Placement.objects.filter(volume=volume).update(until=at(91))
    judge_recent(at(92))
    assert findings(volume) == []


def test_a_cache_that_is_gone_has_no_trouble_any_more(host: Host) -> None:
    volume, lv_uuid = placed(host)
    for minute in range(36):
        sampled(host, lv_uuid, minute, dirty=300, mode="writeback")
    judge_recent(at(35))
    take(host, 36 * 60, wire.volume(lv_uuid))
    judge_recent(at(36))
    assert findings(volume) == []


def test_one_judgement_leaves_what_another_one_found(host: Host) -> None:
    volume, lv_uuid = placed(host)
    for minute in range(36):
        sampled(host, lv_uuid, minute, dirty=300, mode="writeback", metadata_used=2900)
    judge_recent(at(35))
    judge_states(at(35))
    judge_lasting(at(35))
    assert sorted(findings(volume)) == ["cache_dirty_stuck", "cache_metadata_full"]
    sampled(host, lv_uuid, 36, dirty=300, mode="writeback", metadata_used=2000)
    judge_states(at(36))
    assert findings(volume) == ["cache_dirty_stuck"]


# The last sample


def test_a_device_is_frozen_if_two_samples_find_it_suspended(host: Host) -> None:
    volume, lv_uuid = placed(host)
    take(host, 0, wire.volume(lv_uuid, suspended=True))
    judge_states(at(0.5))
    take(host, 60, wire.volume(lv_uuid))
    judge_states(at(1.5))
    take(host, 120, wire.volume(lv_uuid, suspended=True))
    judge_states(at(2.5))
    assert findings(volume) == [], "twice for a moment"
    take(host, 180, wire.volume(lv_uuid, suspended=True))
    judge_states(at(3.5))
    [problem] = problems_of([host.pk], NOON)[host.pk]
    assert problem.code == "volume_frozen" and "suspended for 1 min" in problem.message
    take(host, 240, wire.volume(lv_uuid))
    judge_states(at(4.5))
    assert findings(volume) == []


def test_metadata_that_cannot_be_written_or_has_little_room_is_found(host: Host) -> None:
    volume, lv_uuid = placed(host)
    sampled(host, lv_uuid, 0, metadata_used=2458, read_only=True)
    judge_states(at(0))
    assert findings(volume) == ["cache_read_only", "cache_metadata_full"]
    sampled(host, lv_uuid, 1, metadata_used=2457, read_only=False)
    judge_states(at(1))
    assert findings(volume) == []


@pytest.mark.parametrize("broken", [{"needs_check": True}, {"failed": True}])
def test_a_broken_cache_is_found_by_the_inventory_alone(
    host: Host, broken: dict[str, bool]
) -> None:
    volume, lv_uuid = placed(host)
    sampled(host, lv_uuid, 0, read_only=True, **broken)
    judge_states(at(0))
    assert findings(volume) == []


# Days


def hours(volume: Volume, first: datetime, count: int, **fields: Any) -> None:
    """Hours of 1,000 reads each, by default all of them hits in a full cache of 1 GiB."""
    defaults = {
        **dict.fromkeys(("writes", "read_sectors", "write_sectors", "read_ms", "write_ms"), 0),
        "dt_ms": 3_600_000,
        "reads": 5000,
        "read_misses": 0,
        "technology": int(CachedBy.DM_CACHE),
        "read_hits": 5000,
        "latency_counts": list(NO_LATENCY),
        "cache_size_bytes": 2**30,
        "used_bytes": 2**30,
        "dirty_bytes": 0,
    }
    ends = [first + (n + 1) * timedelta(hours=1) for n in range(count)]
    for day in {end.date() for end in ends}:
        make_partition(day)
    # The rounds of this test end in the last of them too.
    Sample.objects.bulk_create(
        Sample(volume=volume, ts=end - timedelta(seconds=1), **{**defaults, **fields})
        for end in ends
    )


def lasting(host: Host) -> tuple[Volume, datetime]:
    """A cached volume, and the end of its last whole hour."""
    volume, lv_uuid = placed(host)
    sampled(host, lv_uuid, 30)
    return volume, NOON


def test_a_full_cache_that_saves_no_waiting_is_found(host: Host) -> None:
    volume, end = lasting(host)
    waited = dict.fromkeys(("read_ms", "busy_ms"), 10_000)
    hours(volume, end - timedelta(days=1), 24, read_hits=400, read_misses=4600, **waited)
    judge_lasting(at(31))
    assert findings(volume) == ["cache_useless"]
    LatestSample.objects.update(cache_mode="writeback")
    judge_lasting(at(31))
    assert findings(volume) == []
    LatestSample.objects.update(cache_mode="writethrough")
    Sample.objects.filter(read_hits=400).update(read_ms=40_000, busy_ms=40_000)
    judge_lasting(at(31))
    assert findings(volume) == []


def test_a_hit_rate_that_fell_against_last_week_is_found(host: Host) -> None:
    volume, end = lasting(host)
    hours(volume, end - timedelta(days=7, hours=6), 6)
    hours(volume, end - timedelta(hours=6), 6, read_hits=3500, read_misses=1500)
    judge_lasting(at(31))
    assert findings(volume) == ["hit_rate_fell"]
    Sample.objects.filter(ts__lt=end - timedelta(days=7)).update(read_hits=None)
    judge_lasting(at(31))
    assert findings(volume) == []


def test_a_hit_rate_below_usual_is_found_and_stays_while_too_little_is_read(host: Host) -> None:
    volume, end = lasting(host)
    LatestSample.objects.update(cache_size_bytes=2**30)
    yesterday = end.replace(hour=0) - timedelta(days=1)
    for weeks in (1, 2, 3):
        hours(volume, yesterday - timedelta(weeks=weeks), 24)
    hours(volume, yesterday, 24, read_hits=3500, read_misses=1500)
    judge_lasting(at(31))
    assert findings(volume) == ["hit_rate_below_usual"]
    Sample.objects.filter(ts__gte=yesterday).update(read_hits=7, read_misses=3)
    judge_lasting(at(32))
    assert findings(volume) == ["hit_rate_below_usual"], "unknown is not well"
    Sample.objects.filter(ts__gte=yesterday).update(read_hits=4000, read_misses=1000)
    judge_lasting(at(33))
    assert findings(volume) == []


def test_the_day_is_compared_with_that_weekday_alone(host: Host) -> None:
    volume, end = lasting(host)
    LatestSample.objects.update(cache_size_bytes=2**30)
    yesterday = end.replace(hour=0) - timedelta(days=1)
    for weeks in (0, 1, 2):
        day = yesterday - timedelta(weeks=weeks)
        hours(volume, day - timedelta(days=1), 24)
        hours(volume, day, 24, read_hits=3500, read_misses=1500)
    judge_lasting(at(31))
    assert findings(volume) == []


def test_a_cache_that_is_slower_than_the_disk_was_is_found(host: Host) -> None:
    volume, end = lasting(host)
    slow, quick = [*NO_LATENCY], [*NO_LATENCY]
    slow[7], quick[4] = 5000, 5000
    bare = {
        **dict.fromkeys(("cache_size_bytes", "used_bytes", "read_hits", "read_misses")),
        "technology": int(CachedBy.NONE),
    }
    hours(volume, end - timedelta(days=3), 48, latency_counts=quick, **bare)
    hours(volume, end - timedelta(days=1), 24, latency_counts=slow)
    judge_lasting(at(31))
    assert findings(volume) == ["cache_slower"]
    Sample.objects.filter(technology=CachedBy.NONE).update(latency_counts=slow)
    judge_lasting(at(31))
    assert findings(volume) == []


def test_a_bcache_volume_that_is_slower_on_average_than_it_was_is_found(host: Host) -> None:
    volume, end = lasting(host)
    bare = {
        **dict.fromkeys(("cache_size_bytes", "used_bytes", "read_hits", "read_misses")),
        "technology": int(CachedBy.NONE),
    }
    of_bcache = {
        **dict.fromkeys(("read_hits", "read_misses", "latency_counts")),
        "technology": int(CachedBy.BCACHE),
        "slow_read_sectors": 0,
    }
    hours(volume, end - timedelta(days=3), 48, read_sectors=40_000, **bare)
    hours(volume, end - timedelta(days=1), 24, read_sectors=40_000, **of_bcache)
    Sample.objects.filter(technology=CachedBy.NONE).update(read_ms=F("reads") * 2, write_ms=0)
    Sample.objects.filter(technology=CachedBy.BCACHE).update(read_ms=F("reads") * 9, write_ms=0)
    judge_lasting(at(31))
    assert findings(volume) == ["cache_slower"]
    Sample.objects.filter(technology=CachedBy.BCACHE).update(read_ms=F("reads") * 3)
    judge_lasting(at(31))
    assert findings(volume) == []


def test_many_caches_are_judged_by_as_few_queries_as_one(host: Host) -> None:
    def judged() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            judge_recent(at(36))
        return len(queries)

    _, first = placed(host)
    for minute in range(36):
        sampled(host, first, minute, dirty=300, mode="writeback")
    judged()
    few = judged()
    for _ in range(10):
        _, other = placed(host)
        for minute in range(0, 36, 5):
            sampled(host, other, minute + 1, dirty=300, mode="writeback")
    judged()
    assert judged() == few
