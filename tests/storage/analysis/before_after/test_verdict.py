"""What is claimed of a change: seldom a gain where there is none, nearly always one that is."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from storage.analysis.before_after import Block, Verdict, pairs, verdict_of
from storage.analysis.before_after.block import DAY, WEEK
from tests.storage.analysis.before_after.load import HOUR, WEEK_HOURS, block, hours


def verdicts(
    count: int, effect: float, *, noise: tuple[float, float], likeness: tuple[float, float]
) -> Counter[Verdict]:
    """What is said of so many orders after which the hit rate is higher by `effect`, each of a
    guest of its own that reads another amount after it than before."""
    random, found = Random(20261121), Counter[Verdict]()
    for _ in range(count):
        base = random.uniform(0.2, 0.6)
        kind = {"noise": random.uniform(*noise), "likeness": random.uniform(*likeness)}
        before = hours(random, base=base, load=random.uniform(500, 5000), **kind)
        later = {"load": random.uniform(500, 5000), "start": 2 * WEEK}
        after = hours(random, base=base + effect, **later, **kind)
        judged = verdict_of(pairs(before, after, WEEK))
        assert judged is not None
        found[judged.verdict] += 1
    return found


def test_of_1000_orders_without_effect_at_most_one_in_twenty_is_called_a_gain() -> None:
    found = verdicts(1000, 0.0, noise=(0.02, 0.1), likeness=(0.0, 0.9))
    assert found.total() == 1000
    assert found[Verdict.GAIN] <= 50
    assert found[Verdict.LOSS] <= 50


@pytest.mark.parametrize(("likeness", "spread"), [(0.3, 0.05), (0.5, 0.05), (0.5, 0.1)])
def test_where_days_resemble_each_other_the_interval_still_holds_the_truth(
    likeness: float, spread: float
) -> None:
    """Deployments, the end of a month, campaigns: the level of days drifts."""
    random, held, gains = Random(20261123), 0, 0
    for _ in range(400):
        levels = [random.gauss(0, spread)]
        for _ in range(13):
            levels.append(
                likeness * levels[-1] + random.gauss(0, spread * (1 - likeness**2) ** 0.5)
            )
        weeks = [
            [
                block(
                    week * WEEK + n * HOUR,
                    1000,
                    min(0.99, max(0, 0.45 + levels[7 * week + n // 24] + random.gauss(0, 0.03))),
                )
                for n in range(WEEK_HOURS)
            ]
            for week in (0, 1)
        ]
        judged = verdict_of(pairs(*weeks, WEEK))
        assert judged is not None
        held += judged.hit_rate.low <= 0 <= judged.hit_rate.high
        gains += judged.verdict == Verdict.GAIN
    assert held >= 0.93 * 400
    assert gains <= 0.04 * 400


def test_where_hours_are_most_alike_and_scatter_most_gains_are_claimed_no_more_often() -> None:
    found = verdicts(200, 0.0, noise=(0.1, 0.1), likeness=(0.9, 0.9))
    assert found[Verdict.GAIN] <= 10


@pytest.mark.parametrize(("effect", "least"), [(0.1, 850), (0.15, 950)])
def test_most_gains_of_ten_points_and_nearly_all_of_fifteen_are_found(
    effect: float, least: int
) -> None:
    found = verdicts(1000, effect, noise=(0.02, 0.1), likeness=(0.0, 0.9))
    assert found[Verdict.GAIN] >= least


@pytest.mark.parametrize("count", [6, 24])
def test_in_short_windows_too_at_most_one_in_twenty_is_called_a_gain(count: int) -> None:
    """Minutes, and a day: the hit rate drifts, and so short a window sees but a part of it."""
    random, gains = Random(20261122), 0
    for _ in range(400):
        base, noise = random.uniform(0.2, 0.6), random.uniform(0.02, 0.1)
        kind = {"noise": noise, "likeness": random.uniform(0, 0.9), "load": 2000, "count": count}
        before, after = (hours(random, base=base, **kind, start=at) for at in (0, 10 * DAY))
        judged = verdict_of(pairs(before, after, None), is_short=True)
        gains += judged is not None and judged.verdict == Verdict.GAIN
    assert gains <= 20


def test_a_first_cache_is_found_in_a_minute_though_it_still_warms_up() -> None:
    rates = (0.45, 0.55, 0.62, 0.68, 0.72, 0.75)
    after = [block(100 + 10 * n, 1000, rate) for n, rate in enumerate(rates)]
    judged = verdict_of(
        pairs([block(10 * n, 1000, 0.0) for n in range(6)], after, None), is_short=True
    )
    assert judged is not None
    assert judged.verdict == Verdict.GAIN


def test_ten_points_less_are_a_loss() -> None:
    found = verdicts(100, -0.1, noise=(0.02, 0.06), likeness=(0.0, 0.8))
    assert found[Verdict.LOSS] >= 95


def run(
    count: int, hit_rate: float, *, start: int = 0, step: int = 10, ms: float = 5
) -> list[Block]:
    """Short blocks one after another, all but alike."""
    return [block(start + n * step, 1000, hit_rate + 0.004 * (-1) ** n, ms) for n in range(count)]


def test_a_minute_is_enough_where_the_difference_is_plain() -> None:
    judged = verdict_of(pairs(run(6, 0.01), run(6, 0.7, start=100, ms=0.5), None))
    assert judged is not None
    assert (judged.verdict, judged.confidence) == (Verdict.GAIN, 0.999)
    assert judged.times_as_long is not None
    assert judged.times_as_long[0] == pytest.approx(0.1)


def test_no_gain_is_said_with_its_confidence_where_a_notable_one_is_ruled_out() -> None:
    judged = verdict_of(pairs(run(12, 0.4), run(12, 0.405, start=1000), None))
    assert judged is not None
    assert judged.verdict == Verdict.NONE
    assert judged.confidence > 0.95
    assert judged.hit_rate.low < 0.005 < judged.hit_rate.high


def test_figures_that_scatter_too_much_lead_to_no_claim() -> None:
    wild = [block(n * HOUR, 1000, 0.1 + 0.8 * (n % 2)) for n in range(8)]
    calm = [block(DAY + n * HOUR, 1000, 0.55) for n in range(8)]
    judged = verdict_of(pairs(wild, calm, None))
    assert judged is not None
    assert judged.verdict == Verdict.UNCLEAR


def test_three_pairs_are_too_few_for_any_word() -> None:
    assert verdict_of(pairs(run(3, 0.1), run(3, 0.9, start=100), None)) is None


def test_a_nightly_scan_of_one_window_decides_nothing() -> None:
    """Fifty times the reads of all other hours, none of them hits: only in the time after."""
    before = [block(n * HOUR, 1000, 0.5) for n in range(WEEK_HOURS)]
    after = [block(WEEK + n * HOUR, 1000, 0.5) for n in range(WEEK_HOURS)]
    after[3] = block(WEEK + 3 * HOUR, 8_000_000, 0.0)
    judged = verdict_of(pairs(before, after, WEEK))
    assert judged is not None
    assert judged.verdict == Verdict.NONE
