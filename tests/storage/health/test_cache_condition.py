"""Rules about caches: each at its limit, on both sides, and silent without figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.byte_sizes import GIB, KIB
from storage.health.cache_condition import (
    CacheHours,
    CacheWindow,
    DiskLoad,
    LastCacheState,
    LastingFigures,
    ReadCounts,
    RecentFigures,
    is_saturated_ssd,
    lasting_findings,
    lasting_unknown,
    recent_findings,
    ssd_finding,
    state_findings,
)
from storage.health.host_problems import HealthFinding
from storage.metrics.rates import Sums
from storage.metrics.rates.figures import NO_LATENCY
from storage.problems.all_kinds import judged_by

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_S = 86_400
NAME = "vg0/web12"


def codes(findings: Iterable[HealthFinding]) -> list[str]:
    return [finding.code for finding in findings]


def the(findings: Iterable[HealthFinding]) -> HealthFinding:
    (finding,) = findings
    return finding


# The last sample


def test_a_device_is_frozen_once_it_is_suspended_for_longer_than_a_moment() -> None:
    assert codes(state_findings(LastCacheState(name=NAME, frozen_seconds=29.9))) == []
    finding = the(state_findings(LastCacheState(name=NAME, frozen_seconds=60)))
    assert (finding.code, finding.severity) == ("volume_frozen", "error")
    assert "suspended for 1 min" in finding.message
    assert finding.correction.endswith("dmsetup resume /dev/vg0/web12")


def test_metadata_counts_from_above_80_percent() -> None:
    assert codes(state_findings(LastCacheState(name=NAME, metadata_share=0.8))) == []
    finding = the(state_findings(LastCacheState(name=NAME, metadata_share=0.801)))
    assert finding.code == "cache_metadata_full" and "80.1 % full" in finding.message


def test_metadata_that_cannot_be_written_is_reported() -> None:
    assert codes(state_findings(LastCacheState(name=NAME, is_read_only=True))) == [
        "cache_read_only"
    ]


# Dirty data


def dirty(first: float, last: float, *, writes: int = 0, **fields: Any) -> RecentFigures:
    """Dirty shares of a cache of 1 GiB, half an hour ago and now."""
    window = CacheWindow(
        sums=Sums(dt_ms=30 * MINUTE_MS, writes=writes),
        dirty_first=round(first * GIB),
        dirty_last=round(last * GIB),
        dirty_least=round(min(first, last) * GIB),
    )
    short = dataclasses.replace(window, sums=Sums(dt_ms=10 * MINUTE_MS, writes=writes))
    return RecentFigures(name=NAME, size_bytes=GIB, half_hour=window, short=short, **fields)


@pytest.mark.parametrize(
    ("figures", "is_stuck"),
    [
        (dirty(0.2, 0.2), True),
        (dirty(0.2, 0.3), True),
        (dirty(0.2, 0.199), True),
        (dirty(0.2, 0.197), False),
        # What a guest has only begun to write cannot have become less.
        (dirty(0.0, 0.2), False),
        (dirty(0.101, 0.101), True),
        (dirty(0.099, 0.099), False),
        (dirty(0.2, 0.2, writes=20 * 1800), True),
        (dirty(0.2, 0.2, writes=21 * 1800), False),
        # bcache keeps 10 % dirty on purpose.
        (dirty(0.19, 0.19, kept_dirty_share=0.1), False),
        (dirty(0.21, 0.21, kept_dirty_share=0.1), True),
        # A flush must get on, however much is written and however little is left.
        (dirty(0.01, 0.01, is_cleaning=True, writes=10**6), True),
        (dirty(0.01, 0.009, is_cleaning=True), False),
        (dirty(0.0, 0.0, is_cleaning=True), False),
    ],
)
def test_dirty_data_that_does_not_become_less(figures: RecentFigures, is_stuck: bool) -> None:
    assert ("cache_dirty_stuck" in codes(recent_findings(figures))) == is_stuck


def test_dirty_data_that_was_less_in_between_is_not_stuck() -> None:
    half_hour = dataclasses.replace(dirty(0.2, 0.2).half_hour, dirty_least=GIB // 10)
    assert codes(recent_findings(dataclasses.replace(dirty(0.2, 0.2), half_hour=half_hour))) == []


def test_what_is_stuck_is_said_with_its_figures_and_the_panels_words() -> None:
    finding = the(recent_findings(dirty(0.25, 0.375, writes=1800)))
    assert finding.message == (
        "The dirty data in the cache of vg0/web12 does not decrease: 256 MiB 30 min ago, "
        "384 MiB now, although the guest made only 1 write a second."
    )
    assert finding.correction.startswith("Choose Flush cache.")
    assert "although the guest hardly wrote" in the(recent_findings(dirty(0.25, 0.375))).message
    flushed = the(recent_findings(dirty(0.25, 0.375, is_cleaning=True)))
    assert "although it is being flushed" in flushed.message


@pytest.mark.parametrize(("least", "limit", "is_high"), [
    (0.5, 50, False), (0.51, 50, True), (0.51, 60, False), (0.61, 60, True), (0.1, 0, True),
])  # fmt: skip
def test_dirty_data_above_the_hosts_limit(least: float, limit: int, is_high: bool) -> None:
    busy = dirty(0.9, least, writes=10**6, dirty_limit_percent=limit)
    assert codes(recent_findings(busy)) == ["cache_dirty_high"] * is_high


# What is read


def reading(rate: float, **fields: Any) -> dict[str, Any]:
    """10,000 reads of 4 KiB in an hour, of which that many hit."""
    hits = round(10_000 * rate)
    return {
        "dt_ms": HOUR_MS,
        "reads": 10_000,
        "read_sectors": 80_000,
        "read_hits": hits,
        "read_misses": 10_000 - hits,
        **fields,
    }


def thrashing(rate: float = 0.1, promoted: int = 900, used: float = 1.0) -> RecentFigures:
    """A cache of 1 GiB: of 39 MiB read an hour, `rate` came from it."""
    hour = CacheWindow(
        sums=Sums(**reading(rate, promotions=promoted)), used_least=round(used * GIB)
    )
    return RecentFigures(name=NAME, size_bytes=GIB, chunk_bytes=64 * KIB, hour=hour)


@pytest.mark.parametrize(
    ("figures", "is_thrash"),
    [
        (thrashing(), True),
        (thrashing(rate=0.29, promoted=900), True),
        (thrashing(rate=0.30, promoted=900), False),
        (thrashing(used=0.94), False),
        (thrashing(used=0.96), True),
        # 51 MiB are a twentieth of the cache; 33.9 MiB are thrice what was served.
        (thrashing(rate=0.29, promoted=820), True),
        (thrashing(rate=0.29, promoted=800), False),
        (thrashing(rate=0.0, promoted=0), False),
    ],
)
def test_a_cache_that_is_filled_far_more_than_it_is_read(
    figures: RecentFigures, is_thrash: bool
) -> None:
    assert codes(recent_findings(figures)) == ["cache_thrash"] * is_thrash


def counts(**fields: Any) -> ReadCounts:
    """An hour of 10,000 reads: 9,700 let pass and read from the slow disk, the rest hits."""
    defaults = {"hits": 290, "misses": 10, "bypass_hits": 0, "bypass_misses": 9700}
    return ReadCounts(**{**defaults, "guest_reads": 10_000, "seconds": 3600.0, **fields})


def uncounted(read_counts: ReadCounts | None, used: float = 1.0, missed: float = 0.97) -> Any:
    """A cache whose promotions are not counted: only what the slow disk had to read is known."""
    sums = Sums(
        dt_ms=HOUR_MS,
        reads=10_000,
        read_sectors=800_000,
        bcache_reads=10_000,
        bcache_read_sectors=800_000,
        backing_read_sectors=round(800_000 * missed),
    )
    hour = CacheWindow(sums=sums, used_least=round(used * GIB))
    return RecentFigures(name=NAME, size_bytes=GIB, hour=hour, read_counts=read_counts)


def test_what_missed_without_being_let_pass_filled_the_cache() -> None:
    all_cached = counts(hits=300, misses=9700, bypass_misses=0)
    assert codes(recent_findings(uncounted(all_cached))) == ["cache_thrash"]
    assert codes(recent_findings(uncounted(all_cached, used=0.9))) == []
    assert codes(recent_findings(uncounted(None))) == []


@pytest.mark.parametrize(("written", "is_thrash"), [(1_000_000, True), (400_000, False)])
def test_what_the_ssd_wrote_beyond_the_guests_writes_filled_the_cache_where_counts_are_lost(
    written: int, is_thrash: bool
) -> None:
    """300,000 sectors of it the guest wrote; 24,000 were read from the cache."""
    figures = uncounted(counts(hits=100, misses=100, bypass_misses=0))
    sums = dataclasses.replace(figures.hour.sums, write_sectors=300_000)
    hour = dataclasses.replace(figures.hour, sums=sums, fast_write_sectors=written)
    found = codes(recent_findings(dataclasses.replace(figures, hour=hour)))
    assert found == ["cache_thrash"] * is_thrash


@pytest.mark.parametrize(
    ("read_counts", "is_bypassed"),
    [
        (counts(), True),
        (counts(hits=489, misses=11, bypass_misses=9500), True),
        (counts(hits=489, misses=12, bypass_misses=9499), False),
        (counts(bypass_hits=4700, bypass_misses=5000), True),
        (counts(bypass_hits=4720, bypass_misses=4980), False),
        (counts(hits=240, misses=60), True),
        (counts(hits=239, misses=61), False),
        # The kernel lost counts.
        (counts(guest_reads=11_111), True),
        (counts(guest_reads=11_112), False),
        (counts(seconds=2879.0), False),
    ],
)
def test_reads_that_pass_the_cache_while_its_hit_rate_looks_fine(
    read_counts: ReadCounts, is_bypassed: bool
) -> None:
    assert codes(recent_findings(uncounted(read_counts))) == ["cache_bypassed"] * is_bypassed


def doubted(rate: float, slow_sectors: int, **fields: Any) -> RecentFigures:
    sums = Sums(**{**reading(rate, dt_ms=10 * MINUTE_MS), **fields})
    short = CacheWindow(sums=sums, leg_sums=sums, slow_read_sectors=slow_sectors)
    return RecentFigures(name=NAME, size_bytes=GIB, chunk_bytes=64 * KIB, short=short)


@pytest.mark.parametrize(
    ("figures", "is_doubtful"),
    [
        # All are hits, and yet the slow disk read most of it.
        (doubted(1.0, 72_000), True),
        (doubted(1.0, 20_001), True),
        (doubted(1.0, 20_000), False),
        # 500 misses of up to 64 KiB can be 64,000 sectors.
        (doubted(0.95, 64_000), False),
        (doubted(0.95, 71_000), True),
        # None is a hit, and yet the slow disk read little.
        (doubted(0.0, 59_000), True),
        (doubted(0.0, 60_000), False),
        # Chunks that were promoted were read from the slow disk too.
        (doubted(1.0, 72_000, promotions=600), False),
        (doubted(0.0, 80_000, promotions=600), False),
    ],
)
def test_a_hit_rate_that_the_legs_contradict(figures: RecentFigures, is_doubtful: bool) -> None:
    assert codes(recent_findings(figures)) == ["hit_rate_doubtful"] * is_doubtful


# Days


def hours(rate: float, accesses: int = 100_000, **fields: Any) -> CacheHours:
    hits = round(accesses * rate)
    sums = Sums(dt_ms=DAY_S * 1000, reads=accesses, read_hits=hits, read_misses=accesses - hits)
    defaults = {"cache_seconds": DAY_S, "used_least": GIB, "size_bytes": GIB}
    return CacheHours(**{"sums": sums, **defaults, **fields})


def waiting(rate: float, accesses: int, miss_ms: int = 8, **fields: Any) -> CacheHours:
    """A day in which each missed read took so long, one at a time."""
    day = hours(rate, accesses, **fields)
    read_ms = day.sums.read_misses * miss_ms
    sums = dataclasses.replace(day.sums, read_ms=read_ms, busy_ms=read_ms)
    return dataclasses.replace(day, sums=sums)


@pytest.mark.parametrize(
    ("day", "is_useless"),
    [
        # Few of many reads: 5 % of 2 million save a quarter of an hour.
        (waiting(0.05, 2_000_000), False),
        (waiting(0.019, 2_000_000), True),
        # Many of few: 40 % of 15,000 save 47 s, of 20,000 over a minute.
        (waiting(0.4, 15_000), True),
        (waiting(0.4, 20_000), False),
        # The disk answers at once.
        (waiting(0.3, 100_000, miss_ms=1), True),
        (waiting(0.5, 10_000), False),
        (waiting(0.05, 9_999), False),
        (waiting(0.01, 100_000, used_least=round(0.951 * GIB)), True),
        (waiting(0.01, 100_000, used_least=round(0.949 * GIB)), False),
        (waiting(0.01, 100_000, cache_seconds=0.79 * DAY_S), False),
    ],
)
def test_a_full_cache_that_saves_no_wait(day: CacheHours, is_useless: bool) -> None:
    found = lasting_findings(LastingFigures(name=NAME, day=day))
    assert codes(found) == ["cache_useless"] * is_useless


def test_what_a_writeback_cache_saves_is_not_in_its_reads_alone() -> None:
    day = waiting(0.01, 100_000)
    (finding,) = lasting_findings(LastingFigures(name=NAME, day=day))
    assert "saved its guest about 8 s of waiting" in finding.message
    assert list(lasting_findings(LastingFigures(name=NAME, day=day, is_writeback=True))) == []


@pytest.mark.parametrize(
    ("late", "week_ago", "has_fallen"),
    [
        (hours(0.70), hours(0.91), True),
        (hours(0.70), hours(0.899), False),
        (hours(0.70, accesses=9_999), hours(0.95), False),
        (hours(0.70), hours(0.95, accesses=9_999), False),
        (hours(0.70, size_bytes=GIB // 2), hours(0.95), False),
        # It was made anew, and is not full again yet.
        (hours(0.70, used_least=GIB // 2), hours(0.95), False),
        (hours(0.70), hours(0.95, cache_seconds=4 * 3600), False),
    ],
)
def test_a_hit_rate_that_fell_against_the_same_hours_of_last_week(
    late: CacheHours, week_ago: CacheHours, has_fallen: bool
) -> None:
    found = lasting_findings(LastingFigures(name=NAME, late=late, week_ago=week_ago))
    assert codes(found) == ["hit_rate_fell"] * has_fallen


def day_among_weeks(day: CacheHours, *weeks_before: CacheHours) -> LastingFigures:
    return LastingFigures(name=NAME, size_bytes=GIB, whole_day=day, weeks_before=weeks_before)


@pytest.mark.parametrize(
    ("lasting", "is_below"),
    [
        (day_among_weeks(hours(0.60), *[hours(0.81)] * 4), True),
        (day_among_weeks(hours(0.60), *[hours(0.799)] * 4), False),
        # One week that was as bad does not make it usual, two of four do.
        (day_among_weeks(hours(0.60), *[hours(0.81)] * 3, hours(0.60)), True),
        (day_among_weeks(hours(0.60), *[hours(0.81)] * 2, *[hours(0.60)] * 2), False),
        (day_among_weeks(hours(0.60), *[hours(0.95)] * 2), True),
        (day_among_weeks(hours(0.60), hours(0.95)), False),
        (day_among_weeks(hours(0.60), hours(0.95), hours(0.95, accesses=9_999)), False),
        (day_among_weeks(hours(0.60), hours(0.95), hours(0.95, size_bytes=GIB // 2)), False),
        (day_among_weeks(hours(0.60), hours(0.95), hours(0.95, cache_seconds=60_000)), False),
        (day_among_weeks(hours(0.60, accesses=9_999), *[hours(0.95)] * 4), False),
        (day_among_weeks(hours(0.60, cache_seconds=60_000), *[hours(0.95)] * 4), False),
        # It was made anew, and is not full again yet.
        (day_among_weeks(hours(0.60, used_least=GIB // 2), *[hours(0.95)] * 4), False),
        # It was never full.
        (day_among_weeks(hours(0.60, used_least=5), *[hours(0.95, used_least=6)] * 4), True),
        # It has another size by now.
        (dataclasses.replace(day_among_weeks(hours(0.6), *[hours(0.95)] * 4), size_bytes=1), False),
    ],
)
def test_a_hit_rate_below_what_is_usual_on_that_weekday(
    lasting: LastingFigures, is_below: bool
) -> None:
    assert codes(lasting_findings(lasting)) == ["hit_rate_below_usual"] * is_below


def test_a_hit_rate_below_usual_is_reported_with_its_figures() -> None:
    lasting = day_among_weeks(hours(0.6), *[hours(0.9)] * 3, CacheHours())
    assert the(lasting_findings(lasting)).message == (
        "On its last whole day (UTC) with enough reads, the read hit rate of vg0/web12 was 60 % "
        "(100,000 reads). On that weekday it usually was 90 % (median of 3 earlier weeks)."
    )


@pytest.mark.parametrize(
    ("day", "is_known"),
    [
        (hours(0.6), True),
        (hours(0.95), True),
        (hours(0.95, accesses=9_999), False),
        (hours(0.95, cache_seconds=60_000), False),
        (CacheHours(), False),
    ],
)
def test_a_day_without_enough_reads_says_nothing_of_the_hit_rate(
    day: CacheHours, is_known: bool
) -> None:
    unknown = lasting_unknown(day_among_weeks(day, *[hours(0.95)] * 4))
    assert unknown == (frozenset() if is_known else {"hit_rate_below_usual"})


def timed(bucket: int, ios: int = 20_000, load: int = 100_000, **fields: Any) -> CacheHours:
    """A day whose I/Os all took as long as that bucket of the histogram says."""
    latencies = [*NO_LATENCY]
    latencies[bucket] = ios
    sums = Sums(dt_ms=DAY_S * 1000, reads=load, latency_counts=tuple(latencies))
    return CacheHours(**{"sums": sums, "cache_seconds": DAY_S, **fields})


@pytest.mark.parametrize(
    ("day", "before", "is_slower"),
    [
        (timed(6), timed(5), True),
        (timed(5), timed(5), False),
        (timed(4), timed(5), False),
        (timed(6, ios=9_999), timed(5), False),
        (timed(6), timed(5, ios=9_999), False),
        (timed(6, load=150_000), timed(5), True),
        (timed(6, load=150_001), timed(5), False),
        (timed(6, cache_seconds=0.7 * DAY_S), timed(5), False),
    ],
)
def test_a_cache_that_is_slower_than_the_disk_was(
    day: CacheHours, before: CacheHours, is_slower: bool
) -> None:
    found = lasting_findings(LastingFigures(name=NAME, day=day, before_cache=before))
    assert codes(found) == ["cache_slower"] * is_slower


def averaged(
    took_ms: float, ios: int = 100_000, sectors: int = 8, cache_seconds: float = DAY_S
) -> CacheHours:
    """A day of a volume whose I/Os no histogram times, as bcache has it."""
    sums = Sums(
        dt_ms=DAY_S * 1000,
        reads=ios // 2,
        writes=ios - ios // 2,
        read_sectors=ios * sectors,
        read_ms=int(ios * took_ms / 4),
        write_ms=int(ios * took_ms * 3 / 4),
    )
    return CacheHours(sums=sums, cache_seconds=cache_seconds)


@pytest.mark.parametrize(
    ("day", "before", "is_slower"),
    [
        (averaged(8), averaged(4), True),
        (averaged(7.9), averaged(4), False),
        (averaged(4), averaged(8), False),
        (averaged(8, ios=9_999), averaged(4), False),
        (averaged(8), averaged(4, ios=9_999), False),
        (averaged(8, ios=150_000), averaged(4), True),
        (averaged(8, ios=150_010), averaged(4), False),
        (averaged(8, sectors=12), averaged(4), True),
        (averaged(8, sectors=13), averaged(4), False),
        (averaged(8, cache_seconds=0.7 * DAY_S), averaged(4), False),
        (averaged(8), averaged(0), False),
        (averaged(8), timed(5), False),
    ],
)
def test_without_a_histogram_on_both_sides_the_average_is_compared(
    day: CacheHours, before: CacheHours, is_slower: bool
) -> None:
    found = [*lasting_findings(LastingFigures(name=NAME, day=day, before_cache=before))]
    assert codes(found) == ["cache_slower"] * is_slower
    if found:
        assert "on average an I/O took 8.00 ms in the last 1 d" in found[0].message


# SSDs


def load(**fields: Any) -> DiskLoad:
    """A quarter of an hour of an SSD that is full of work."""
    defaults = {"ios": 1_000_000, "busy_ms": 900_000, "weighted_ms": 9_000_000}
    return DiskLoad(**{"disk": "sdb", "seconds": 900.0, **defaults, **fields})


@pytest.mark.parametrize(
    ("of_disk", "is_full"),
    [
        (load(), True),
        (load(busy_ms=855_000), True),
        (load(busy_ms=854_000), False),
        (load(weighted_ms=7_200_000), True),
        (load(weighted_ms=7_190_000), False),
        # Many at once, but each is quick: it keeps up.
        (load(ios=4_500_000), True),
        (load(ios=4_600_000), False),
        (load(ios=0), False),
        (load(seconds=700.0), False),
    ],
)
def test_an_ssd_is_saturated_when_much_waits_for_it_all_the_time(
    of_disk: DiskLoad, is_full: bool
) -> None:
    assert is_saturated_ssd(of_disk) == is_full


def test_a_saturated_ssd_is_reported_with_its_figures() -> None:
    assert ssd_finding(load()).message == (
        "The SSD sdb is saturated: in the last 15 min it was busy 100 % of the time with 1111 "
        "I/Os a second, 10 at once, and each took 9.00 ms."
    )


# Without figures

SMALL = st.integers(0, 10**13)
MAYBE = st.none() | SMALL
SUMS = st.builds(
    Sums,
    **{
        field.name: SMALL if field.name != "dt_ms" else st.sampled_from([0, 1, HOUR_MS, 10**9])
        for field in dataclasses.fields(Sums)
        if field.name != "latency_counts"
    },
    latency_counts=st.tuples(*[st.integers(0, 10**9)] * len(NO_LATENCY)),
)
SHARES = st.none() | st.floats(0, 2)
WINDOWS = st.builds(
    CacheWindow,
    sums=SUMS,
    leg_sums=SUMS,
    **dict.fromkeys(
        ("dirty_first", "dirty_last", "dirty_least", "used_least", "slow_read_sectors"), MAYBE
    ),
)
HOURS = st.builds(
    CacheHours,
    sums=SUMS,
    cache_seconds=st.floats(0, 10**6),
    used_least=MAYBE,
    size_bytes=MAYBE,
)
READ_COUNTS = st.builds(
    ReadCounts,
    **dict.fromkeys(("hits", "misses", "bypass_hits", "bypass_misses", "guest_reads"), SMALL),
    seconds=st.floats(0, 10**6),
)
STATES = st.builds(
    LastCacheState,
    name=st.text(max_size=9),
    frozen_seconds=st.none() | st.floats(0, 10**9),
    is_read_only=st.booleans(),
    metadata_share=SHARES,
)
RECENT = st.builds(
    RecentFigures,
    name=st.text(max_size=9),
    size_bytes=MAYBE,
    is_cleaning=st.booleans(),
    kept_dirty_share=st.floats(0, 1),
    dirty_limit_percent=st.integers(0, 100),
    chunk_bytes=MAYBE,
    short=WINDOWS,
    half_hour=WINDOWS,
    hour=WINDOWS,
    read_counts=st.none() | READ_COUNTS,
)
LASTING = st.builds(
    LastingFigures,
    name=st.text(max_size=9),
    day=HOURS,
    late=HOURS,
    week_ago=HOURS,
    before_cache=HOURS,
    size_bytes=MAYBE,
    whole_day=HOURS,
    weeks_before=st.tuples(HOURS, HOURS),
)


@given(STATES, RECENT, LASTING)
def test_whatever_the_figures_are_the_rules_say_something_or_nothing(
    now: LastCacheState, recent: RecentFigures, lasting: LastingFigures
) -> None:
    assert {*codes(state_findings(now))} <= judged_by("sample")
    assert {*codes(recent_findings(recent))} <= judged_by("hour")
    assert {*codes(lasting_findings(lasting))} <= judged_by("days")
    for finding in [*state_findings(now), *recent_findings(recent), *lasting_findings(lasting)]:
        assert finding.message and finding.correction


@given(RECENT, LASTING)
def test_without_samples_nothing_is_wrong(recent: RecentFigures, lasting: LastingFigures) -> None:
    nothing = CacheWindow()
    blank = dataclasses.replace(recent, short=nothing, half_hour=nothing, hour=nothing)
    assert codes(recent_findings(blank)) == []
    unknown = CacheHours()
    blank_days = dataclasses.replace(lasting, day=unknown, late=unknown, whole_day=unknown)
    assert codes(lasting_findings(blank_days)) == []
    assert codes(state_findings(LastCacheState(name=recent.name))) == []
