"""Differences of counters: those that wrap, those that were reset, and unknown ones."""

from __future__ import annotations

from typing import Any

import pytest

from storage.inventory.cache_counts import BcacheCounts, DmCacheCounts
from storage.metrics.counters import DiskCounters
from storage.metrics.rates import (
    CachedBy,
    CacheDelta,
    CounterReading,
    Delta,
    Gap,
    GapReason,
    Sums,
    delta,
    gauges,
)
from tests.storage import wire

U32 = 2**32


def change(before: CounterReading | None, after: CounterReading) -> Delta:
    found = delta(before, after)
    assert isinstance(found, Delta), found
    return found


def between(before: dict[str, Any], after: dict[str, Any], seconds: float = 10) -> Delta:
    """The delta of a cached volume with as many reads as the cache counted, and writes enough for
    any plausible count."""
    counted = sum(
        (after.get(name, 0) - before.get(name, 0)) % (U32 + 1)
        for name in ("read_hits", "read_misses")
    )
    busy = wire.disk(reads=min(counted, 10_000_000), writes=10_000_000)
    return change(
        wire.reading(100, cache=wire.cache(**before)),
        wire.reading(100 + seconds, cache=wire.cache(**after), disk=busy),
    )


def gap(before: CounterReading | None, after: CounterReading) -> GapReason:
    found = delta(before, after)
    assert isinstance(found, Gap), found
    return found.reason


def test_a_delta_is_what_moved_in_the_hosts_own_time() -> None:
    old = wire.disk(reads=100, read_sectors=800, read_ms=50, writes=7, in_flight=9)
    new = wire.disk(reads=400, read_sectors=3200, read_ms=80, writes=9, write_ms=4, in_flight=2)
    found = change(wire.reading(100, disk=old), wire.reading(110.25, disk=new))
    assert found.dt_ms == 10_250
    assert (found.reads, found.read_sectors, found.read_ms) == (300, 2400, 30)
    assert (found.writes, found.write_ms) == (2, 4)
    assert found.cache == CacheDelta()
    assert found.cache_gap is None


@pytest.mark.parametrize("name", ["read_ms", "write_ms", "busy_ms", "weighted_ms"])
def test_milliseconds_wrap_at_32_bits(name: str) -> None:
    found = change(
        wire.reading(1, disk=wire.disk(**{name: U32 - 30})),
        wire.reading(11, disk=wire.disk(**{name: 12})),
    )
    assert getattr(found, name) == 42


@pytest.mark.parametrize("name", DiskCounters._fields)
def test_a_disk_counter_that_went_back_is_a_gap(name: str) -> None:
    if name == "in_flight":
        return
    old = wire.disk(**{name: 1000})
    assert gap(wire.reading(1, disk=old), wire.reading(11, disk=wire.disk())) == GapReason.RESET


def test_the_first_sample_has_no_figures() -> None:
    assert gap(None, wire.reading(1)) == GapReason.FIRST


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ({"boot_id": "boot-2"}, GapReason.REBOOTED),
        ({"host_id": 2}, GapReason.MOVED),
        ({"lv_uuid": "other"}, GapReason.MOVED),
        ({"kname": "dm-9"}, GapReason.REPLACED),
        ({"bcache": wire.bcache()}, GapReason.REPLACED),
        ({"disk": wire.disk(reads=30_000_000)}, GapReason.IMPLAUSIBLE),
        ({"disk": wire.disk(write_sectors=10**10)}, GapReason.IMPLAUSIBLE),
    ],
)
def test_an_interval_across_a_break_is_a_gap(after: dict[str, Any], reason: GapReason) -> None:
    assert gap(wire.reading(1), wire.reading(11, **after)) == reason


