"""Blocks of a volume's samples."""

from __future__ import annotations

from datetime import timedelta

import pytest

from storage.analysis.sample_blocks import blocks
from storage.metrics.rates import CachedBy
from tests import make
from tests.panel.proofs.past import at, sampled

pytestmark = pytest.mark.django_db


def test_each_block_has_the_sums_of_the_samples_that_ended_in_it() -> None:
    volume = make.volume()
    sampled(volume, 0, 60, hit_rate=0.5, reads=1000)
    found = blocks(volume, at(0), at(60), 30)
    assert [block.at for block in found] == [at(0).timestamp(), at(30).timestamp()]
    assert [(block.reads, block.accesses, block.dt_ms) for block in found] == [
        (3000, 3000, 30_000)
    ] * 2
    assert found[0].hits == pytest.approx(1500, abs=10)


def test_what_has_no_cache_has_accesses_but_no_hits() -> None:
    volume = make.volume()
    sampled(volume, 0, 30, reads=1000)
    (found,) = blocks(volume, at(0), at(30), 30)
    assert (found.accesses, found.hits) == (3000, 0)


def test_bcache_hits_are_what_the_slow_disk_did_not_read() -> None:
    volume = make.volume()
    sampled(volume, 0, 20, hit_rate=0.75, reads=1000, technology=CachedBy.BCACHE)
    (found,) = blocks(volume, at(0), at(20), 20)
    assert found.hit_rate == pytest.approx(0.75, abs=0.001)
    assert not any(found.counts)


def test_an_interval_that_began_before_is_left_out_unless_that_time_was_alike() -> None:
    volume = make.volume()
    sampled(volume, 0, 60)
    start = at(5)
    assert sum(block.dt_ms for block in blocks(volume, start, at(60), 10)) == 50_000
    early = start - timedelta(seconds=10)
    assert sum(block.dt_ms for block in blocks(volume, start, at(60), 10, since=early)) == 60_000


def test_gaps_are_blocks_that_are_missing() -> None:
    volume = make.volume()
    sampled(volume, 0, 10)
    sampled(volume, 40, 50)
    assert len(blocks(volume, at(0), at(60), 10)) == 2
