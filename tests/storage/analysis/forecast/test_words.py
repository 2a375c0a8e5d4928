"""Shares and times as a customer says them."""

from __future__ import annotations

import pytest

from storage.analysis.forecast.words import a_day, share, shares, span, spans


@pytest.mark.parametrize(
    ("rate", "said"),
    [(0, "0 %"), (0.004, "less than 1 %"), (0.41, "41 %"), (0.9999, "99 %"), (1, "100 %")],
)
def test_a_share_is_never_said_to_be_more_than_it_was(rate: float, said: str) -> None:
    assert share(rate) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (12, "less than a minute"),
        (60, "1 minute"),
        (18 * 60, "18 minutes"),
        (2.5 * 3600, "2.5 hours"),
        (3 * 3600, "3 hours"),
        (30 * 3600, "30 hours"),
        (3 * 86_400, "3 days"),
    ],
)
def test_a_time_is_said_in_one_unit(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_a_wait_without_a_break_is_nearly_all_day() -> None:
    assert a_day(86_300) == "nearly all day"
    assert a_day(600) == "10 minutes a day"


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (2 * 3600, 6 * 3600, "2 to 6 hours"),
        (3600 * 2 - 60, 6 * 3600, "2 to 6 hours"),
        (60, 180, "1 to 3 minutes"),
        (1800, 3 * 3600, "30 minutes to 3 hours"),
        (601, 602, "10 minutes"),
        (10, 600, "up to 10 minutes"),
        (26 * 3600, 3 * 86_400, "1 to 3 days"),
        (47 * 3600, 49 * 3600, "2 days"),
        (20 * 3600, 3 * 86_400, "20 hours to 3 days"),
    ],
)
def test_a_range_of_times_names_its_unit_once(low: float, high: float, said: str) -> None:
    assert spans(low, high) == said


def test_a_range_of_shares() -> None:
    assert shares(0.62, 0.88) == "62 to 88 %"
    assert shares(0.401, 0.409) == "40 %"
    assert shares(0.001, 0.4) == "up to 40 %"
