from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from storage.benchmarks.estimate import estimate, seconds_left, seconds_of, ssd_written
from storage.benchmarks.matrix import CacheState, Profile, ProfileChoice, TargetChoice, TargetKind
from storage.benchmarks.progress import RunStanding, progress_of
from storage.byte_sizes import GIB
from tests import make
from tests.storage.benchmarks.make_spec import LVMCACHE, cell, spec

HDD, SSD = TargetChoice(TargetKind.HDD), TargetChoice(TargetKind.SSD)
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def test_a_benchmark_takes_the_space_of_its_largest_run_and_the_time_of_all() -> None:
    wanted = spec(targets=(HDD, SSD, LVMCACHE), data_bytes=(GIB, 4 * GIB), repeats=2)
    found = estimate(wanted, make.vg(), rated_bytes=100 * GIB)
    assert found.runs == 12
    assert (found.slow_bytes, found.fast_bytes) == (4 * GIB, 4 * GIB)
    assert found.seconds > 12 * 60
    assert found.endurance_share == pytest.approx(found.ssd_written / (100 * GIB))


def test_without_a_rating_no_share_of_it_is_known() -> None:
    assert estimate(spec(), make.vg()).endurance_share is None


def test_a_target_on_hdd_writes_nothing_to_the_ssd() -> None:
    assert ssd_written(cell(target=TargetKind.HDD, cache_bytes=0, mode="")) == 0


def test_a_load_that_writes_wears_an_ssd_more_than_one_that_reads() -> None:
    reads = cell(target=TargetKind.SSD, cache_bytes=0, mode="")
    writes = cell(target=TargetKind.SSD, cache_bytes=0, mode="", profile=Profile.SYNC_WRITE)
    assert ssd_written(reads) == 4 * GIB
    assert ssd_written(writes) > ssd_written(reads)


def test_a_made_state_takes_time() -> None:
    new, junk = seconds_of(cell()), seconds_of(cell(state=CacheState.JUNK))
    warmed = seconds_of(cell(state=CacheState.WARMED, warm_seconds=600))
    assert junk > new + 60
    assert warmed == pytest.approx(new + 600)


def test_what_a_cell_took_counts_for_more_than_an_estimate() -> None:
    one, other = cell(), cell(profile=Profile.MIXED)
    assert seconds_left([one], measured={one: 1000.0}) == 1000.0
    # Twice as slow as thought, but for what is measured.
    slow = {one: 60 + 2 * (seconds_of(one) - 60)}
    assert seconds_left([other], measured=slow) == pytest.approx(slow[one])
    assert seconds_left([], one, 10_000.0) == 0.0


def test_progress_counts_runs_and_time() -> None:
    one = cell()
    over = RunStanding(one, NOW - timedelta(seconds=300), NOW - timedelta(seconds=200))
    at_work = RunStanding(one, NOW - timedelta(seconds=50), None)
    void = RunStanding(
        one, NOW - timedelta(seconds=400), NOW - timedelta(seconds=399), counts=False
    )
    found = progress_of([over, at_work, RunStanding(one, None, None), void], NOW)
    assert (found.done, found.total) == (1, 3)
    assert found.seconds_left == pytest.approx(150)
    assert found.share == pytest.approx(0.5)


def test_a_benchmark_without_runs_left_is_over() -> None:
    over = RunStanding(cell(), NOW - timedelta(seconds=100), NOW)
    assert progress_of([over], NOW).share == 1.0
    assert progress_of([], NOW).seconds_left == 0.0


def test_profiles_have_different_writes() -> None:
    mixed = spec(profiles=(ProfileChoice(Profile.MIXED),))
    assert estimate(mixed, make.vg()).ssd_written > estimate(spec(), make.vg()).ssd_written
