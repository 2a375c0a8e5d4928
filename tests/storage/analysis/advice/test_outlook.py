"""What the samples of two weeks say of a host."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import inf

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from storage.analysis.advice import Outlook, outlook
from storage.analysis.advice.past_loads import past_loads
from storage.byte_sizes import GIB
from storage.inventory.volume_parts import VolumeUser
from storage.metrics.rates import CachedBy
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.samples.packer import pack_samples
from storage.models import Host, Resolution, SampleChunk, Volume
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.storage.analysis.advice.load import (
    NOW,
    Waits,
    burst,
    known,
    nightly,
    sampled,
    sampled_days,
)
from tests.storage.metrics.samples.rounds import noon_gone

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CACHED = {"technology": CachedBy.DM_CACHE, "cache_size_bytes": GIB}


def looked(host: Host, now: datetime = NOW) -> Outlook:
    return outlook(host, inventory_of(host), snapshots_of(Volume.objects.placed_on(host)), now)


def pack_all(now: datetime) -> None:
    assert pack_samples(VOLUMES, now, seconds=inf).is_done


def advised(host: Host, now: datetime) -> list[str]:
    """The labels of the volumes to cache."""
    return [each.use.row.volume.label for each in looked(host, now).suggestions]


def guest(name: str) -> tuple[VolumeUser, ...]:
    return (VolumeUser("qemu", name, "vda", 7),)


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_volume_that_is_busy_each_night_is_advised_at_noon(is_packed: bool) -> None:
    noon = noon_gone()
    host, _facts, volumes = known(make.lv("nightly", size_bytes=80 * GIB))
    # 15 GiB a day, written as much as read.
    moved = {"read_sectors": 160_000, "write_sectors": 160_000}
    sampled_days(volumes["nightly"], 10, nightly, end=noon, **moved)
    if is_packed:
        pack_all(noon)
    assert advised(host, noon) == ["nightly"]
    (suggestion,) = looked(host, noon).suggestions
    assert suggestion.is_enough
    assert suggestion.usual.days == 10
    # Eight reads for two hours of each day.
    assert suggestion.waited_seconds_per_day == pytest.approx(8 * 2 * 3600)
    assert suggestion.arithmetic == "Reads wait 16.0 h a day: 1.0 h per GiB of a cache of 16 GiB"


@pytest.mark.parametrize("hours_ago", [1, 26, 200])
def test_a_burst_of_one_hour_is_no_reason_for_a_cache_whenever_it_was(hours_ago: int) -> None:
    noon = noon_gone()
    host, _facts, volumes = known(make.lv("burst"), make.lv("nightly"))
    sampled_days(volumes["burst"], 10, burst(noon - hours_ago * HOUR), end=noon)
    sampled_days(volumes["nightly"], 10, nightly, end=noon)
    assert advised(host, noon) == ["nightly"]


def test_a_burst_that_lies_on_two_days_is_none_either() -> None:
    noon = noon_gone()
    host, _facts, volumes = known(make.lv("burst"))
    sampled_days(volumes["burst"], 10, burst(noon - 3 * DAY - HOUR / 2), end=noon)
    assert advised(host, noon) == []


def test_a_job_that_runs_once_a_week_is_no_reason_for_a_cache() -> None:
    noon = noon_gone()
    sunday: Waits = lambda ts: 8 if (noon - ts).days % 7 == 2 else 0  # noqa: E731
    host, _facts, volumes = known(make.lv("weekly"))
    sampled_days(volumes["weekly"], 14, sunday, end=noon)
    assert advised(host, noon) == []


def test_work_that_rests_at_the_weekend_is_one() -> None:
    noon = noon_gone()
    office: Waits = lambda ts: 1 if ts.weekday() < 5 and 9 <= ts.hour < 17 else 0  # noqa: E731
    host, _facts, volumes = known(make.lv("office"))
    sampled_days(volumes["office"], 14, office, end=noon)
    assert advised(host, noon) == ["office"]


def test_a_busy_first_hour_stands_behind_what_is_known_for_days() -> None:
    noon = noon_gone()
    host, _facts, volumes = known(make.lv("new"), make.lv("nightly"))
    sampled(volumes["new"], 60, end=noon, reads=1000, read_ms=600_000)
    sampled_days(volumes["nightly"], 10, nightly, end=noon)
    assert advised(host, noon) == ["nightly", "new"]
    assert [each.is_enough for each in looked(host, noon).suggestions] == [True, False]


def test_what_was_read_while_there_was_a_cache_does_not_count() -> None:
    noon = noon_gone()
    host, _facts, volumes = known(make.lv("was-cached"), make.lv("plain"))
    sampled_days(volumes["was-cached"], 5, nightly, end=noon - 5 * DAY, **CACHED)
    sampled_days(volumes["was-cached"], 5, lambda _ts: 0, end=noon)
    sampled_days(volumes["plain"], 10, nightly, end=noon)
    assert advised(host, noon) == ["plain"]


def test_the_last_hour_is_kept_apart_from_the_two_weeks() -> None:
    noon = noon_gone()
    host, _facts, volumes = known(make.lv("nightly"), make.lv("burst"))
    sampled_days(volumes["nightly"], 10, nightly, end=noon)
    sampled_days(volumes["burst"], 10, burst(noon - HOUR), end=noon)
    found = looked(host, noon)
    assert (found.start, found.end, found.days) == (noon - 14 * DAY, noon, 10)
    assert [(use.row.volume.label, use.share) for use in found.recent] == [
        ("burst", 1.0),
        ("nightly", 0.0),
    ]
    assert [(use.row.volume.label, use.share) for use in found.uses] == [
        ("nightly", pytest.approx(160 / 192)),
        ("burst", pytest.approx(32 / 192)),
    ]


def test_two_weeks_and_forecasts_are_a_query_each_however_many_volumes_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noon = noon_gone()
    lvs = [make.lv(f"v{n}") for n in range(12)]
    host, _facts, volumes = known(*lvs)
    for volume in volumes.values():
        sampled_days(volume, 4, nightly, end=noon)
    rows, facts = snapshots_of(Volume.objects.placed_on(host)), inventory_of(host)
    for count in (1, 12):
        with CaptureQueriesContext(connection) as queries:
            outlook(host, facts, rows[:count], noon)
        assert len(queries) == 2
    monkeypatch.setattr("storage.analysis.advice.past_loads.MOST_AT_ONCE", 5)
    with CaptureQueriesContext(connection) as queries:
        assert len(outlook(host, facts, rows, noon).uses) == 12
    assert len(queries) == 4


def test_two_weeks_are_read_from_long_buckets_not_from_what_was_measured() -> None:
    noon = noon_gone()
    host, _facts, volumes = known(make.lv("nightly"))
    sampled_days(volumes["nightly"], 12, nightly, end=noon)
    pack_all(noon)
    before = looked(host, noon)
    SampleChunk.objects.filter(resolution=Resolution.RAW, start__lt=noon - HOUR).delete()
    rolled_up = SampleChunk.objects.filter(resolution=Resolution.FIVE_MINUTES, is_rolled_up=True)
    assert rolled_up.delete()[0]
    after = looked(host, noon)
    assert after.suggestions[0].waited_seconds == before.suggestions[0].waited_seconds
    assert after.days == before.days == 12


def test_a_volume_that_was_quiet_of_late_has_an_empty_last_hour() -> None:
    _host, _facts, volumes = known(make.lv("a"))
    sampled(volumes["a"], 5, end=NOW - 2 * HOUR, busy_ms=100)
    found = past_loads([volumes["a"].pk], NOW)[volumes["a"].pk]
    assert (found.recent.whole.intervals, found.whole.whole.intervals) == (0, 5)


def test_shares_are_of_the_reads_that_the_hdds_answered() -> None:
    host, _facts, volumes = known(
        make.lv("a", users=guest("web")),
        make.lv("b", users=guest("web")),
        make.lv("c", users=guest("db")),
        make.lv("on-ssd", pvs=("md0",)),
    )
    for name, busy_ms in (("a", 30_000), ("b", 15_000), ("c", 15_000), ("on-ssd", 60_000)):
        sampled(volumes[name], 10, busy_ms=busy_ms, reads=busy_ms // 1000)
    found = looked(host)
    assert [(use.row.volume.label, use.share) for use in found.recent] == [
        ("a", 0.5),
        ("b", 0.25),
        ("c", 0.25),
    ]
    assert found.recent[0].busy == 0.5
    assert [(each.guest, each.volume_count, each.share) for each in found.guests] == [
        ("web", 2, 0.75),
        ("db", 1, 0.25),
    ]


def test_a_thin_volume_counts_where_its_group_has_slow_disks() -> None:
    thin = make.lv("thin", layout=("thin", "sparse"), segments=(make.segment(type="thin"),))
    host, _facts, volumes = known(thin)
    sampled(volumes["thin"], 5, busy_ms=1)
    assert [use.row.volume.label for use in looked(host).uses] == ["thin"]


def test_existing_caches_show_their_hit_rate() -> None:
    host, _facts, volumes = known(make.lv("a", cache=make.dm_cache("theirs")))
    sampled(volumes["a"], 10, reads=100, read_hits=90, read_misses=10, **CACHED)
    (cache,) = looked(host).caches
    assert (cache.recent.hit_rate, cache.recent.accesses) == (0.9, 1000)
    assert cache.whole.hit_rate == 0.9
    assert looked(host).suggestions == ()


def test_the_first_to_cache_waited_longest_for_each_gib() -> None:
    host, _facts, volumes = known(
        make.lv("small", size_bytes=8 * GIB), make.lv("large", size_bytes=80 * GIB)
    )
    # 2 GiB and 16 GiB a day.
    sampled(volumes["small"], 30, read_ms=4000, busy_ms=1, read_sectors=2_900)
    sampled(volumes["large"], 30, read_ms=8000, busy_ms=1, read_sectors=23_000)
    small, large = looked(host).suggestions
    assert (small.use.row.volume.label, small.size_bytes, large.size_bytes) == (
        "small",
        2 * GIB,
        16 * GIB,
    )
    assert small.waited_seconds == 120
    assert small.usual.reads == small.waited_seconds / small.covered_seconds > 0
    assert small.arithmetic == "Reads waited 2 min in 30 min: 1 min per GiB of a cache of 2 GiB"
    assert small.seconds_per_gib == 4 * large.seconds_per_gib


def test_waiting_for_writes_is_no_reason_for_a_cache() -> None:
    host, _facts, volumes = known(make.lv("a"))
    sampled(volumes["a"], 30, write_ms=50_000, busy_ms=1)
    assert looked(host).suggestions == ()


@pytest.mark.parametrize(("days", "is_enough"), [(0, False), (2, False), (3, True)])
def test_too_few_figures_are_owned_up_to(days: int, is_enough: bool) -> None:
    noon = noon_gone()
    host, _facts, volumes = known(make.lv("a"))
    sampled_days(volumes["a"], days, lambda _ts: 1, end=noon)
    # Less than half of a day is no day.
    sampled(volumes["a"], 600, end=noon - days * DAY, reads=100, read_ms=1000)
    found = looked(host, noon)
    assert (found.days, found.is_enough) == (days, is_enough)
    assert [each.is_enough for each in found.suggestions] == [is_enough]


def test_a_host_without_figures_has_nothing_to_say() -> None:
    host, _facts, _volumes = known(make.lv("a"))
    found = looked(host)
    assert (found.seconds, found.recent, found.suggestions, found.risks) == (0.0, (), (), ())


def test_a_group_without_ssd_is_refused_with_the_reason() -> None:
    host, _facts, volumes = known(make.lv("a"), pvs=(make.pv(),))
    sampled(volumes["a"], 20, read_ms=1000)
    (suggestion,) = looked(host).suggestions
    assert suggestion.commands is None
    assert suggestion.obstacle is not None
    assert suggestion.obstacle.code == "no_fast_disk"


def test_what_lvmcache_cannot_serve_comes_last() -> None:
    thin = make.lv("thin", layout=("thin", "sparse"), segments=(make.segment(type="thin"),))
    host, _facts, volumes = known(thin, make.lv("plain"))
    sampled(volumes["thin"], 20, read_ms=9000)
    sampled(volumes["plain"], 20, read_ms=1_000)
    plain, last = looked(host).suggestions
    assert plain.obstacle is None
    assert last.obstacle is not None
    assert last.obstacle.code == "unsupported"