@pytest.mark.parametrize(
    "renamed", [{"device": "bcache1"}, {"uuid": "0d5b7d1c-6f7f-4a55-9a35-3f8d6f0c0002"}]
)
def test_a_bcache_device_made_anew_is_a_gap(renamed: dict[str, str]) -> None:
    old, new = wire.bcache(), wire.bcache(**renamed)
    assert gap(wire.reading(1, bcache=old), wire.reading(11, bcache=new)) == GapReason.REPLACED


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(10, GapReason.CLOCK), (9, GapReason.CLOCK), (911, GapReason.SILENT)],
)
def test_time_must_pass_but_not_too_much(seconds: float, reason: GapReason) -> None:
    assert gap(wire.reading(10), wire.reading(seconds)) == reason


def test_every_reason_has_a_sentence() -> None:
    assert all(reason.sentence for reason in GapReason)


def test_the_disks_series_runs_through_an_attach_and_a_detach() -> None:
    plain = wire.reading(1, disk=wire.disk(reads=5))
    cached = wire.reading(11, disk=wire.disk(reads=105), cache=wire.cache(read_hits=4_000_000))
    after = wire.reading(21, disk=wire.disk(reads=305))
    attached, detached = change(plain, cached), change(cached, after)
    assert (attached.reads, attached.cache_gap) == (100, GapReason.CACHE_ATTACHED)
    assert attached.cache == CacheDelta()
    assert (detached.reads, detached.cache_gap) == (200, None)


def test_cache_counters_are_subtracted() -> None:
    legs = {"origin": wire.disk(reads=10, read_sectors=80), "cdata": wire.disk(read_sectors=8)}
    grown = {"origin": wire.disk(reads=30, read_sectors=240), "cdata": wire.disk(read_sectors=808)}
    found = between(
        {"read_hits": 5, "read_misses": 5, "promotions": 1, **legs},
        {"read_hits": 905, "read_misses": 105, "write_hits": 3, "promotions": 21, **grown},
    ).cache
    assert found.counts == DmCacheCounts(
        read_hits=900, read_misses=100, write_hits=3, write_misses=0, promotions=20, demotions=0
    )
    assert (found.slow_read_sectors, found.fast_read_sectors) == (160, 800)


def test_a_wrap_of_a_cache_counter_is_followed() -> None:
    found = between({"read_hits": U32 - 500}, {"read_hits": 1500})
    assert found.columns["read_hits"] == 2000


def test_a_wrap_that_the_disk_cannot_have_made_is_a_rewind() -> None:
    before = wire.reading(1, cache=wire.cache(read_hits=U32 - 500))
    after = wire.reading(11, cache=wire.cache(read_hits=50_000), disk=wire.disk(reads=100))
    found = change(before, after)
    assert (found.reads, found.cache_gap) == (100, GapReason.CACHE_REWOUND)


@pytest.mark.parametrize(
    "name",
    ["read_hits", "read_misses", "write_hits", "write_misses", "promotions", "demotions"],
)
def test_a_rewind_to_an_older_save_gives_no_cache_figures(name: str) -> None:
    found = between({name: 3_000_000}, {name: 2_900_000})
    assert (found.cache, found.cache_gap) == (CacheDelta(), GapReason.CACHE_REWOUND)


def test_more_accesses_than_io_are_not_believed() -> None:
    before = wire.reading(1, cache=wire.cache())
    after = wire.reading(
        11, cache=wire.cache(read_hits=900_000), disk=wire.disk(reads=1000, read_sectors=8000)
    )
    assert change(before, after).cache_gap == GapReason.CACHE_IMPLAUSIBLE


@pytest.mark.parametrize(
    ("counted", "reads"), [(1368, 5051), (1093, 4333), (2057, 5738), (6612, 10_604)]
)
def test_reads_that_are_neither_hit_nor_miss_tell_of_a_rewind_that_was_overtaken(
    counted: int, reads: int
) -> None:
    before = wire.reading(1, cache=wire.cache(read_hits=500, read_misses=900))
    cache = wire.cache(read_hits=500 + counted, read_misses=900)
    found = change(before, wire.reading(11, cache=cache, disk=wire.disk(reads=reads)))
    assert (found.reads, found.cache, found.cache_gap) == (
        reads,
        CacheDelta(),
        GapReason.CACHE_REWOUND,
    )


