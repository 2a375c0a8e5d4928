"""Two windows beside each other."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from storage.metrics.compare import Compared, compared, is_enough
from storage.metrics.rates import FiguresWindow

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def window(**fields: Any) -> FiguresWindow:
    unknown: dict[str, Any] = dict.fromkeys(
        field.name for field in dataclasses.fields(FiguresWindow)
    )
    times = {"intervals": 90, "seconds": 900.0, "start": NOON, "end": NOON}
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
    assert found["Write hit rate"].difference == "the same"


@pytest.mark.parametrize(("before", "after"), [(None, 1.0), (1.0, None), (0.0, 5.0)])
def test_what_is_unknown_or_zero_has_no_difference(
    before: float | None, after: float | None
) -> None:
    assert rows({"read_ms": before}, {"read_ms": after})["Read time"].difference == ""


def test_figures_that_neither_side_knows_are_left_out() -> None:
    assert rows({}, {}) == {}
    assert "Read hit rate" not in rows({"read_iops": 1.0}, {"read_iops": 1.0})


def test_a_moment_is_not_enough_to_compare_with() -> None:
    assert not is_enough(window(intervals=2))
    assert is_enough(window(intervals=3))
