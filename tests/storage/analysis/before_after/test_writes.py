"""What is claimed of writes, and of reads and writes together."""

from __future__ import annotations

import math
from random import Random

import pytest

from storage.analysis.before_after import (
    Block,
    Judged,
    JudgedWrites,
    MeasuredChange,
    Verdict,
    combine,
    judge_writes,
    pairs,
)
from storage.analysis.before_after.block import WEEK
from storage.metrics.compare import CLOSE
from tests.storage.analysis.before_after.load import DAY_CURVE, HOUR, WEEK_HOURS, block

GAIN, LOSS, NONE, UNCLEAR = Verdict.GAIN, Verdict.LOSS, Verdict.NONE, Verdict.UNCLEAR


def written(count: int, write_ms: float, *, start: int = 0, spread: float = 0.02) -> list[Block]:
    """Blocks one after another with a thousand writes and hardly a read in each."""
    return [
        block(start + 10 * n, 5, 0.0, writes=1000, write_ms=write_ms * (1 + spread * (-1) ** n))
        for n in range(count)
    ]


def judged(before_ms: float, after_ms: float, *, spread: float = 0.02) -> JudgedWrites:
    before = written(12, before_ms, spread=spread)
    after = written(12, after_ms, start=1000, spread=-spread)
    found = judge_writes(pairs(before, after, None, of_writes=True))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("after_ms", "verdict"), [(0.4, GAIN), (7.0, GAIN), (8.1, NONE), (9.2, LOSS), (40.0, LOSS)]
)
def test_writes_are_judged_by_the_time_one_takes(after_ms: float, verdict: Verdict) -> None:
    found = judged(8.0, after_ms)
    assert found.verdict is verdict
    assert found.times_as_long[0] == pytest.approx(after_ms / 8, rel=0.01)
    assert found.confidence > 0.9


def test_writes_that_scatter_too_much_lead_to_no_claim() -> None:
    assert judged(8.0, 7.0, spread=0.9).verdict is UNCLEAR


def test_blocks_with_hardly_a_write_are_compared_with_nothing() -> None:
    before = [block(10 * n, 1000, 0.5, writes=99) for n in range(9)]
    after = [block(1000 + 10 * n, 1000, 0.5, writes=5000) for n in range(9)]
    assert pairs(before, after, None, of_writes=True) == []
    assert judge_writes([]) is None


def change(mean: float, reach: float) -> MeasuredChange:
    return MeasuredChange(mean, max(reach, 1e-6) / 2, 6, mean - reach, mean + reach)


def reads(verdict: Verdict, times: float = 1.0, *, confidence: float = 0.9) -> Judged:
    shift = {GAIN: 0.3, LOSS: -0.3, NONE: 0.0, UNCLEAR: 0.1}[verdict]
    return Judged(verdict, confidence, 0.4, 0.4 + shift, change(shift, 0.01), time_of(times))


def writes(verdict: Verdict, times: float = 1.0, *, confidence: float = 0.8) -> JudgedWrites:
    return JudgedWrites(verdict, confidence, time_of(times))


def time_of(times: float) -> MeasuredChange:
    return change(math.log(times), 0.01)


def test_what_alone_can_be_judged_is_the_verdict() -> None:
    only_reads = combine(reads(LOSS), None, (1, 1))
    only_writes = combine(None, writes(GAIN, 0.1), (1, 1))
    assert only_reads is not None and only_writes is not None
    assert (only_reads.verdict, only_reads.confidence) == (LOSS, 0.9)
    assert (only_writes.verdict, only_writes.confidence) == (GAIN, 0.8)
    assert combine(None, None, (1, 1)) is None