def test_reads_that_disk_and_cache_count_a_moment_apart_are_no_rewind() -> None:
    before = wire.reading(1, cache=wire.cache())
    after = wire.reading(11, cache=wire.cache(read_hits=79_000), disk=wire.disk(reads=100_000))
    assert change(before, after).columns["read_hits"] == 79_000


def test_reads_of_a_snapshot_show_in_the_legs_and_are_believed() -> None:
    before = wire.reading(1, cache=wire.cache(origin=wire.disk(), cdata=wire.disk()))
    legs = {"origin": wire.disk(reads=400_000), "cdata": wire.disk(reads=500_000)}
    cache = wire.cache(read_hits=500_000, read_misses=400_000, **legs)
    assert change(before, wire.reading(11, cache=cache)).columns["read_hits"] == 500_000


@pytest.mark.parametrize(
    "changed",
    [{"chunk_sectors": 256}, {"mode": "writeback"}, {"policy": "cleaner"}, {"total": 65_536}],
)
def test_a_reloaded_cache_gives_no_cache_figures(changed: dict[str, Any]) -> None:
    assert between({}, changed).cache_gap == GapReason.CACHE_CHANGED


def test_passthrough_hits_are_none() -> None:
    found = between({"mode": "passthrough"}, {"mode": "passthrough", "read_hits": 500})
    assert (found.cache.counts, found.cache_gap) == (None, GapReason.CACHE_PASSTHROUGH)


def test_a_failed_cache_has_no_figures() -> None:
    found = between({}, {"failed": True, "chunk_sectors": 0, "total": 0, "mode": ""})
    assert found.cache_gap == GapReason.CACHE_FAILED


def backed(guest: int, backing: int, **fields: Any) -> dict[str, Any]:
    return {
        "disk": wire.disk(read_sectors=backing),
        "bcache": wire.bcache(disk=wire.disk(read_sectors=guest), **fields),
    }


def test_a_bcache_volume_is_measured_where_the_guest_reads() -> None:
    found = change(wire.reading(1, **backed(80, 8)), wire.reading(11, **backed(8080, 808)))
    assert (found.read_sectors, found.cache.slow_read_sectors) == (8000, 800)
    assert "read_hits" not in found.columns


def test_bcaches_own_counters_are_never_figures() -> None:
    before, after = backed(0, 0), backed(8000, 800, hits=65_536, misses=1)
    counted = change(wire.reading(1, **before), wire.reading(11, **after))
    silent = change(wire.reading(1, **before), wire.reading(11, **backed(8000, 800)))
    assert Sums.of(counted.columns) == Sums.of(silent.columns)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({"cset_uuid": None}, {}, GapReason.CACHE_ATTACHED),
        ({"cset_uuid": "old"}, {}, GapReason.CACHE_CHANGED),
        ({}, {"state": "inconsistent"}, GapReason.CACHE_FAILED),
        ({}, {"cset_uuid": None}, None),
    ],
)
def test_a_change_of_the_cache_set_is_a_gap_of_the_cache_only(
    before: dict[str, Any], after: dict[str, Any], reason: GapReason | None
) -> None:
    old, new = backed(0, 0, **before), backed(800, 80, **after)
    found = change(wire.reading(1, **old), wire.reading(11, **new))
    assert (found.read_sectors, found.cache_gap) == (800, reason)
    assert found.cache.slow_read_sectors is None


def test_a_backing_device_that_restarted_gives_no_cache_figures() -> None:
    found = change(wire.reading(1, **backed(0, 900)), wire.reading(11, **backed(800, 80)))
    assert found.cache_gap == GapReason.CACHE_REWOUND


