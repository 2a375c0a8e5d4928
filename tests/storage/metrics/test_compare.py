"""Two windows beside each other."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.analysis.before_after import MeasuredChange, Verdict
from storage.analysis.before_after.verdict import decide
from storage.metrics.compare import Compared, compared, is_enough, notable
from storage.metrics.rates import FiguresWindow

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def window(**fields: Any) -> FiguresWindow:
    unknown: dict[str, Any] = dict.fromkeys(
        field.name for field in dataclasses.fields(FiguresWindow)
    )
    times = {"intervals": 90, "seconds": 900.0, "start": NOON, "end": NOON + timedelta(hours=1)}
    return FiguresWindow(**{**unknown, **times, **fields})


def rows(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Compared]:
    return {row.what: row for row in compared(window(**before), window(**after))}


def test_a_shorter_time_is_better_and_a_longer_one_worse() -> None:
    found = rows({"read_ms": 6.0, "write_ms": 2.0}, {"read_ms": 0.5, "write_ms": 3.0})
    assert found["Read time"] == Compared(
        "Read time", "6.00 ms", "0.50 ms", "12 times faster", "better"
    )
    assert found["Write time"].difference == "1.50 times slower"
    assert found["Write time"].verdict == "worse"


def test_how_much_was_read_is_the_guests_doing_and_has_no_verdict() -> None:
    found = rows({"read_iops": 100.0}, {"read_iops": 320.0})["Read IOPS"]
    assert (found.difference, found.verdict) == ("3.2 times more", "")


def test_hit_rates_differ_by_points() -> None:
    found = rows(
        {"hit_rate": 0.4, "write_hit_rate": 0.5, "cache_size_bytes": 1},
        {"hit_rate": 0.9, "write_hit_rate": 0.501, "cache_size_bytes": 1},
    )
    assert (found["Read hit rate"].difference, found["Read hit rate"].verdict) == (
        "+50 points",
        "better",
    )
    assert found["Write hit rate"].difference == "about the same"


@pytest.mark.parametrize(("before", "after"), [(0.4, 0.44), (0.9, 0.915), (0.99, 0.995)])
def test_a_change_that_no_proof_would_call_one_is_none_here(before: float, after: float) -> None:
    sides = ({"hit_rate": each, "cache_size_bytes": 1} for each in (before, after))
    assert rows(*sides)["Read hit rate"].verdict == ""
    assert decide(MeasuredChange(after - before, 0.001, 9, 0.001, 0.1), notable(before))[0] not in (
        Verdict.GAIN,
        Verdict.LOSS,
    )


@pytest.mark.parametrize(("before", "after"), [(None, 1.0), (1.0, None), (0.0, 5.0)])
def test_what_is_unknown_or_zero_has_no_difference(
    before: float | None, after: float | None
) -> None:
    assert rows({"read_ms": before}, {"read_ms": after})["Read time"].difference == ""


def test_figures_that_neither_side_knows_are_left_out() -> None:
    assert rows({}, {}) == {}
    assert "Read hit rate" not in rows({"read_iops": 1.0}, {"read_iops": 1.0})


@pytest.mark.parametrize(
    ("before", "worth"), [(0.0, 0.05), (0.75, 0.05), (0.9, 0.02), (0.96, 0.01), (1.0, 0.01)]
)
def test_where_few_misses_are_left_less_is_notable(before: float, worth: float) -> None:
    assert notable(before) == pytest.approx(worth)


def test_a_moment_is_not_enough_to_compare_with() -> None:
    assert not is_enough(window(seconds=600.0))
    assert not is_enough(window(intervals=2))
    assert is_enough(window(intervals=3))