@pytest.mark.parametrize(
    ("of_reads", "of_writes", "both"),
    [
        (GAIN, GAIN, GAIN),
        (GAIN, NONE, GAIN),
        (GAIN, UNCLEAR, GAIN),
        (NONE, GAIN, GAIN),
        (UNCLEAR, GAIN, GAIN),
        (LOSS, NONE, LOSS),
        (LOSS, LOSS, LOSS),
        (LOSS, UNCLEAR, LOSS),
        (NONE, LOSS, LOSS),
        (UNCLEAR, LOSS, LOSS),
        (NONE, NONE, NONE),
        (NONE, UNCLEAR, UNCLEAR),
        (UNCLEAR, NONE, UNCLEAR),
        (UNCLEAR, UNCLEAR, UNCLEAR),
    ],
)
def test_a_gain_of_one_is_a_gain_while_the_other_got_no_worse(
    of_reads: Verdict, of_writes: Verdict, both: Verdict
) -> None:
    found = combine(reads(of_reads), writes(of_writes), (1000, 1000))
    assert found is not None
    assert (found.verdict, found.is_weighed) == (both, False)


@pytest.mark.parametrize(
    ("of_reads", "of_writes", "waited", "both"),
    [
        # Writes take a twentieth, and were nearly all of the wait.
        (reads(LOSS, 2.0), writes(GAIN, 0.05), (100, 900), GAIN),
        # The same where they were hardly any of it.
        (reads(LOSS, 2.0), writes(GAIN, 0.05), (900, 100), LOSS),
        # What one saves the other takes.
        (reads(LOSS, 1.5), writes(GAIN, 0.5), (500, 500), NONE),
        # Reads of which more come from SSD, and yet each takes longer.
        (reads(GAIN, 3.0), writes(GAIN, 0.5), (900, 100), LOSS),
        (reads(GAIN, 0.5), writes(LOSS, 1.5), (900, 100), GAIN),
        (reads(GAIN, 0.9), writes(LOSS, 3.0), (100, 900), LOSS),
    ],
)
def test_where_one_gains_and_the_other_gets_worse_each_counts_by_the_time_waited_for_it(
    of_reads: Judged, of_writes: JudgedWrites, waited: tuple[int, int], both: Verdict
) -> None:
    found = combine(of_reads, of_writes, waited)
    assert found is not None
    assert (found.verdict, found.is_weighed) == (both, True)
    assert found.confidence == 0.8


def test_nothing_is_claimed_where_the_time_of_reads_is_not_known() -> None:
    unknown = Judged(LOSS, 0.9, 0.4, 0.1, change(-0.3, 0.01), None)
    found = combine(unknown, writes(GAIN, 0.1), (0, 1000))
    assert found is not None
    assert (found.verdict, found.confidence) == (UNCLEAR, 0.5)


def test_reads_that_are_slower_by_less_than_is_notable_are_no_worse() -> None:
    found = combine(reads(NONE, CLOSE - 0.02), writes(GAIN, 0.9), (900, 100))
    assert found is not None
    assert (found.verdict, found.is_weighed) == (GAIN, False)


def week(random: Random, start: int, factor: float) -> list[Block]:
    """Hours whose writes follow the day, and drift."""
    drift, found = random.gauss(0, 0.2), []
    for n in range(WEEK_HOURS):
        drift = 0.7 * drift + random.gauss(0, 0.2 * (1 - 0.7**2) ** 0.5)
        day = DAY_CURVE[n % 24]
        count = round(2000 * math.exp(0.7 * day + random.gauss(0, 0.3)))
        each_ms = 8 * factor * math.exp(0.2 * day + drift)
        found.append(block(start + n * HOUR, 0, 0.0, writes=count, write_ms=each_ms))
    return found


@pytest.mark.parametrize(("factor", "least", "most"), [(1.0, 0, 6), (0.7, 96, 120)])
def test_of_120_orders_few_gains_are_claimed_without_one_and_most_are_found(
    factor: float, least: int, most: int
) -> None:
    random, gains = Random(20261124), 0
    for _ in range(120):
        weeks = week(random, 0, 1.0), week(random, 2 * WEEK, factor)
        found = judge_writes(pairs(*weeks, WEEK, of_writes=True))
        assert found is not None
        gains += found.verdict is GAIN
    assert least <= gains <= most