def test_latency_is_counted_per_bucket() -> None:
    found = change(
        wire.reading(1, latency=wire.latency(1, 2)),
        wire.reading(11, latency=wire.latency(4, 2, 9), disk=wire.disk(reads=12)),
    )
    assert found.latency_counts == (3, 0, 9, *[0] * 11)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, wire.latency(5)),
        (wire.latency(5), None),
        (wire.latency(500), wire.latency(5)),
        (wire.latency(5), wire.latency(5_000_000)),
    ],
)
def test_a_latency_region_made_anew_is_a_gap_of_latency_only(before: Any, after: Any) -> None:
    old = wire.reading(1, latency=before)
    found = change(old, wire.reading(11, latency=after, disk=wire.disk(reads=12)))
    assert (found.reads, found.latency_counts) == (12, None)


def test_gauges_are_bytes() -> None:
    cached = wire.reading(1, cache=wire.cache(used=100, dirty=3)).counters
    found = gauges(cached)
    assert found.technology is CachedBy.DM_CACHE
    assert found.cache_size_bytes == 2 * 2**30
    assert (found.used_bytes, found.dirty_bytes) == (100 * 65_536, 3 * 65_536)


def test_gauges_of_bcache_come_from_its_set() -> None:
    backing = wire.bcache(unused_percent=75, dirty_bytes=512)
    found = gauges(wire.reading(1, bcache=backing).counters)
    assert (found.technology, found.cache_size_bytes) == (CachedBy.BCACHE, 2**31)
    assert (found.used_bytes, found.dirty_bytes) == (2**29, 512)


def test_what_bcache_could_take_back_says_nothing_of_its_fill() -> None:
    """The kernel counts clean cached data as available: a full writethrough cache has 99 %."""
    full = wire.bcache(available_percent=99, unused_percent=0)
    assert gauges(wire.reading(1, bcache=full).counters).used_bytes == 2**31
    from_an_old_agent = wire.bcache(available_percent=99)
    del from_an_old_agent["unused_percent"]
    assert gauges(wire.reading(1, bcache=from_an_old_agent).counters).used_bytes is None


@pytest.mark.parametrize(
    "fields",
    [{}, {"bcache": wire.bcache(cset_uuid=None)}, {"cache": wire.cache(failed=True)}],
)
def test_without_a_working_cache_gauges_are_unknown(fields: dict[str, Any]) -> None:
    found = gauges(wire.reading(1, **fields).counters)
    assert (found.cache_size_bytes, found.used_bytes, found.dirty_bytes) == (None, None, None)


def test_what_an_older_agent_does_not_send_is_unknown() -> None:
    old, new = wire.latency(), wire.latency(5)
    found = change(
        wire.reading(1, latency=old),
        wire.reading(11, latency=new, disk=wire.disk(reads=5)),
    )
    assert found.latency_counts is not None
    assert (found.read_us, found.write_us, found.flushes, found.flush_ms) == (None,) * 4


def precise(seconds: float, **fields: int) -> CounterReading:
    known = dict.fromkeys(("reads", "read_ns", "writes", "write_ns", "flushes", "flush_ms"), 0)
    disk = wire.disk(reads=fields.get("reads", 0), writes=fields.get("writes", 0))
    return wire.reading(seconds, latency=wire.latency(**known | fields), disk=disk)


def test_reads_and_writes_have_times_of_their_own_to_the_microsecond() -> None:
    found = change(
        precise(1, reads=7, read_ns=1_000_000),
        precise(11, reads=107, read_ns=9_345_678, writes=20, write_ns=40_000_999),
    )
    assert (found.read_us, found.write_us) == (8345, 40_000)


def test_flushes_are_the_writes_that_dm_stats_do_not_count() -> None:
    found = change(
        precise(1, flushes=1000, flush_ms=U32 - 20),
        precise(11, writes=50, flushes=1030, flush_ms=4),
    )
    assert (found.flushes, found.flush_ms) == (30, 24)


