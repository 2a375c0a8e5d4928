"""Shares, times and spans in a customer's words. Pure."""

from __future__ import annotations

from typing import Final

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400
NEARLY_ALWAYS: Final = 0.98
"""Of a time: more than this is "nearly all" of it."""


def share(rate: float) -> str:
    """A share (0 to 1) as "41 %", never more than it was: only all is 100 %."""
    if 0 < rate < 0.01:
        return "less than 1 %"
    return f"{int(rate * 100 + 1e-9)} %"


def span(seconds: float) -> str:
    """A duration as a person says it: "18 minutes", "2.5 hours", "3 days"."""
    if seconds < MINUTE:
        return "less than a minute"
    if seconds < 100 * MINUTE:
        return _counted(seconds / MINUTE, "minute", 0)
    if seconds < 2 * DAY:
        return _counted(seconds / HOUR, "hour", 1 if seconds < 10 * HOUR else 0)
    return _counted(seconds / DAY, "day", 0)


def a_day(seconds: float) -> str:
    """So many seconds of each day: "18 minutes a day", "nearly all day"."""
    if seconds > NEARLY_ALWAYS * DAY:
        return "nearly all day"
    return f"{span(seconds)} a day"


def spans(low: float, high: float) -> str:
    """A range of durations: "2 to 6 hours", "18 minutes to 2.5 hours", "up to
    9 minutes"; one where both read alike"""
    first, last = span(low), span(high)
    if first == last:
        return last
    if low < MINUTE:
        return f"up to {last}"
    number, _, unit = first.partition(" ")
    same = unit.rstrip("s") == last.partition(" ")[2].rstrip("s")
    return f"{number} to {last}" if same else f"{first} to {last}"


def shares(low: float, high: float) -> str:
    """A range of shares: "62 to 88 %"; one where both read alike."""
    first, last = share(low), share(high)
    if first == last:
        return last
    if first.startswith("less"):
        return f"up to {last}"
    return f"{first.removesuffix(' %')} to {last}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 read", "7 reads"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def capital(text: str) -> str:
    """The text as a sentence begins."""
    return text[0].upper() + text[1:]


def _counted(number: float, noun: str, digits: int) -> str:
    digits_text = f"{number:.{digits}f}".removesuffix(".0")
    return f"{digits_text} {noun}{'' if digits_text == '1' else 's'}"
