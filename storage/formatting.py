"""Figures with their units, for people. What is unknown shows as "-", never as 0. Pure."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime

from storage.language import figure

NOTHING = "-"
BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
MINUTE, HOUR, DAY = 60, 3600, 86400
UNITS = r"(?:%|(?:ms|s|min|h|d|IOPS|(?:[KMGTP]i?)?B(?:/s)?)(?![\w-]))"
"""What follows a number, as a regular expression."""
BEFORE_UNIT = re.compile(rf"(?<=\d) (?={UNITS})")


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _short(number: float, digits: int) -> str:
    """Rounded, without a ".0" at the end."""
    return f"{number:.{digits}f}".removesuffix(".0")


def size(value: object) -> str:
    """Bytes as "512 MiB", "1.5 GiB": binary units, as LVM counts."""
    number = _number(value)
    if number is None:
        return NOTHING
    power = 0
    while abs(number) >= 1024 and power < len(BINARY) - 1:
        number /= 1024
        power += 1
    digits = 0 if abs(number) >= 100 else 1
    return figure(f"{_short(number, digits)} {BINARY[power]}")


def speed(value: object) -> str:
    """Bytes a second as "12.5 MiB/s"."""
    return NOTHING if _number(value) is None else f"{size(value)}/s"


def iops(value: object) -> str:
    """Operations a second as "1,240"; below 10 with one decimal."""
    number = _number(value)
    if number is None:
        return NOTHING
    return figure(f"{number:.1f}" if 0 < abs(number) < 10 else f"{number:,.0f}")


def ms(value: object) -> str:
    """Milliseconds as "0.18 ms", "26.4 ms"."""
    number = _number(value)
    if number is None:
        return NOTHING
    digits = 2 if abs(number) < 10 else 1 if abs(number) < 100 else 0
    return figure(f"{number:.{digits}f} ms")


def percent(value: object) -> str:
    """A ratio (0 to 1) as "97.6 %", "50 %"."""
    number = _number(value)
    return NOTHING if number is None else figure(f"{_short(number * 100, 1)} %")


def points(value: object) -> str:
    """A difference of two ratios in percentage points: "+12.5", "-0.4"."""
    number = _number(value)
    return NOTHING if number is None else figure(f"{number * 100:+.1f}")


def unbroken(text: object) -> str:
    """A text in which no line ends between a number and its unit: for texts that a script puts in a
    page. HTML is made so as a whole (`panel.http.unparted_figures`)."""
    return BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", str(text))


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 disk", "2 disks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def share(part: object, whole: object) -> str:
    """`part` of `whole` as a percentage."""
    above, below = _number(part), _number(whole)
    return NOTHING if above is None or not below else percent(above / below)


def thousands(value: object) -> str:
    """A number as "12,340"."""
    number = _number(value)
    return NOTHING if number is None else f"{number:,.0f}"


FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""With one of these in front, a spreadsheet runs a cell; some take the full-width ones too."""


def csv_line(cells: Iterable[object]) -> str:
    """A line of CSV with its line end. A spreadsheet takes no text in it for a formula."""
    line = io.StringIO()
    csv.writer(line).writerow([spreadsheet_text(cell) for cell in cells])
    return line.getvalue()


def spreadsheet_text(value: object) -> str:
    """A cell of `csv_line`; "" is not known."""
    if value is None or isinstance(value, bool | int | float):
        return "" if value is None else str(value)
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def seconds(value: object) -> str:
    """A duration as "12 s", "3 min", "2 h 4 min", "2 h", "5 d": its small part is left out where it
    says nothing."""
    number = _number(value)
    if number is None:
        return NOTHING
    whole = max(0, round(number))
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min"
    if whole < DAY:
        minutes = whole % HOUR // MINUTE
        return f"{whole // HOUR} h {minutes} min" if minutes else f"{whole // HOUR} h"
    return f"{whole // DAY} d"
