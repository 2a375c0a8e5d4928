"""Slope, remaining time and standstill of long work; and the share of the time that it may take."""

from __future__ import annotations

from bisect import bisect_right

import pytest

from storage.agent.kernel.stats import FINE_NS
from storage.agent.operations.pace import (
    CLASSES,
    FIRST_SHARE,
    LEAST_SHARE,
    MOST_SHARE,
    Governor,
    Pace,
    RemainingWork,
    percentile_ns,
)

SECOND = 1_000_000_000


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    remaining = RemainingWork(0, 1000)
    for second in range(1, 31):
        remaining.update(second * SECOND, 1000, 0)
    for second in range(31, 61):
        pace = remaining.update(second * SECOND, 1000 - 10 * (second - 30), 100)
    assert pace == Pace(rate_bytes_s=10, left_s=60, stalled_s=0)


def test_without_a_fall_no_end_is_known_and_the_standstill_is_counted() -> None:
    remaining = RemainingWork(0, 1000)
    remaining.update(5 * SECOND, 900, 0)
    assert remaining.update(70 * SECOND, 950, 0) == Pace(0, None, 65)


def test_new_data_raises_the_whole() -> None:
    remaining = RemainingWork(0, 1000)
    remaining.update(SECOND, 1500, 0)
    remaining.update(2 * SECOND, 1200, 0)
    assert remaining.peak == 1500


def test_at_the_limit_nothing_is_left() -> None:
    assert RemainingWork(0, 1000).update(0, 50, 64).left_s == 0


def ios(**by_ms: float) -> list[float]:
    """A histogram: so many I/Os of so many ms (`at_5=90`)."""
    counts = [0.0] * CLASSES
    for name, count in by_ms.items():
        counts[bisect_right(FINE_NS, int(name.removeprefix("at_")) * 1_000_000)] = count
    return counts


def test_a_percentile_lies_inside_its_class() -> None:
    bounds = (5, 10, 20)
    assert percentile_ns([0, 100, 0, 0], bounds_ns=bounds) == pytest.approx(9.75)
    assert percentile_ns([0, 90, 10, 0], bounds_ns=bounds) == pytest.approx(15)
    assert percentile_ns([0, 1, 0, 0], 1.0, bounds) == 10
    assert percentile_ns([0, 0, 0, 1], bounds_ns=bounds) > 20
    assert percentile_ns(ios(at_5=100)) == pytest.approx(5_000_000, rel=0.2)


def settled(
    governor: Governor, beside: list[float], alone: list[float], allowed: int = 20
) -> float:
    """The share after some minutes beside a guest that does these I/Os in a second of our work, and
    in a second of our rest."""
    for _ in range(40):
        work_seconds = 10 * governor.share
        worked = [
            count * work_seconds + other * (7 - work_seconds)
            for count, other in zip(beside, alone, strict=True)
        ]
        rested = [count * 3 for count in alone]
        governor.look(allowed, ({"sdc": worked}, 7, work_seconds), ({"sdc": rested}, 3))
    return governor.share


def test_the_share_is_the_largest_that_keeps_the_others_within_what_is_allowed() -> None:
    alone, beside = ios(at_5=100, at_4=200, at_7=5), ios(at_5=30, at_50=20)
    governor = Governor()
    share = settled(governor, beside, alone)
    mixed = [share * a + (1 - share) * b for a, b in zip(beside, alone, strict=True)]
    more = share * 1.5
    beyond = [more * a + (1 - more) * b for a, b in zip(beside, alone, strict=True)]
    alone_ns = percentile_ns(alone)
    assert percentile_ns(mixed) <= 1.2 * alone_ns < percentile_ns(beyond)
    assert governor.alone_p95_ns == pytest.approx(alone_ns)
    assert governor.p95_ns <= 1.2 * alone_ns


def after_first_look(first: list[float], rests: list[float], *, rests_fully: bool) -> float:
    """What is taken for the others' p95 without us."""
    governor = Governor(rests_fully=rests_fully)
    first_look = {"sdc": [count * 20 for count in first]}
    governor.look(20, ({}, 0.0, 0.0), (first_look, 20.0))
    settled(governor, ios(at_50=100), rests)
    return governor.alone_p95_ns


def test_where_our_io_goes_on_in_a_rest_the_first_look_says_what_the_others_feel_alone() -> None:
    first, rests = ios(at_5=30), ios(at_5=26, at_20=4)
    for rests_fully, expected in ((False, first), (True, rests)):
        alone_ns = after_first_look(first, rests, rests_fully=rests_fully)
        assert alone_ns == pytest.approx(percentile_ns(expected), rel=0.05)


@pytest.mark.parametrize("rests", [ios(at_4=30), ios(at_5=60, at_20=20), ios(at_5=8, at_7=2)])
def test_rests_that_are_quieter_or_of_another_load_take_the_place_of_the_first_look(
    rests: list[float],
) -> None:
    alone_ns = after_first_look(ios(at_5=30), rests, rests_fully=False)
    assert alone_ns == pytest.approx(percentile_ns(rests), rel=0.05)


def test_a_person_who_allows_more_makes_it_faster() -> None:
    alone, beside = ios(at_5=100), ios(at_5=20, at_7=10, at_20=10)
    shares = [settled(Governor(), beside, alone, allowed) for allowed in (20, 100)]
    assert LEAST_SHARE < shares[0] < shares[1] <= MOST_SHARE


def test_work_ends_however_much_the_others_feel_it() -> None:
    assert settled(Governor(), ios(at_500=9000), ios(at_5=100)) == LEAST_SHARE


def test_where_others_do_no_io_all_of_the_time_is_taken() -> None:
    governor = Governor()
    governor.look(20, ({}, 0.0, 0.0), ({}, 2.0))
    assert (governor.share, governor.p95_ns) == (1.0, 0.0)


def test_who_comes_while_all_of_the_time_is_taken_gets_most_of_it_at_once() -> None:
    governor = Governor()
    governor.look(20, ({}, 0.0, 0.0), ({}, 2.0))
    governor.look(20, ({"sdc": ios(at_50=100)}, 6.0, 6.0), ({}, 0.0))
    assert governor.share <= 1.1 * FIRST_SHARE


def test_of_several_disks_the_one_that_feels_it_most_decides() -> None:
    governor = Governor()
    calm, hurt = ios(at_5=100), ios(at_500=100)
    for _ in range(20):
        beside = {"sdb": calm, "sdc": hurt}
        governor.look(20, (beside, 1.0, 0.1), ({"sdb": calm, "sdc": calm}, 1.0))
    assert governor.share == LEAST_SHARE
    assert governor.alone_p95_ns == pytest.approx(percentile_ns(calm))
