"""How well caches work, from their figures: what is wrong, the evidence, and what to do. Pure.

Each rule looks at one period. With too few figures there is no finding.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Final

from storage.byte_sizes import SECTOR_BYTES
from storage.formatting import counted, ms, percent, seconds, size, thousands
from storage.health.host_problems import HealthFinding
from storage.metrics.rates import Sums, percentile_ms, read_hit_rate
from storage.metrics.rates.warming import FULL
from storage.metrics.waiting import waited_seconds
from storage.models.host import DIRTY_LIMIT_PERCENT

FROZEN_SECONDS: Final = 30
"""A reload of a table, or a snapshot, suspends a device for less than a second."""
METADATA_SHARE: Final = 0.8
"""At 100 % dm-cache switches its metadata to read-only, and the next restart needs a repair."""

SHORT: Final = timedelta(minutes=10)
HALF_HOUR: Final = timedelta(minutes=30)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
SAME_HOURS: Final = timedelta(hours=6)
COVERED: Final = 0.8
"""The share of a period that must have figures."""

LEAST_DIRTY_SHARE: Final = 0.1
"""Less dirty data than this share of the cache, on top of what is left dirty on purpose, is usual:
dm-cache writes back only while its volume has had no I/O for a second."""
LEAST_CLEANING_SHARE: Final = 0.001
QUIET_WRITES_PER_SECOND: Final = 20
"""A quarter of what one HDD takes (about 80 small writes a second)."""
FELL_BY: Final = 0.99

THRASH_FACTOR: Final = 3
THRASH_HIT_RATE: Final = 0.3
THRASH_ACCESSES: Final = 1_000
USELESS_SECONDS: Final = 60.0
USELESS_SHARE: Final = 0.02
"""A full cache that saves its guest less waiting in a day than this, or than this share of what it
would wait, is of no use."""
JUDGED_HIT_RATE: Final = 0.5
"""Where fewer reads miss, what a miss takes is not measured well enough to say what hits save."""
DAY_ACCESSES: Final = 10_000
FELL_POINTS: Final = 20
WEEKS_COMPARED: Final = 4
LEAST_WEEKS: Final = 2
"""A single day of an earlier week does not show what is usual."""
BYPASSED_SHARE: Final = 0.95
FINE_HIT_RATE: Final = 0.8
SERVED_SHARE: Final = 0.5
BYPASS_READS: Final = 1_000
COUNTED_SHARE: Final = 0.9
"""bcache loses counts above 4,806 a second: where it counted a smaller share of the guest's reads,
its counts say nothing."""
DOUBTFUL_POINTS: Final = 25
DOUBTFUL_ACCESSES: Final = 1_000
SLACK: Final = 1.1
SLOWER_FACTOR: Final = 2
"""A bucket of the stored histograms is up to a factor of 2.5 wide: less is no difference."""
TIMED_IOS: Final = 10_000
LIKE_LOAD: Final = 1.5
LIKE_SIZE: Final = 1.5
"""Large I/Os take longer: averages compare disks only where the I/Os are of like size."""
BUSY_SHARE: Final = 0.95
WAITING: Final = 8
"""SSDs work on many I/Os at once, so that busy time alone says little: this many must wait too, on
average, each of them for `SLOW_SSD_MS`."""
SLOW_SSD_MS: Final = 2.0
SATURATED_MINUTES: Final = 15

NO_SUMS: Final = Sums()


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCacheState:
    """What the last sample says. `frozen_seconds` is for how long every sample has found the device
    suspended; None where it is not. `metadata_share` is 0 to 1, None where it is unknown."""

    name: str
    frozen_seconds: float | None = None
    is_read_only: bool = False
    metadata_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheWindow:
    """Samples of a period, added up. Dirty and used bytes are the first, the last and the least of
    it. `leg_sums` are those samples in which both legs were counted, with `slow_read_sectors`, what
    the slow disk had to read. `fast_write_sectors` went to the SSD."""

    sums: Sums = NO_SUMS
    dirty_first: int | None = None
    dirty_last: int | None = None
    dirty_least: int | None = None
    used_least: int | None = None
    leg_sums: Sums = NO_SUMS
    slow_read_sectors: int | None = None
    fast_write_sectors: int | None = None

    def covers(self, period: timedelta) -> bool:
        return self.sums.dt_ms >= COVERED * period.total_seconds() * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCounts:
    """What a cache counted of reads that it served (`hits`) or not, and of those that it let pass
    without caching them."""

    hits: int
    misses: int
    bypass_hits: int
    bypass_misses: int
    guest_reads: int
    seconds: float

    @property
    def all(self) -> int:
        return self.hits + self.misses + self.bypass_hits + self.bypass_misses

    @property
    def is_complete(self) -> bool:
        return self.all >= max(BYPASS_READS, COUNTED_SHARE * self.guest_reads)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentFigures:
    """A cache in the last hour. `kept_dirty_share` is what its technology leaves dirty on purpose.
    `is_cleaning`: it is writing everything back on request. `chunk_bytes` is what it promotes at
    once. A figure that is None is unknown."""

    name: str
    size_bytes: int | None = None
    is_cleaning: bool = False
    kept_dirty_share: float = 0.0
    dirty_limit_percent: int = DIRTY_LIMIT_PERCENT
    chunk_bytes: int | None = None
    short: CacheWindow = CacheWindow()
    half_hour: CacheWindow = CacheWindow()
    hour: CacheWindow = CacheWindow()
    read_counts: ReadCounts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHours:
    """Whole hours of a volume, added up, in which its cache counted for `cache_seconds`.
    `used_least` is the least at the end of one of them, `size_bytes` the cache's."""

    sums: Sums = NO_SUMS
    cache_seconds: float = 0.0
    used_least: int | None = None
    size_bytes: int | None = None

    @property
    def used_share(self) -> float | None:
        if self.used_least is None or not self.size_bytes:
            return None
        return self.used_least / self.size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LastingFigures:
    """A cache over days: the last day, the last hours and the same hours of a week before, and
    hours in which the volume had no cache yet; the last whole day (UTC) and the same weekday of the
    weeks before. `size_bytes` is the cache's now. What a cache in writeback mode saves is not in
    its reads alone."""

    name: str
    size_bytes: int | None = None
    is_writeback: bool = False
    day: CacheHours = CacheHours()
    late: CacheHours = CacheHours()
    week_ago: CacheHours = CacheHours()
    before_cache: CacheHours = CacheHours()
    whole_day: CacheHours = CacheHours()
    weeks_before: tuple[CacheHours, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLoad:
    """What a disk did in `seconds`: I/Os, the time with any under way, and their waiting times
    added up."""

    disk: str
    seconds: float
    ios: int
    busy_ms: int
    weighted_ms: int


def state_findings(now: LastCacheState) -> Iterator[HealthFinding]:
    """What is wrong this moment."""
    if now.frozen_seconds is not None and now.frozen_seconds >= FROZEN_SECONDS:
        yield HealthFinding(
            "volume_frozen",
            "error",
            f"{now.name} has been suspended for {seconds(now.frozen_seconds)}: every I/O of its "
            "guest waits.",
            "See on the host whether an LVM command is still at work (pgrep -a lv). If none is: "
            f"dmsetup resume {shlex.quote(f'/dev/{now.name}')}",
        )
    if now.is_read_only:
        yield HealthFinding(
            "cache_read_only",
            "error",
            f"The metadata of the cache of {now.name} cannot be written any more: the cache takes "
            "no new blocks, and may not start after a reboot.",
            "Look at dmesg on the host for the reason. Then Remove cache, and Add a cache again.",
        )
    share = now.metadata_share
    if share is not None and share > METADATA_SHARE:
        yield HealthFinding(
            "cache_metadata_full",
            "warning",
            f"The metadata of the cache of {now.name} is {percent(share)} full (limit "
            f"{percent(METADATA_SHARE)}).",
            "LVM cannot enlarge it in place. Choose Cache size: the new cache has metadata of its "
            "own.",
        )


def recent_findings(recent: RecentFigures) -> Iterator[HealthFinding]:
    """What the last hour shows."""
    if recent.size_bytes:
        yield from _dirty_stuck(recent, recent.size_bytes)
        yield from _dirty_high(recent, recent.size_bytes)
        yield from _thrash(recent, recent.size_bytes)
    yield from _bypassed(recent)
    yield from _doubtful(recent)


def _dirty_stuck(recent: RecentFigures, size_bytes: int) -> Iterator[HealthFinding]:
    period = SHORT if recent.is_cleaning else HALF_HOUR
    window = recent.short if recent.is_cleaning else recent.half_hour
    first, last, least = window.dirty_first, window.dirty_last, window.dirty_least
    if first is None or last is None or least is None or not window.covers(period):
        return
    usual = recent.kept_dirty_share + LEAST_DIRTY_SHARE
    share = LEAST_CLEANING_SHARE if recent.is_cleaning else usual
    if last < share * size_bytes or least < FELL_BY * first:
        return
    # What has only just been written had no time to become less.
    if not recent.is_cleaning and least < share * size_bytes:
        return
    writes = window.sums.writes * 1000 / window.sums.dt_ms
    if not recent.is_cleaning and writes > QUIET_WRITES_PER_SECOND:
        return
    few = f"made only {counted(round(writes), 'write')} a second" if writes >= 1 else "hardly wrote"
    why = "although it is being flushed" if recent.is_cleaning else f"although the guest {few}"
    yield HealthFinding(
        "cache_dirty_stuck",
        "warning",
        f"The dirty data in the cache of {recent.name} does not decrease: {size(first)} "
        f"{seconds(period.total_seconds())} ago, {size(last)} now, {why}.",
        "Choose Flush cache. If that does not help, set the volume to writethrough under Cache "
        "mode and settings, and raise its migration threshold there where it has one.",
    )


def _dirty_high(recent: RecentFigures, size_bytes: int) -> Iterator[HealthFinding]:
    window, limit = recent.half_hour, recent.dirty_limit_percent
    last, least = window.dirty_last, window.dirty_least
    if last is None or least is None or not window.covers(HALF_HOUR):
        return
    if least * 100 <= limit * size_bytes:
        return
    yield HealthFinding(
        "cache_dirty_high",
        "warning",
        f"{percent(last / size_bytes)} of the cache of {recent.name} is dirty ({size(last)} of "
        f"{size(size_bytes)}), and never less than {percent(least / size_bytes)} in the last "
        f"{seconds(HALF_HOUR.total_seconds())}. The limit is {limit} %.",
        "Choose Flush cache, or set the volume to writethrough under Cache mode and settings. The "
        "settings of its host have the limit.",
    )


def _is_full(used_least: int | None, size_bytes: int) -> bool:
    return used_least is not None and used_least >= FULL * size_bytes


def _thrash(recent: RecentFigures, size_bytes: int) -> Iterator[HealthFinding]:
    window = recent.hour
    rate = read_hit_rate(window.sums, least=THRASH_ACCESSES)
    if rate is None or rate >= THRASH_HIT_RATE or not window.covers(HOUR):
        return
    filled = _filled_bytes(recent)
    served = rate * window.sums.read_sectors * SECTOR_BYTES
    if filled is None or not filled or not _is_full(window.used_least, size_bytes):
        return
    # A cache that fills a little is no trouble, however few of its reads are hits.
    if filled < THRASH_FACTOR * served or filled < 0.05 * size_bytes:
        return
    yield HealthFinding(
        "cache_thrash",
        "warning",
        f"The cache of {recent.name} changes what it holds all the time: in the last hour "
        f"{size(round(filled))} were copied to the SSD, and {size(round(served))} read from it. "
        f"Its read hit rate was {percent(rate)}.",
        "Choose Cache size and take a larger one. If none is large enough, Remove cache: it wears "
        "the SSD and slows the HDD.",
    )


def _filled_bytes(recent: RecentFigures) -> float | None:
    """What was copied to the SSD because it was read, in the last hour: counted, or estimated from
    what missed without being let pass, or at least what the guest did not write."""
    sums, counts = recent.hour.sums, recent.read_counts
    if not sums.bcache_reads:
        return None if recent.chunk_bytes is None else sums.promotions * recent.chunk_bytes
    if counts is None or not counts.is_complete:
        written = recent.hour.fast_write_sectors
        return None if written is None else max(0, written - sums.write_sectors) * SECTOR_BYTES
    missed = counts.misses + counts.bypass_misses
    return sums.backing_read_sectors * SECTOR_BYTES * counts.misses / missed if missed else 0.0


def _bypassed(recent: RecentFigures) -> Iterator[HealthFinding]:
    counts = recent.read_counts
    if counts is None or not counts.is_complete or not recent.hour.covers(HOUR):
        return
    if counts.seconds < COVERED * HOUR.total_seconds():
        return
    bypassed = (counts.bypass_hits + counts.bypass_misses) / counts.all
    served = (counts.hits + counts.bypass_hits) / counts.all
    cached = counts.hits + counts.misses
    own = counts.hits / cached if cached else 0.0
    if bypassed < BYPASSED_SHARE or served >= SERVED_SHARE or own < FINE_HIT_RATE:
        return
    yield HealthFinding(
        "cache_bypassed",
        "warning",
        f"{percent(bypassed)} of the reads of {recent.name} went past its cache in the last "
        f"{seconds(counts.seconds)}, and {percent(served)} of all came from the SSD. The kernel's "
        f"own hit rate, {percent(own)}, leaves those out.",
        "Set the sequential cutoff to 0 under Cache mode and settings. If it is 0, look at "
        "congested_read_threshold_us of the cache set on the host.",
    )


def _doubtful(recent: RecentFigures) -> Iterator[HealthFinding]:
    """Hits are counted by the I/O, the legs by the sector: large misses beside small hits differ
    too. Only what no sizes of I/O can explain is a finding."""
    window, chunk = recent.short, recent.chunk_bytes
    sums, slow = window.leg_sums, window.slow_read_sectors
    rate = read_hit_rate(sums, least=DOUBTFUL_ACCESSES)
    if rate is None or slow is None or chunk is None or not sums.read_sectors:
        return
    if sums.dt_ms < COVERED * SHORT.total_seconds() * 1000:
        return
    chunk_sectors = chunk // SECTOR_BYTES
    from_slow = min(max(0, slow - sums.promotions * chunk_sectors), sums.read_sectors)
    share = 1 - from_slow / sums.read_sectors
    if abs(rate - share) * 100 <= DOUBTFUL_POINTS:
        return
    too_fine = rate > share and slow > SLACK * (sums.read_misses + sums.promotions) * chunk_sectors
    # Some promotions read nothing: without them no read of the slow disk is left out.
    from_fast = sums.read_sectors - slow
    too_poor = rate < share and from_fast > SLACK * sums.read_hits * chunk_sectors
    if too_fine or too_poor:
        yield HealthFinding(
            "hit_rate_doubtful",
            "warning",
            f"The read hit rate of {recent.name} was {percent(rate)} in the last "
            f"{seconds(SHORT.total_seconds())}, but {percent(share)} of what it read came from the "
            "SSD. The sizes of its reads cannot explain that.",
            "Do not rely on its hit rate. See whether another program reads the slow part of the "
            "volume on the host; under Cache mode and settings the mode must not be passthrough.",
        )


def lasting_findings(lasting: LastingFigures) -> Iterator[HealthFinding]:
    """What the last days show."""
    yield from _useless(lasting)
    yield from _fell(lasting)
    yield from _below_usual(lasting)
    yield from _slower(lasting)


def lasting_unknown(lasting: LastingFigures) -> frozenset[str]:
    """The codes of findings that the figures can neither confirm nor end."""
    is_known = _day_rate(lasting.whole_day) is not None
    return frozenset() if is_known else frozenset({"hit_rate_below_usual"})


def _useless(lasting: LastingFigures) -> Iterator[HealthFinding]:
    day, share = lasting.day, lasting.day.used_share
    rate = read_hit_rate(day.sums, least=DAY_ACCESSES)
    if rate is None or share is None or share < FULL or rate >= JUDGED_HIT_RATE:
        return
    if lasting.is_writeback or day.cache_seconds < COVERED * DAY.total_seconds():
        return
    # Reads saved are waiting saved.
    waited = waited_seconds(day.sums)
    saved = waited * rate / (1 - rate)
    if saved >= max(USELESS_SECONDS, USELESS_SHARE * (waited + saved)):
        return
    yield HealthFinding(
        "cache_useless",
        "warning",
        f"The cache of {lasting.name} was full for the last {seconds(DAY.total_seconds())} "
        f"({percent(share)} or more), and saved its guest about {seconds(saved)} of waiting for "
        f"the disk in that time: {percent(rate)} of {thousands(_accesses(day.sums))} reads came "
        f"from it, and the others waited {seconds(waited)}.",
        "Remove cache, and give the SSD space to a volume that waits longer. If it holds data that "
        "the guest does not read again, choose Cache size and take a larger one, or Add a cache "
        "anew so that it begins empty.",
    )


def _fell(lasting: LastingFigures) -> Iterator[HealthFinding]:
    now, then = lasting.late, lasting.week_ago
    rate = read_hit_rate(now.sums, least=DAY_ACCESSES)
    before = read_hit_rate(then.sums, least=DAY_ACCESSES)
    if rate is None or before is None or (before - rate) * 100 <= FELL_POINTS:
        return
    needed = COVERED * SAME_HOURS.total_seconds()
    if min(now.cache_seconds, then.cache_seconds) < needed or now.size_bytes != then.size_bytes:
        return
    used, used_before = now.used_share, then.used_share
    # A new cache has to learn first.
    if used is None or used_before is None or used < min(FULL, COVERED * used_before):
        return
    span = seconds(SAME_HOURS.total_seconds())
    yield HealthFinding(
        "hit_rate_fell",
        "warning",
        f"The read hit rate of {lasting.name} was {percent(rate)} in the last {span} "
        f"({thousands(_accesses(now.sums))} reads); in the same hours of last week it was "
        f"{percent(before)} ({thousands(_accesses(then.sums))} reads).",
        "Its guest reads other data, or more of it. Compare both weeks in the charts; if it does "
        "not recover, choose Cache size and take a larger one.",
    )


def _below_usual(lasting: LastingFigures) -> Iterator[HealthFinding]:
    """By whole days of one weekday: what a guest does every night or every Sunday is usual."""
    now = lasting.whole_day
    alike = [each for each in lasting.weeks_before if each.size_bytes == now.size_bytes]
    rates = [rate for each in alike if (rate := _day_rate(each)) is not None]
    rate, used = _day_rate(now), now.used_share
    if rate is None or used is None or len(rates) < LEAST_WEEKS:
        return
    usual = median(rates)
    if (usual - rate) * 100 <= FELL_POINTS or now.size_bytes != lasting.size_bytes:
        return
    # A new cache has to learn first.
    if used < min(FULL, COVERED * max(each.used_share or 0.0 for each in alike)):
        return
    yield HealthFinding(
        "hit_rate_below_usual",
        "warning",
        f"On its last whole day (UTC) with enough reads, the read hit rate of {lasting.name} was "
        f"{percent(rate)} ({thousands(_accesses(now.sums))} reads). On that weekday it usually was "
        f"{percent(usual)} (median of {counted(len(rates), 'earlier week')}).",
        "Its guest reads other data, or more of it. Compare the weeks in the charts; if the cache "
        "is full, choose Cache size and take a larger one.",
    )


def _day_rate(day: CacheHours) -> float | None:
    """The read hit rate; None where the cache counted for too short a time, or too few reads."""
    if day.cache_seconds < COVERED * DAY.total_seconds():
        return None
    return read_hit_rate(day.sums, least=DAY_ACCESSES)


def _slower(lasting: LastingFigures) -> Iterator[HealthFinding]:
    """By the 99th percentile where both times have a histogram, else (bcache) by the average."""
    now, then = lasting.day, lasting.before_cache
    if now.cache_seconds < COVERED * DAY.total_seconds():
        return
    if any(now.sums.latency_counts) and any(then.sums.latency_counts):
        what = "99 % of its I/Os took at most"
        took, before = _p99(now.sums), _p99(then.sums)
    else:
        what = "on average an I/O took"
        took, before = _average(now.sums, then.sums), _average(then.sums, now.sums)
    if took is None or before is None or took < SLOWER_FACTOR * before:
        return
    load, load_before = _iops(now.sums), _iops(then.sums)
    if not load_before or load > LIKE_LOAD * load_before:
        return
    yield HealthFinding(
        "cache_slower",
        "warning",
        f"{lasting.name} is slower with its cache than without: {what} {ms(took)} in the last "
        f"{seconds(DAY.total_seconds())} ({load:.1f} I/Os a second), and {ms(before)} before it "
        f"had one ({load_before:.1f} a second).",
        "See whether the SSD is saturated or worn. If not, Remove cache.",
    )


def _p99(sums: Sums) -> float | None:
    """None where too few I/Os were timed."""
    enough = sum(sums.latency_counts) >= TIMED_IOS
    return percentile_ms(sums.latency_counts, 0.99) if enough else None


def _average(sums: Sums, other: Sums) -> float | None:
    """In ms; None for too few I/Os, and where the `other` ones were of another size."""
    ios, others = sums.reads + sums.writes, other.reads + other.writes
    sectors = sums.read_sectors + sums.write_sectors
    small, large = sorted((sectors * others, (other.read_sectors + other.write_sectors) * ios))
    took_ms = sums.read_ms + sums.write_ms
    if ios < TIMED_IOS or not took_ms or large > LIKE_SIZE * small:
        return None
    return took_ms / ios


def _iops(sums: Sums) -> float:
    return (sums.reads + sums.writes) * 1000 / sums.dt_ms if sums.dt_ms else 0.0


def _accesses(sums: Sums) -> int:
    return sums.read_hits + sums.read_misses + sums.bcache_reads


def is_saturated_ssd(load: DiskLoad) -> bool:
    """Whether the disk, if it is an SSD, had more to do than it can, all the time."""
    if load.seconds < COVERED * SATURATED_MINUTES * 60 or not load.ios:
        return False
    lasted_ms = load.seconds * 1000
    return (
        load.busy_ms >= BUSY_SHARE * lasted_ms
        and load.weighted_ms >= WAITING * lasted_ms
        and load.weighted_ms >= SLOW_SSD_MS * load.ios
    )


def ssd_finding(load: DiskLoad) -> HealthFinding:
    """Of an SSD that `is_saturated_ssd`."""
    busy = min(1.0, load.busy_ms / (load.seconds * 1000))
    return HealthFinding(
        "ssd_saturated",
        "warning",
        f"The SSD {load.disk} is saturated: in the last {seconds(load.seconds)} it was busy "
        f"{percent(busy)} of the time with {load.ios / load.seconds:.0f} I/Os a second, "
        f"{load.weighted_ms / (load.seconds * 1000):.0f} at once, and each took "
        f"{ms(load.weighted_ms / load.ios)}.",
        "See on the disk's page who writes to it. Move a volume or a cache to another SSD, or add "
        "one.",
    )
