"""A difference and how sure it is."""

from __future__ import annotations

from math import log

import pytest

from storage.analysis.comparison import MeasuredChange


def test_the_interval_is_that_of_students_t() -> None:
    change = MeasuredChange.of(1.0, 0.5, 10)
    assert (change.low, change.high) == (
        pytest.approx(1 - 2.228 * 0.5, abs=1e-3),
        pytest.approx(1 + 2.228 * 0.5, abs=1e-3),
    )


def test_the_probability_of_so_large_a_change_by_chance_has_two_sides() -> None:
    up, down = (MeasuredChange.of(mean, 1.0, 10) for mean in (2.228, -2.228))
    assert up.p == pytest.approx(down.p) == pytest.approx(0.05, abs=1e-4)
    assert up.chance_below(0) == pytest.approx(0.025, abs=1e-4)


def test_a_change_of_logarithms_is_a_factor() -> None:
    best, least, most = MeasuredChange.of(log(2), 0.1, 10).factors
    assert best == pytest.approx(2) and least * most == pytest.approx(4)
