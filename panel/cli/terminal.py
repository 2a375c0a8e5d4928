"""Text for a terminal: names without control characters, tables that fit, figures with units."""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import click

UNSHOWN: Final = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
"""Categories of what a terminal obeys instead of showing it, or shows as nothing."""
JOINERS: Final = "\u200c\u200d"
UNKNOWN: Final = "-"
GAP: Final = "  "
LEAST_WIDTH: Final = 8
READABLE_WIDTH: Final = 16
UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
COLOURS: Final = {
    **dict.fromkeys(("succeeded", "completed", "active", "delivered"), "green"),
    **dict.fromkeys(("failed", "needs_attention", "missing", "error", "refused"), "red"),
    **dict.fromkeys(("running", "queued", "waiting", "warning"), "yellow"),
}


def plain(value: object) -> str:
    r"""A value on one line, unchanged except that control characters are written as \x1b."""
    text = str(value)
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if unicodedata.category(letter) not in UNSHOWN or letter in JOINERS:
        return letter
    number = ord(letter)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def json_text(value: object, indent: int | None = None) -> str:
    """JSON in ASCII, with no character that a terminal obeys."""
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


def paragraphs(value: object) -> list[str]:
    """The lines of a text, each `plain`; tabs are spaces."""
    return [plain(line.expandtabs()) for line in str(value).split("\n")]


def width_of(text: str) -> int:
    """Columns that a terminal gives to the text."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> int:
    if unicodedata.combining(letter) or letter in JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text, cut to this many columns."""
    if width_of(text) <= width:
        return text
    kept, used = [], 0
    for letter in text:
        used += _letter_width(letter)
        if used > width - 1:
            break
        kept.append(letter)
    return "".join(kept) + "\N{HORIZONTAL ELLIPSIS}"


def has_colour() -> bool:
    """Standard output is a terminal, and NO_COLOR is unset (no-color.org)."""
    is_wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return is_wanted and sys.stdout.isatty()


def coloured(cell: str) -> str:
    """A state with its colour, where there is one. The word says the same without it."""
    colour = COLOURS.get(cell.strip())
    return click.style(cell, fg=colour) if colour is not None and has_colour() else cell


def screen_width() -> int | None:
    """Columns of the terminal; None where the output goes elsewhere and need not be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Where the table is too wide, it `shrinks`, or is left out whole
    (`spare`)."""

    title: str
    cell: Callable[[Any], object]
    right: bool = False
    shrinks: bool = False
    spare: bool = False


def table(rows: Iterable[Any], columns: Sequence[Column], *, width: int | None = None) -> list[str]:
    """The lines of a table, its titles first; None leaves the width to the content."""
    listed = list(rows)
    cells = [[plain(_cell(column, row)) for column in columns] for row in listed]
    widths = [
        max(map(width_of, (column.title, *(line[n] for line in cells))))
        for n, column in enumerate(columns)
    ]
    shown = list(range(len(columns)))
    if width is not None:
        shown, widths = _fitted(columns, widths, width)
    titles = [column.title for column in columns]
    return [
        GAP.join(_padded(line[n], widths[n], right=columns[n].right) for n in shown).rstrip()
        for line in (titles, *cells)
    ]


def _cell(column: Column, row: Any) -> object:
    value = column.cell(row)
    return UNKNOWN if value is None or value == "" else value


def _fitted(
    columns: Sequence[Column], natural: list[int], width: int
) -> tuple[list[int], list[int]]:
    """Which columns are shown, and how wide each is: names stay readable as long as there is a
    spare column to leave out."""
    shown = list(range(len(columns)))
    while True:
        widths = list(natural)
        spare = [n for n in shown if columns[n].spare]
        least = READABLE_WIDTH if spare else LEAST_WIDTH
        excess = sum(widths[n] for n in shown) + len(GAP) * (len(shown) - 1) - width
        while excess > 0:
            wide = [n for n in shown if columns[n].shrinks and widths[n] > least]
            if not wide:
                break
            widths[max(wide, key=widths.__getitem__)] -= 1
            excess -= 1
        if excess <= 0 or not spare:
            return shown, widths
        shown.remove(spare[-1])


def _padded(text: str, width: int, *, right: bool) -> str:
    text = cut(text, width)
    padding = " " * (width - width_of(text))
    return padding + coloured(text) if right else coloured(text) + padding


def pairs(values: Iterable[tuple[str, object]]) -> list[str]:
    """Names and values, one a line, the values beneath each other."""
    listed = [(name, value) for name, value in values if value is not None and value != ""]
    widest = max((len(name) for name, _ in listed), default=0)
    return [f"{name:<{widest}}{GAP}{coloured(plain(value))}" for name, value in listed]


def size(value: object) -> str:
    """Bytes as "512 MiB"."""
    number = _number(value)
    if number is None:
        return UNKNOWN
    power = 0
    while abs(number) >= 1024 and power < len(UNITS) - 1:
        number /= 1024
        power += 1
    text = f"{number:.1f}".removesuffix(".0") if abs(number) < 100 else f"{number:.0f}"
    return f"{text} {UNITS[power]}"


def figure(value: object, digits: int = 1) -> str:
    """A number, "-" where it is unknown."""
    number = _number(value)
    return UNKNOWN if number is None else f"{number:,.{digits}f}"


def percent(value: object) -> str:
    """A ratio (0 to 1) as "97.6 %"."""
    number = _number(value)
    return UNKNOWN if number is None else f"{number * 100:.1f} %"


def duration(value: object) -> str:
    """Seconds as "12 s", "3 min", "2 h 4 min"."""
    number = _number(value)
    if number is None:
        return UNKNOWN
    whole = max(0, round(number))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def shown_time(value: object) -> str:
    """A time of the API as "2026-11-23 16:05:14Z"; "" for none."""
    if value is None:
        return ""
    at = datetime.fromisoformat(str(value)).astimezone(UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}Z"


def money(row: Mapping[str, Any], field: str) -> str:
    """An amount of a row, such as "4.90 EUR": the panel says how many decimals its currency has."""
    amount = Decimal(row[field]).scaleb(-row["currency_digits"])
    return f"{amount:f} {row['currency']}".rstrip()


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
