"""Histograms of what is observed are those of the whole."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from storage.agent.heat.observation import (
    FINE_SHARE,
    Fine,
    Io,
    Sampled,
    bucket_of,
    is_write,
)
from storage.agent.heat.sequential_runs import SequentialRuns
from storage.agent.heat.trace_filter import CHUNK_SECTORS, LARGE_SECTORS, SHARE
from storage.agent.kernel.trace_pages import TracedIo

MS = 1_000_000
ios = st.lists(
    st.tuples(
        st.integers(0, 4000), st.sampled_from([8, 16, 32, 64, 128, 256, 1024]), st.booleans()
    ),
    max_size=300,
)


def weights(part: dict[str, Any]) -> int:
    return int(part["cold"] + sum(weight for _, weight in part["buckets"]))


def brute(
    done: list[tuple[int, int, bool]], sectors_in_chunk: int, share: int, residue: int
) -> tuple[int, dict[bool, Counter[int]], dict[bool, int]]:
    """The clock at the end, and of observed chunks: reuse times by bucket, and first touches."""
    clock, last = 0, dict[int, int]()
    buckets: dict[bool, Counter[int]] = {False: Counter(), True: Counter()}
    cold = {False: 0, True: 0}
    for page, sectors, kind in done:
        first = page * 8 // sectors_in_chunk
        chunks = range(first, (page * 8 + sectors - 1) // sectors_in_chunk + 1)
        clock += len(chunks)
        for chunk in chunks:
            if chunk % share != residue:
                continue
            if chunk in last:
                buckets[kind][bucket_of(max(1, clock - last[chunk]))] += 1
            else:
                cold[kind] += 1
            last[chunk] = clock
    return clock, buckets, cold


def traced(ns: int, page: int, sectors: int, kind: bool) -> TracedIo:
    return (ns, 7, page * 8, sectors, b"W\0" if kind else b"R\0")


def one(sectors: int, kind: bool) -> Io:
    return Io(0, 0, 1, sectors * 512) if kind else Io(1, sectors * 512)


@given(ios, st.integers(0, (1 << 63) - 1))
def test_a_trace_of_all_ios_gives_the_reuse_times_of_a_quarter_of_the_chunks(
    done: list[tuple[int, int, bool]], salt: int
) -> None:
    fine = Fine(65536, salt)
    fine.add([traced(n, *io) for n, io in enumerate(done)], Io())
    parts = fine.to_json()
    assert [part["chunk_bytes"] for part in parts] == [4096, 65536, 1 << 20]
    for part in parts:
        residue = salt % FINE_SHARE
        clock, buckets, cold = brute(done, part["chunk_bytes"] // 512, FINE_SHARE, residue)
        assert part["clock"] == clock
        for kind, name in ((False, "reads"), (True, "writes")):
            assert part["reuse"][name]["cold"] == cold[kind]
            assert dict(part["reuse"][name]["buckets"]) == buckets[kind]


@given(ios, st.integers(1, SHARE - 1))
def test_with_each_io_counted_at_once_the_sample_is_exact_but_for_the_size_of_others(
    done: list[tuple[int, int, bool]], residue: int
) -> None:
    """Small I/Os that stay in their chunk: nothing has to be estimated."""
    done = [(page // 16 * 16, min(sectors, 128), kind) for page, sectors, kind in done]
    sampled = Sampled(residue, 12345)
    for n, (page, sectors, kind) in enumerate(done):
        seen = page * 8 // CHUNK_SECTORS % SHARE == residue or sectors > LARGE_SECTORS
        ios = [traced((n + 1) * MS, page, sectors, kind)] if seen else []
        sampled.add(ios, one(sectors, kind), n * MS, (n + 1) * MS)
    clock, buckets, cold = brute(done, CHUNK_SECTORS, SHARE, residue)
    part = sampled.to_json()
    assert part["clock"] == clock
    assert part["reads"] + part["writes"] == len(done)
    for kind, name in ((False, "reads"), (True, "writes")):
        assert part["reuse"][name]["cold"] == cold[kind]
        assert dict(part["reuse"][name]["buckets"]) == buckets[kind]


def test_large_ios_and_those_that_cross_into_a_chunk_move_the_clock_as_often_as_they_touch() -> (
    None
):
    order, done = random.Random(3), []
    for _ in range(60_000):
        sectors = order.choice([8, 16, 32, 48, 64, 256, 1024])
        done.append((order.randrange(1 << 20), sectors, order.random() < 0.3))
    residue = 21
    sampled, ios = Sampled(residue, 99), []
    passed = Io()
    for n, (page, sectors, kind) in enumerate(done):
        chunk = page * 8 // CHUNK_SECTORS % SHARE
        passed += one(sectors, kind)
        if chunk == residue or (chunk == residue - 1 and sectors > 8) or sectors > LARGE_SECTORS:
            ios.append(traced(n * MS, page, sectors, kind))
    sampled.add(ios, passed, 0, len(done) * MS)
    clock, buckets, cold = brute(done, CHUNK_SECTORS, SHARE, residue)
    part = sampled.to_json()
    assert abs(part["clock"] / clock - 1) < 0.01
    touched = sum(cold.values()) + sum(sum(each.values()) for each in buckets.values())
    assert weights(part["reuse"]["reads"]) + weights(part["reuse"]["writes"]) == touched


def test_a_flush_is_a_write_of_diskstats_that_touches_nothing() -> None:
    sampled = Sampled(1, 5)
    sampled.add([(5, 7, 0, 0, b"FW")], Io(2, 8192, 3, 8192), 0, 10)
    part = sampled.to_json()
    assert (part["clock"], part["reads"], part["writes"]) == (4, 2, 3)


def test_what_diskstats_count_late_moves_the_clock_later() -> None:
    sampled = Sampled(1, 5)
    sampled.add([(5, 7, 0, 0, b"FW"), (6, 7, 0, 0, b"FW")], Io(1, 4096), 0, 10)
    sampled.add([], Io(1, 4096, 2, 0), 10, 20)
    assert sampled.to_json()["clock"] == 2


def test_an_hour_that_begins_counts_from_nothing_and_knows_what_was_touched() -> None:
    sampled = Sampled(1, 5)
    sampled.add([traced(5, 16, 8, False)], Io(1, 4096), 0, 10)
    sampled.begin()
    sampled.add([traced(15, 16, 8, False)], Io(1, 4096), 10, 20)
    part = sampled.to_json()
    assert part["reuse"]["reads"] == {"cold": 0, "buckets": [[0, 1]]}
    assert (part["reads"], part["clock_before"], part["clock"]) == (1, 1, 1)


def test_a_scan_is_counted_as_what_bcache_would_bypass() -> None:
    """256 KiB at a time over 64 MiB: all but the first 4 MiB less one I/O."""
    sampled, ios = Sampled(9, 5, on_bcache=True), []
    for n in range(256):
        ios.append((n, 7, n * 512, 512, b"RA"))
    sampled.add(ios, Io(256, 64 << 20), 0, 256)
    part = sampled.to_json()
    bypassed = {"reads": 241, "read_bytes": 241 << 18, "writes": 0, "write_bytes": 0}
    assert part["sequential"] == bypassed
    assert weights(part["reuse"]["reads"]) == 16
    assert part["clock"] == 256 * 4
    assert weights(part["kept"]["reuse"]["reads"]) == 1
    assert part["kept"]["clock"] == 15 * 4


def scan_beside(random_ios: int) -> list[tuple[int, int, bool]]:
    """A scan of 32 MiB, 128 KiB at a time, among reads and writes all over 64 MiB."""
    order, done = random.Random(7), []
    for n in range(256):
        for _ in range(random_ios):
            done.append((order.randrange(1 << 14) // 16 * 16, 8, order.random() < 0.3))
        done.append((32 * n, 256, False))
    return done


def test_a_trace_has_what_bcache_keeps_with_a_clock_of_its_own() -> None:
    done, runs = scan_beside(5), SequentialRuns(is_sampled=False)
    kept = [io for n, io in enumerate(done) if not runs.bypasses(n, io[0] * 8, io[1])]
    assert len(kept) < len(done)
    fine = Fine(65536, 9, on_bcache=True)
    fine.add([traced(n, *io) for n, io in enumerate(done)], Io())
    for part in fine.to_json():
        clock, buckets, cold = brute(kept, part["chunk_bytes"] // 512, FINE_SHARE, 9 % FINE_SHARE)
        assert (part["kept"]["clock_before"], part["kept"]["clock"]) == (0, clock)
        for kind, name in ((False, "reads"), (True, "writes")):
            assert part["kept"]["reuse"][name]["cold"] == cold[kind]
            assert dict(part["kept"]["reuse"][name]["buckets"]) == buckets[kind]


def test_of_a_sample_what_bcache_keeps_is_estimated() -> None:
    done, runs = scan_beside(40), SequentialRuns(is_sampled=False)
    kept = [io for n, io in enumerate(done) if not runs.bypasses(n, io[0] * 8, io[1])]
    sampled = Sampled(9, 5, on_bcache=True)
    for n, (page, sectors, kind) in enumerate(done):
        seen = page * 8 // CHUNK_SECTORS % SHARE == 9 or sectors > LARGE_SECTORS
        ios = [traced((n + 1) * MS, page, sectors, kind)] if seen else []
        sampled.add(ios, one(sectors, kind), n * MS, (n + 1) * MS)
    clock, buckets, cold = brute(kept, CHUNK_SECTORS, SHARE, 9)
    part = sampled.to_json()["kept"]
    assert abs(part["clock"] / clock - 1) < 0.05
    touched = sum(cold.values()) + sum(sum(each.values()) for each in buckets.values())
    assert abs(weights(part["reuse"]["reads"]) + weights(part["reuse"]["writes"]) - touched) <= 5


def test_nothing_is_kept_apart_without_long_runs_and_without_bcache() -> None:
    scan = [(n, 7, n * 512, 512, b"RA") for n in range(256)]
    for on_bcache, ios in ((True, scan[:8]), (False, scan)):
        sampled = Sampled(1, 5, on_bcache=on_bcache)
        sampled.add(ios, Io(len(ios), len(ios) << 18), 0, 256)
        assert sampled.to_json()["kept"] is None


def test_a_record_never_takes_more_than_some_kilobytes() -> None:
    """Every bucket of every histogram with a large number."""
    fine = Fine(65536, 9, on_bcache=True)
    for reuse in fine._sizes:
        reuse.keep_apart()
        assert reuse.kept is not None
        for stream in (reuse.whole, reuse.kept):
            for histogram in stream._reads_writes:
                for octave in range(32):
                    for step in range(16):
                        histogram.count((1 << octave) + (step << octave) // 16, 10**9)
    for part in fine.to_json():
        assert len(json.dumps(part, separators=(",", ":"))) < 48_000


@given(st.integers(1, (1 << 32) - 1))
def test_a_reuse_time_is_in_the_bucket_that_its_index_names(reuse: int) -> None:
    octave, part = divmod(bucket_of(reuse), 16)
    low, high = (1 << octave) * (16 + part), (1 << octave) * (17 + part)
    assert low <= 16 * reuse < high


def test_letters_of_the_kernel_say_what_is_moved() -> None:
    assert [is_write(each) for each in (b"R\0", b"RA", b"W\0", b"WS", b"FW", b"D\0", b"N\0")] == [
        False,
        False,
        True,
        True,
        True,
        None,
        None,
    ]
