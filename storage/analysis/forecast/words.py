"""Shares, times and spans in a customer's words. Pure."""

from __future__ import annotations

from typing import Final

from storage.language import figure, gettext, ngettext

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400
NEARLY_ALWAYS: Final = 0.98
"""Of a time: more than this is "nearly all" of it."""


def share(rate: float) -> str:
    """A share (0 to 1) as "41 %", never more than it was: only all is 100 %."""
    if 0 < rate < 0.01:
        return gettext("less than 1 %")
    return f"{int(rate * 100 + 1e-9)} %"


def span(seconds: float) -> str:
    """A duration as a person says it: "18 minutes", "2.5 hours", "3 days"."""
    number, unit = _parts(seconds)
    return _in_units(number, unit)


def lately(seconds: float) -> str:
    """The time up to now: "in the last 18 minutes"."""
    number, unit = _parts(seconds)
    match unit:
        case "":
            return gettext("in the last minute")
        case "minute":
            text = ngettext("in the last minute", "in the last {n} minutes", _count(number))
        case "hour":
            text = ngettext("in the last hour", "in the last {n} hours", _count(number))
        case _:
            text = ngettext("in the last day", "in the last {n} days", _count(number))
    return text.format(n=figure(number))


def a_day(seconds: float) -> str:
    """Seconds of each day in words: "18 minutes a day", "nearly all day"."""
    if seconds > NEARLY_ALWAYS * DAY:
        return gettext("nearly all day")
    return gettext("{span} a day").format(span=span(seconds))


def spans(low: float, high: float) -> str:
    """A range of durations: "2 to 6 hours", "18 minutes to 2.5 hours", "1 to 3 days", "up to
    9 minutes"; one where both read alike"""
    (first, unit), (last, last_unit) = _parts(low), _parts(high)
    if last_unit == "day" and low >= DAY:
        first, unit = f"{low / DAY:.0f}", last_unit
    if (first, unit) == (last, last_unit):
        return span(high)
    if low < MINUTE:
        return gettext("up to {span}").format(span=span(high))
    shown = figure(first) if unit == last_unit else span(low)
    return gettext("{low} to {high}").format(low=shown, high=span(high))


def shares(low: float, high: float) -> str:
    """A range of shares: "62 to 88 %"; one where both read alike."""
    first, last = share(low), share(high)
    if first == last:
        return last
    if 0 < low < 0.01:
        return gettext("up to {share}").format(share=last)
    return gettext("{low} to {high}").format(low=first.removesuffix(" %"), high=last)


def counted_reads(number: int) -> str:
    """ "1 read", "7 reads"."""
    return ngettext("{n} read", "{n} reads", number).format(n=figure(f"{number:,}"))


def capital(text: str) -> str:
    """The text as a sentence begins."""
    return text[0].upper() + text[1:]


def _parts(seconds: float) -> tuple[str, str]:
    """A number and its unit, "" for less than a minute."""
    if seconds < MINUTE:
        return "", ""
    if seconds < 100 * MINUTE:
        return f"{seconds / MINUTE:.0f}", "minute"
    if seconds < 2 * DAY:
        digits = 1 if seconds < 10 * HOUR else 0
        return f"{seconds / HOUR:.{digits}f}".removesuffix(".0"), "hour"
    return f"{seconds / DAY:.0f}", "day"


def _in_units(number: str, unit: str) -> str:
    match unit:
        case "":
            return gettext("less than a minute")
        case "minute":
            text = ngettext("{n} minute", "{n} minutes", _count(number))
        case "hour":
            text = ngettext("{n} hour", "{n} hours", _count(number))
        case _:
            text = ngettext("{n} day", "{n} days", _count(number))
    return text.format(n=figure(number))


def _count(number: str) -> int:
    return 1 if number == "1" else 2
