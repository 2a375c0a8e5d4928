"""What a trace says of the size of chunks."""

from __future__ import annotations

import dataclasses

import numpy as np

from storage.analysis.curve.heat import HeatRecord
from storage.analysis.trace_outcome import trace_outcome
from storage.byte_sizes import GIB, KIB, MIB
from tests.storage.analysis.curve.traces import Chunks, Trace, heat

VOLUME_BYTES = 4 * GIB
PAGES = VOLUME_BYTES // (4 * KIB)


def traced(pages: Chunks) -> list[HeatRecord]:
    """The three records of a trace that read these pages of 4 KiB."""
    records = []
    for chunk_bytes in (4 * KIB, 64 * KIB, MIB):
        chunks = pages // (chunk_bytes // (4 * KIB))
        trace = Trace(chunks, chunks < 0, VOLUME_BYTES // chunk_bytes)
        record = next(heat(trace, share=4, offset=1, seconds=900))
        records.append(dataclasses.replace(record, chunk_bytes=chunk_bytes))
    return records


def scattered(n: int = 60_000) -> Chunks:
    """A hot page here and there, with cold ones around it."""
    random = np.random.default_rng(3)
    hot = random.permutation(PAGES)[:40_000]
    return hot[random.integers(0, len(hot), n)]


def adjacent(n: int = 60_000) -> Chunks:
    """Files of 1 MiB, each read from some place in it, one after the other."""
    random = np.random.default_rng(3)
    files = random.integers(0, 600, n // 16) * 256
    starts = files + random.integers(0, 240, n // 16)
    return (starts[:, None] + np.arange(16)[None, :]).ravel()


def test_small_chunks_serve_most_where_hot_data_lie_scattered() -> None:
    sizes = trace_outcome(traced(scattered()), VOLUME_BYTES, is_bcache=False)
    half = next(each for each in sizes if each.size_bytes == 512 * MIB)
    shares = [share.likely for share in half.shares]
    assert shares[0] > shares[1] + 0.2
    assert half.best_chunk_bytes == 64 * KIB


def test_large_chunks_serve_most_where_neighbours_are_read() -> None:
    sizes = trace_outcome(traced(adjacent()), VOLUME_BYTES, is_bcache=False)
    assert {share.chunk_bytes for share in sizes[0].shares} == {4 * KIB, 64 * KIB, MIB}
    largest = sizes[-1]
    assert largest.shares[2].likely > largest.shares[0].likely
    assert largest.best_chunk_bytes is not None
    assert largest.best_chunk_bytes > 64 * KIB


def test_each_share_is_a_share_and_more_ssd_serves_no_less() -> None:
    sizes = trace_outcome(traced(scattered()), VOLUME_BYTES, is_bcache=False)
    for n in range(3):
        shares = [each.shares[n] for each in sizes]
        assert all(0 <= each.hit_rate.low <= each.hit_rate.high <= 1 for each in shares)
        likely = [each.likely for each in shares]
        assert likely == sorted(likely)


def test_bcache_has_no_chunks_to_choose() -> None:
    sizes = trace_outcome(traced(scattered()), VOLUME_BYTES, is_bcache=True)
    assert {each.best_chunk_bytes for each in sizes} == {None}


def test_a_volume_that_read_nothing_has_no_outcome() -> None:
    records = [dataclasses.replace(each, clock=0) for each in traced(scattered(100))]
    assert trace_outcome(records, VOLUME_BYTES, is_bcache=False) == ()
