"""A cache is judged by how full it is and by what still grows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from storage.byte_sizes import GIB, MIB
from storage.metrics.cache_warmth import Warmth, WarmthState, looked_at, warmth
from storage.metrics.series import UNKNOWN, Series, Values
from storage.planner.technologies.lookup import of_layout
from tests import make

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


SILENT = timedelta(seconds=30)


def judged(
    used: list[int | None],
    rates: list[float | None] | None = None,
    age: timedelta = timedelta(),
    *,
    sizes: list[float | None] | None = None,
    without_cache: bool = False,
) -> Warmth:
    """A cache of 10 GiB that was filled so far each minute, with hit rates over 100 reads/s; it is
    judged `age` after the last minute. Minutes without a fill are without a sample, or
    `without_cache`."""
    rates = rates or [None] * len(used)
    sizes = sizes or [None if filled is None else 10 * GIB for filled in used]
    values: list[Values] = [
        {
            **UNKNOWN,
            "read_iops": None if filled is None and not without_cache else 100.0,
            "cache_size_bytes": size,
            "used_bytes": filled,
            "hit_rate": rate,
            "accesses_per_s": None if rate is None else 100.0,
        }
        for filled, rate, size in zip(used, rates, sizes, strict=True)
    ]
    return warmth(
        Series(
            start=NOON,
            end=NOON + timedelta(minutes=len(used)),
            step_seconds=60,
            columns=make.columns(values),
            totals=UNKNOWN,
            seconds=60.0 * len(used),
        ),
        NOON + timedelta(minutes=len(used)) + age,
        SILENT,
    )


def test_a_cache_that_came_just_now_is_cold() -> None:
    found = judged([0, 0, 20 * MIB, 100 * MIB], [0.0, 0.0, 0.01, 0.02])
    assert found.state is WarmthState.COLD
    assert "100 MiB of 10 GiB used" in found.sentence
    assert "from the HDD" in found.sentence


def test_a_cache_that_fills_is_warming_and_says_until_when() -> None:
    found = judged([n * GIB for n in range(1, 8)], [0.1 * n for n in range(1, 8)])
    assert found.state is WarmthState.WARMING
    assert found.share == pytest.approx(0.7)
    assert found.growth_bytes == 3 * GIB
    assert found.full_in_seconds == pytest.approx(180)
    assert "3 GiB more in 3 min" in found.sentence
    assert "full in about 3 min at this rate" in found.sentence


def test_a_full_cache_whose_hit_rate_still_rises_is_warming() -> None:
    full = [10 * GIB] * 6
    found = judged(full, [0.4, 0.45, 0.5, 0.6, 0.7, 0.8])
    assert found.state is WarmthState.WARMING
    assert "read hit rate 70 % (+25 points)" in found.sentence
    assert judged(full, [0.8] * 6).state is WarmthState.WARM


@pytest.mark.parametrize(
    ("used", "words"), [(10 * GIB, "The cache is full"), (3 * GIB, "The cache has settled")]
)
def test_a_warm_cache_with_many_misses_is_not_praised(used: int, words: str) -> None:
    found = judged([used] * 6, [0.75] * 6)
    assert (found.state, found.tone) == (WarmthState.WARM, "quiet")
    assert f"{words}, and 25 % of reads still come from the HDD." in found.sentence
    assert "Fully warmed up" not in found.sentence


def test_a_cache_that_grows_no_more_is_warm_however_full_it_is() -> None:
    found = judged([3 * GIB] * 6, [0.9] * 6)
    assert (found.state, found.tone) == (WarmthState.WARM, "ok")
    assert "stable for 2 min" in found.sentence


def test_a_cache_of_a_silent_guest_is_warm_by_its_size_alone() -> None:
    assert judged([9 * GIB] * 6).state is WarmthState.WARM
    assert judged([9 * GIB] * 6).hit_rate is None


def test_a_cold_cache_of_which_nothing_was_read_says_nothing_of_reads() -> None:
    found = judged([512 * 1024] * 4)
    assert found.state is WarmthState.COLD
    assert "Too few reads" in found.sentence and "HDD" not in found.sentence


def test_one_sample_says_nothing_about_growth() -> None:
    found = judged([4 * GIB], [0.5])
    assert (found.state, found.growth_bytes) == (WarmthState.WARMING, None)


def test_time_before_the_cache_does_not_count() -> None:
    assert judged([None, None, None, GIB], [None, None, None, 0.5]).growth_bytes is None


def test_a_cache_that_was_added_a_minute_ago_is_not_warm_by_what_the_one_before_did() -> None:
    """Removed and added again, with a minute between the two and without."""
    before: list[int | None] = [9 * GIB] * 14
    rates: list[float | None] = [0.99] * 14
    for between in (0, 1):
        used = [*before, *[None] * between, 500 * MIB, GIB]
        found = judged(used, [*rates, *[None] * between, 0.4, 0.5], without_cache=True)
        assert found.state is WarmthState.WARMING
        assert "stable" not in found.sentence


def test_a_larger_cache_begins_anew() -> None:
    sizes: list[float | None] = [5.0 * GIB] * 8 + [10.0 * GIB] * 2
    found = judged([4 * GIB] * 8 + [3 * GIB] * 2, [0.9] * 8 + [0.5] * 2, sizes=sizes)
    assert (found.state, found.growth_bytes) == (WarmthState.WARMING, None)


def test_a_cache_that_serves_all_reads_is_warm_though_it_still_fills_and_began_cold() -> None:
    used: list[int | None] = [n * GIB // 4 for n in range(1, 13)]
    found = judged(used, [0.2, 0.9, *[1.0] * 10])
    assert (found.state, found.tone) == (WarmthState.WARM, "ok")
    assert "3 GiB are enough for now, 70 % of the cache is unused" in found.sentence
    assert "left" not in found.sentence and "full in" not in found.sentence


def test_a_cache_whose_few_misses_still_become_fewer_is_warming() -> None:
    used: list[int | None] = [n * GIB // 4 for n in range(1, 13)]
    rates: list[float | None] = [*[0.955] * 6, *[0.97] * 6]
    assert judged(used, rates).state is WarmthState.WARMING
    assert judged(used, [0.97] * 12).state is WarmthState.WARM


def test_a_gap_counts_as_the_time_it_lasted() -> None:
    found = judged([GIB, None, None, None, None, None, 4 * GIB])
    assert (found.state, found.growth_bytes) == (WarmthState.WARMING, 3 * GIB)
    assert "3 GiB more in 6 min" in found.sentence
    assert found.full_in_seconds == pytest.approx(720)


def test_figures_from_before_the_host_fell_silent_make_no_cache_warm() -> None:
    full = [10 * GIB] * 6
    assert judged(full, age=SILENT).state is WarmthState.WARM
    for found in (judged(full, age=timedelta(minutes=25)), judged([*full, *[None] * 25])):
        assert (found.state, found.share) == (WarmthState.UNKNOWN, None)
        assert "The last sample is 25 min old" in found.sentence


@pytest.mark.parametrize("used", [[], [None, None]])
def test_without_figures_it_is_unknown(used: list[int | None]) -> None:
    found = judged(used)
    assert (found.state, found.share) == (WarmthState.UNKNOWN, None)


def test_quiet_minutes_do_not_drag_the_hit_rate() -> None:
    busy: Values = {**UNKNOWN, "cache_size_bytes": GIB, "used_bytes": GIB}
    values = [
        {**busy, "hit_rate": 0.9, "accesses_per_s": 9900.0},
        {**busy, "hit_rate": 0.0, "accesses_per_s": 100.0},
    ]
    found = warmth(
        Series(
            start=NOON, end=NOON, step_seconds=60, columns=make.columns([*values, *values]),
            totals=UNKNOWN, seconds=240.0,
        ),
        NOON,
        SILENT,
    )  # fmt: skip
    assert found.hit_rate == pytest.approx(0.891)


def test_a_cache_that_tells_its_fill_seldom_is_not_steady_between_two_answers() -> None:
    """bcache on a large SSD: the same answer for 15 minutes says nothing."""
    span = looked_at(of_layout("bcache"))
    minutes = int(span.total_seconds() / 60)
    answers = [(1 + minute // 15) * GIB for minute in range(minutes)]
    assert judged([*answers]).state is WarmthState.WARMING
    assert looked_at(of_layout("plain")) < span
