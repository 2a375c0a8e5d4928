"""Figures as people read them."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from django.utils import timezone

from storage import formatting
from storage.templatetags import units

MIB, GIB = 1024**2, 1024**3


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1536, "1.5 KiB"),
        (512 * MIB, "512 MiB"),
        (GIB, "1 GiB"),
        (GIB + GIB // 4, "1.2 GiB"),
        (8 * GIB, "8 GiB"),
        (2**63 - 1, "8192 PiB"),
    ],
)
def test_sizes_are_binary(value: int, shown: str) -> None:
    assert formatting.size(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (0.4, "0.4"), (9.94, "9.9"), (301.4, "301"), (1240.4, "1,240")]
)
def test_iops_have_a_decimal_only_where_it_matters(value: float, shown: str) -> None:
    assert formatting.iops(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.182, "0.18 ms"), (26.42, "26.4 ms"), (1234.5, "1234 ms")]
)
def test_times_have_three_digits(value: float, shown: str) -> None:
    assert formatting.ms(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.9, "1 s"), (59, "59 s"), (61, "1 min"), (7260, "2 h 1 min"), (200_000, "2 d")],
)
def test_durations_use_two_units_at_most(value: float, shown: str) -> None:
    assert formatting.seconds(value) == shown


def test_a_ratio_is_a_percentage_with_one_decimal() -> None:
    assert formatting.percent(0.9764) == "97.6 %"
    assert formatting.share(1, 3) == "33.3 %"


@pytest.mark.parametrize("value", [None, "", "12", True, math.nan, math.inf])
@pytest.mark.parametrize(
    "shown", [formatting.size, units.speed, units.iops, units.ms, units.percent, units.seconds]
)
def test_what_is_not_a_number_is_a_dash(shown: object, value: object) -> None:
    assert shown(value) == "-"  # type: ignore[operator]


def test_a_share_of_nothing_is_a_dash() -> None:
    assert formatting.share(1, 0) == units.share(1, None) == units.share(None, 1) == "-"


def test_the_age_of_a_moment_is_given_in_words() -> None:
    assert units.age(timezone.now() - timedelta(hours=12)) == "12 h ago"
    assert units.age(None) == "-"


def test_a_moment_is_shown_by_its_age_and_says_when_it_was() -> None:
    at = timezone.now() - timedelta(hours=5)
    shown = units.moment(at)
    named = f'datetime="{at.isoformat()}" title="{at:%Y-%m-%d %H:%M:%S} UTC"'
    assert f"{named}>5 h ago</time>" in shown
    assert "is-old" not in shown


def test_an_old_moment_says_so_also_to_who_listens() -> None:
    shown = units.moment(timezone.now(), is_old=True)
    assert 'class="num is-old"' in shown
    assert 'ago<span class="visually-hidden">, old</span></time>' in shown


def test_what_never_was_has_no_age() -> None:
    assert units.moment(None) == '<span class="text-secondary">never</span>'


def test_a_span_without_end_lasts_until_now() -> None:
    start = timezone.now() - timedelta(minutes=70)
    assert units.lasted(start) == "1 h 10 min"
    assert units.lasted(start, start + timedelta(seconds=3)) == "3 s"


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 disks"), (1, "1 disk"), (2, "2 disks"), (1200, "1,200 disks")]
)
def test_a_noun_follows_its_number(number: int, shown: str) -> None:
    assert formatting.counted(number, "disk") == shown


def test_a_difference_of_shares_is_given_in_points() -> None:
    assert [formatting.points(each) for each in (0.125, -0.004, None)] == ["+12.5", "-0.4", "-"]


@pytest.mark.parametrize(
    "figure",
    ["97.6 %", "5.40 ms", "12 s", "3 min", "2 h", "5 d", "512 MiB", "1.5 GiB", "3 B", "12 KiB/s"],
)
def test_a_number_is_not_parted_from_its_unit(figure: str) -> None:
    whole = figure.replace(" ", "\N{NO-BREAK SPACE}")
    assert formatting.unbroken(f"It is {figure} or {figure}.") == f"It is {whole} or {whole}."


@pytest.mark.parametrize("text", ["2 disks", "3 months", "4 Boost", "v2 s-1", "1 min-max"])
def test_other_words_after_a_number_are_left_as_they_are(text: str) -> None:
    assert formatting.unbroken(text) == text


def test_no_line_ends_before_a_percent_sign() -> None:
    assert formatting.unbroken("97 % of your reads") == "97\N{NO-BREAK SPACE}% of your reads"
