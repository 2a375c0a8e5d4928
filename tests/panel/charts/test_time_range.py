"""The time that charts show, as the URL names it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from panel.charts.time_range import SHORTEST, Span, ranges, span_of

NOW = datetime(2026, 11, 21, 12, 0, 7, tzinfo=UTC)
OLD = NOW - timedelta(days=9)


@pytest.fixture(autouse=True)
def ten_seconds(settings: Settings) -> None:
    settings.TIERCEL_SAMPLE_SECONDS = 10


def span(**query: str) -> Span:
    return span_of(RequestFactory().get("/", query), NOW, known_since=lambda: OLD)


def test_a_range_ends_with_the_bucket_that_still_lasts() -> None:
    found = span(range="1h")
    assert found.end == NOW.replace(second=10)
    assert found.end - found.start == timedelta(hours=1)
    assert found.words == "Last 1 h"
    assert not found.is_part


def test_a_part_of_the_past_is_shown_in_finer_buckets() -> None:
    found = span(**{"range": "24h", "from": "2026-11-21T03:00:00Z", "to": "2026-11-21T03:10:00Z"})
    assert found.is_part
    assert (found.key, found.label) == ("24h", "10 min")
    assert found.end - found.start == timedelta(minutes=10)
    assert found.words == "10 min until 21 Nov 03:10 UTC"
    assert found.query == "range=24h&from=2026-11-21T03%3A00%3A00Z&to=2026-11-21T03%3A10%3A00Z"


@pytest.mark.parametrize(
    ("start", "end", "length"),
    [
        ("2026-11-21T03:00:00Z", "2026-11-21T03:00:01Z", SHORTEST),
        ("2020-10-01T00:00:00Z", "2026-11-21T03:00:00Z", timedelta(days=366)),
        ("2026-11-21T11:30:07Z", "2030-01-01T00:00:00Z", timedelta(minutes=30)),
    ],
)
def test_a_part_is_no_shorter_and_no_longer_than_charts_can_show(
    start: str, end: str, length: timedelta
) -> None:
    found = span(**{"from": start, "to": end})
    assert length <= found.end - found.start <= length + timedelta(seconds=2 * found.step)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-11-21T03:00:00Z", ""),
        ("2026-11-21T03:00:00Z", "2026-11-21T02:00:00Z"),
        ("2026-13-41T03:00:00Z", "nonsense"),
        ("2031-01-01T00:00:00Z", "2031-01-02T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:30Z"),
        ("0001-01-01T00:00:00+14:00", "2026-11-21T03:00:00Z"),
        ("2026-11-21T03:00:00Z", "9999-12-31T23:59:59-12:00"),
    ],
)
def test_ends_that_make_no_time_are_left_aside(start: str, end: str) -> None:
    assert not span(**{"from": start, "to": end}).is_part


def test_a_time_without_a_zone_is_utc_as_a_page_without_scripts_sends_it() -> None:
    found = span(**{"from": "2026-11-21T03:00", "to": "2026-11-21T04:00"})
    assert (found.start.hour, found.end.hour, found.is_part) == (3, 4, True)


def test_ranges_reach_a_year_and_long_buckets_leave_short_ones_out() -> None:
    assert ranges() == ("15m", "1h", "6h", "24h", "7d", "30d", "90d", "1y")
    assert ranges(300) == ("1h", "6h", "24h", "7d", "30d", "90d", "1y")
    year = span(range="1y")
    assert (year.step, year.points, year.words) == (86_400, 365, "Last 12 months")
    asked = span(**{"from": "2020-01-01T00:00:00Z", "to": "2026-11-21T03:00:00Z"})
    assert (asked.step, asked.end - asked.start) == (86_400, timedelta(days=367))
    found = span_of(
        RequestFactory().get("/", {"range": "15m"}), NOW, known_since=lambda: OLD, least_seconds=300
    )
    assert (found.key, found.end.minute % 5, found.end.second) == ("24h", 0, 0)


@pytest.mark.parametrize(
    ("age", "least", "key"),
    [
        (timedelta(minutes=10), 0, "15m"),
        (timedelta(minutes=50), 0, "15m"),
        (timedelta(days=9), 0, "1h"),
        (timedelta(minutes=10), 300, "1h"),
        (timedelta(hours=7), 300, "6h"),
        (timedelta(days=9), 300, "24h"),
        (None, 300, "1h"),
    ],
)
def test_without_a_range_the_longest_one_that_the_figures_fill_is_shown(
    age: timedelta | None, least: int, key: str
) -> None:
    request = RequestFactory().get("/")
    found = span_of(
        request, NOW, known_since=lambda: NOW - age if age else None, least_seconds=least
    )
    assert found.key == key


def test_a_short_time_has_short_buckets_where_they_can_be_read() -> None:
    fine = timedelta(hours=3)
    assert ranges(300, fine)[:2] == ("15m", "1h")
    for asked, step in (({"range": "15m"}, 10), ({"range": "1h"}, 10), ({"range": "6h"}, 300)):
        request = RequestFactory().get("/", asked)
        assert (
            span_of(request, NOW, known_since=lambda: OLD, least_seconds=300, fine=fine).step
            == step
        )


def test_the_ends_of_a_time_show_it_tomorrow_too() -> None:
    shown = span(range="1h")
    again = span(**shown.ends)
    assert (again.start, again.end, again.step) == (shown.start, shown.end, shown.step)


@pytest.mark.parametrize(("key", "seconds"), [("24h", 300), ("7d", 3600), ("30d", 10_800)])
def test_many_days_are_shown_in_whole_hours(key: str, seconds: int) -> None:
    found = span(range=key)
    assert (found.step, found.end.timestamp() % seconds) == (seconds, 0)
    assert found.points * seconds == (found.end - found.start).total_seconds()
