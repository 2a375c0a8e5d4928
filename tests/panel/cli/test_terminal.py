"""Text for a terminal: nothing that it obeys, nothing that is too wide."""

from __future__ import annotations

import json

import pytest

from panel.cli.terminal import (
    Column,
    coloured,
    cut,
    duration,
    json_text,
    money,
    plain,
    shown_time,
    size,
    table,
    width_of,
)

LONG = (
    Column("KEY", lambda row: row["key"]),
    Column("LABEL", lambda row: row["label"], shrinks=True),
    Column("SIZE", lambda row: row["size"], right=True),
    Column("NOTE", lambda row: row["note"], spare=True),
)
ROWS = [
    {"key": "a" * 16, "label": "n" * 200, "size": "8 GiB", "note": "x" * 40},
    {"key": "b" * 16, "label": "漢字" * 30, "size": "12 GiB", "note": ""},
]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("web12 disk", "web12 disk"),
        ("a\x1b[31mred\x07", "a\\x1b[31mred\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("two\nlines", "two\\x0alines"),
        ("web\u202etxt.exe", "web\\u202etxt.exe"),
        ("\u2028", "\\u2028"),
        ("Größe 漢字 é", "Größe 漢字 é"),
        ("\udc80", "\\udc80"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_json_is_ascii_without_control_characters() -> None:
    value = {"name": "\x1b[31m\x9b\x7f\u202e漢"}
    text = json_text(value)
    assert text.isascii() and text.isprintable()
    assert json.loads(text) == value


@pytest.mark.parametrize("width", [40, 80, 132])
def test_a_table_is_no_wider_than_the_terminal(width: int) -> None:
    lines = table(ROWS, LONG, width=width)
    assert max(map(width_of, lines)) <= width
    assert all("a" * 16 in line or "b" * 16 in line for line in lines[1:])


def test_a_spare_column_goes_before_names_are_unreadable() -> None:
    columns = (
        Column("LABEL", lambda row: row["label"], shrinks=True),
        Column("NOTE", lambda row: row["note"], spare=True),
    )
    row = {"label": "n" * 20, "note": "x" * 40}
    assert table([row], columns, width=60)[1] == f"{'n' * 17}…  {'x' * 40}"
    assert table([row], columns, width=50)[1] == "n" * 20
    assert table([row], columns, width=10)[1] == f"{'n' * 9}…"


def test_what_is_piped_elsewhere_is_not_cut() -> None:
    assert "n" * 200 in table(ROWS, LONG)[1]


def test_columns_stand_beneath_each_other_also_with_wide_letters() -> None:
    lines = table([{"key": "a", "label": "漢字", "size": "1", "note": "x"},
                   {"key": "b", "label": "web1", "size": "2", "note": "x"}], LONG)  # fmt: skip
    assert width_of(lines[1]) == width_of(lines[2])


def test_what_is_not_known_is_a_dash() -> None:
    assert table([{"n": None}], (Column("N", lambda row: row["n"]),))[1] == "-"


def test_a_word_has_a_colour_only_on_a_terminal_that_wants_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert coloured("failed") == "failed"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert coloured("failed") != "failed"
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as context:
            context.setenv(name, value)
            assert coloured("failed") == "failed"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0, "0 B"), (268435456, "256 MiB"), (1610612736, "1.5 GiB"), (True, "-")],
)
def test_sizes_have_binary_units(value: object, shown: str) -> None:
    assert size(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "-"), (12.4, "12 s"), (185, "3 min"), (7440, "2 h 4 min")]
)
def test_durations_are_in_words(value: object, shown: str) -> None:
    assert duration(value) == shown


def test_times_are_in_utc_without_fractions() -> None:
    assert shown_time("2026-11-23T17:05:14.510793+01:00") == "2026-11-23 16:05:14Z"
    assert shown_time("2026-11-23T16:05:14Z") == "2026-11-23 16:05:14Z"
    assert shown_time(None) == ""


def test_a_cut_text_says_that_it_is() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("abcd", 4) == "abcd"


@pytest.mark.parametrize(
    ("minor", "digits", "currency", "text"),
    [
        (1000, 2, "EUR", "10.00 EUR"),
        (5, 2, "EUR", "0.05 EUR"),
        (-148, 2, "EUR", "-1.48 EUR"),
        (490, 0, "JPY", "490 JPY"),
        (1234, 3, "KWD", "1.234 KWD"),
        (0, 2, "", "0.00"),
    ],
)
def test_money_has_the_decimals_of_its_currency(
    minor: int, digits: int, currency: str, text: str
) -> None:
    row = {"price_minor": minor, "currency": currency, "currency_digits": digits}
    assert money(row, "price_minor") == text