def test_rounding_is_no_flush() -> None:
    found = change(precise(1, flush_ms=100), precise(11, writes=50, flush_ms=180))
    assert (found.flushes, found.flush_ms) == (0, 0)
    backwards = change(precise(1, flush_ms=100), precise(11, writes=50, flushes=1, flush_ms=98))
    assert (backwards.flushes, backwards.flush_ms) == (1, 0)


@pytest.mark.parametrize(
    "after", [{"writes": 50, "flushes": 61}, {"writes": 50, "flushes": 0}, {"read_ns": 2**63}]
)
def test_what_the_disk_cannot_have_done_is_unknown(after: dict[str, int]) -> None:
    found = change(precise(1, flushes=10), precise(11, **after))
    assert found.flushes is None or found.read_us is None


def test_a_region_made_anew_tells_nothing() -> None:
    before = wire.reading(1, latency=wire.latency(50, read_ns=10, write_ns=0, flushes=5))
    disk = wire.disk(reads=90, writes=90)
    after = wire.reading(
        11, disk=disk, latency=wire.latency(10, read_ns=900_000, write_ns=0, flushes=30)
    )
    found = change(before, after)
    assert (found.latency_counts, found.read_us, found.flushes) == (None, None, None)


@pytest.mark.parametrize(
    ("before", "after", "frozen_ms"),
    [(False, False, 0), (True, True, 10_000), (False, True, 5000), (True, False, 5000)],
)
def test_how_long_io_was_frozen_is_known_to_half_an_interval(
    before: bool, after: bool, frozen_ms: int
) -> None:
    found = change(wire.reading(1, suspended=before), wire.reading(11, suspended=after))
    assert found.suspended_ms == frozen_ms


def test_discards_are_counted_with_what_they_took() -> None:
    disk = wire.disk(discards=3, discard_sectors=10**12, discard_ms=70)
    found = change(wire.reading(1), wire.reading(11, disk=disk))
    assert (found.discards, found.discard_sectors, found.discard_ms) == (3, 10**12, 70)


LEG = {"reads": 40, "writes": 7, "read_sectors": 320, "write_sectors": 56, "read_ms": 400}
LEG |= {"write_ms": 70, "busy_ms": 450, "weighted_ms": 470}


def test_the_legs_of_an_lvm_cache_are_its_two_disks_and_its_metadata() -> None:
    none = wire.disk()
    before = wire.cache(origin=none, cdata=none, cmeta=none)
    after = wire.cache(
        origin=wire.disk(**LEG),
        cdata=wire.disk(**LEG),
        cmeta=wire.disk(writes=3, write_sectors=24, write_ms=2, busy_ms=2, weighted_ms=2),
    )
    found = change(wire.reading(1, cache=before), wire.reading(11, cache=after)).cache
    for name, value in LEG.items():
        assert getattr(found, f"slow_{name}") == value
    assert (found.fast_reads, found.fast_writes, found.fast_write_sectors) == (40, 10, 80)
    assert (found.fast_write_ms, found.fast_busy_ms, found.fast_weighted_ms) == (72, 450, 472)


def test_the_legs_have_histograms_of_what_the_cache_asked_of_them() -> None:
    legs = {"origin": wire.disk(), "cdata": wire.disk()}
    counts = {"origin_counts": wire.counts(), "cdata_counts": wire.counts(1)}
    before = wire.cache(**legs, **counts)
    legs = {"origin": wire.disk(reads=40), "cdata": wire.disk(writes=8)}
    counts = {"origin_counts": wire.counts(0, 40), "cdata_counts": wire.counts(9)}
    after = wire.cache(**legs, **counts)
    found = change(wire.reading(1, cache=before), wire.reading(11, cache=after)).cache
    assert found.slow_latency_counts == (0, 40, *[0] * 12)
    assert found.fast_latency_counts == (8, *[0] * 13)


