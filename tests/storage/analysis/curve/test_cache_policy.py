"""What both kinds of cache do with writes, and what the size of chunks changes."""

from __future__ import annotations

import dataclasses

import pytest

from storage.analysis.curve.cache_policy import at_chunk_size, bcache, lvmcache
from storage.analysis.curve.heat import usable
from storage.analysis.curve.miss_ratio import MissRatioCurve, miss_ratio_curve
from storage.byte_sizes import KIB, MIB
from tests.storage.analysis.curve.traces import heat, zipf_load


def test_in_writethrough_every_write_waits_for_the_hdd() -> None:
    for policy in (lvmcache(writeback=False), bcache(writeback=False)):
        assert policy.fast_writes(0.9, 0.1) == 0
        assert policy.hdd_writes(0.9) == (1, 1)


def test_in_writeback_lvmcache_takes_writes_that_hit_and_bcache_all_but_long_runs() -> None:
    assert lvmcache(writeback=True).fast_writes(0.9, 0.1) == 0.9
    assert bcache(writeback=True).fast_writes(0.2, 0.1) == 0.9
    least, most = bcache(writeback=True).hdd_writes(0.75)
    assert (least, most) == (0.25, 1)


def curve(chunk_bytes: int, size: int) -> MissRatioCurve:
    record = next(heat(zipf_load(0.9, 8000, size), share=1))
    parts = usable([dataclasses.replace(record, chunk_bytes=chunk_bytes)])
    found = miss_ratio_curve(parts, size * chunk_bytes)
    assert found is not None
    return found


def test_a_size_of_chunks_between_two_that_were_traced_lies_between_them() -> None:
    curves = {4 * KIB: curve(4 * KIB, 1024), 64 * KIB: curve(64 * KIB, 1024)}
    ends = [at_chunk_size(curves, size, 2 * MIB) for size in curves]
    middle = at_chunk_size(curves, 16 * KIB, 2 * MIB)
    assert middle is not None
    for n, found in enumerate(middle):
        assert found == pytest.approx(sum(end[n] for end in ends if end is not None) / 2)
    assert at_chunk_size(curves, 4 * KIB, 2 * MIB) != middle


def test_a_size_of_chunks_beyond_those_that_were_traced_is_unknown() -> None:
    curves = {64 * KIB: curve(64 * KIB, 1024)}
    assert at_chunk_size(curves, 64 * KIB, 2 * MIB) is not None
    assert at_chunk_size(curves, 128 * KIB, 2 * MIB) is None
    assert at_chunk_size({}, 64 * KIB, 2 * MIB) is None