def test_the_legs_outlive_a_rewind_of_the_caches_counters() -> None:
    before = wire.cache(read_hits=3_000_000, origin=wire.disk(), cdata=wire.disk())
    after = wire.cache(read_hits=2_900_000, origin=wire.disk(**LEG), cdata=wire.disk())
    found = change(wire.reading(1, cache=before), wire.reading(11, cache=after))
    assert found.cache_gap == GapReason.CACHE_REWOUND
    assert (found.cache.counts, found.cache.slow_reads) == (None, 40)


def test_another_cache_has_other_legs() -> None:
    before = wire.cache(total=100, origin=wire.disk(), cdata=wire.disk())
    after = wire.cache(origin=wire.disk(**LEG), cdata=wire.disk(**LEG))
    found = change(wire.reading(1, cache=before), wire.reading(11, cache=after))
    assert (found.cache, found.cache_gap) == (CacheDelta(), GapReason.CACHE_CHANGED)


def test_a_leg_that_did_more_than_a_disk_can_is_unknown() -> None:
    before = wire.cache(origin=wire.disk(), cdata=wire.disk())
    after = wire.cache(origin=wire.disk(reads=2**40), cdata=wire.disk(**LEG))
    found = change(wire.reading(1, cache=before), wire.reading(11, cache=after)).cache
    assert (found.slow_reads, found.fast_reads) == (None, 40)


def test_the_legs_of_bcache_are_the_backing_device_and_the_cache_set() -> None:
    before = wire.bcache(cset_disk=wire.disk(), backing_counts=wire.counts())
    after = wire.bcache(cset_disk=wire.disk(**LEG), backing_counts=wire.counts(0, 0, 40))
    found = change(
        wire.reading(1, bcache=before),
        wire.reading(11, bcache=after, disk=wire.disk(reads=40, read_sectors=800)),
    )
    assert (found.cache.slow_reads, found.cache.slow_read_sectors) == (40, 800)
    assert (found.cache.fast_reads, found.cache.fast_weighted_ms) == (40, 470)
    assert found.cache.slow_latency_counts == (0, 0, 40, *[0] * 11)
    assert found.cache.fast_latency_counts is None


def counted(reads: int, *totals: int) -> CacheDelta:
    names = ("hits", "misses", "bypass_hits", "bypass_misses")
    after = wire.bcache(disk=wire.disk(reads=reads), **dict(zip(names, totals, strict=True)))
    return change(wire.reading(1, bcache=wire.bcache()), wire.reading(61, bcache=after)).cache


def test_reads_that_went_by_bcache_are_a_share_of_those_it_counted() -> None:
    found = counted(1000, 500, 100, 300, 90)
    assert found.counts == BcacheCounts(hits=500, misses=100, bypass_hits=300, bypass_misses=90)


@pytest.mark.parametrize(
    ("reads", "totals", "is_known"),
    [
        (65_535, (0, 0, 0, 0), True),  # all of them in a fold that is not over
        (100_000, (70_000, 6_000, 0, 0), True),
        (100_000, (34_464, 0, 0, 0), False),  # 65,536 hits were lost
        (1000, (500_000, 0, 0, 0), False),
    ],
)
def test_counts_of_which_bcache_lost_some_are_unknown(
    reads: int, totals: tuple[int, int, int, int], is_known: bool
) -> None:
    assert (counted(reads, *totals).counts is not None) is is_known


def test_the_metadata_of_an_lvm_cache_is_given_in_bytes() -> None:
    (held,) = (gauges(wire.reading(1, cache=wire.cache()).counters),)
    assert (held.metadata_used_bytes, held.metadata_total_bytes) == (72 * 4096, 3072 * 4096)
    without = gauges(wire.reading(1, bcache=wire.bcache()).counters)
    assert without.metadata_used_bytes is None
