"""Figures with their units, for people. What is unknown shows as "-", never as 0."""

from __future__ import annotations

import math
from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

NOTHING = "-"
BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
MINUTE, HOUR, DAY = 60, 3600, 86400
OLD = SafeString('<span class="visually-hidden">, old</span>')


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


@register.filter
def size(value: object) -> str:
    """Bytes as "512 MiB", "1.5 GiB": binary units, as LVM counts."""
    number = _number(value)
    if number is None:
        return NOTHING
    power = 0
    while abs(number) >= 1024 and power < len(BINARY) - 1:
        number /= 1024
        power += 1
    digits = 0 if number == int(number) or abs(number) >= 100 else 1
    return f"{number:.{digits}f} {BINARY[power]}"


@register.filter
def speed(value: object) -> str:
    """Bytes a second as "12.5 MiB/s"."""
    return NOTHING if _number(value) is None else f"{size(value)}/s"


@register.filter
def iops(value: object) -> str:
    """Operations a second as "1,240"; below 10 with one decimal."""
    number = _number(value)
    if number is None:
        return NOTHING
    return f"{number:.1f}" if 0 < abs(number) < 10 else f"{number:,.0f}"


@register.filter
def ms(value: object) -> str:
    """Milliseconds as "0.18 ms", "26.4 ms"."""
    number = _number(value)
    if number is None:
        return NOTHING
    digits = 2 if abs(number) < 10 else 1 if abs(number) < 100 else 0
    return f"{number:.{digits}f} ms"


@register.filter
def percent(value: object) -> str:
    """A ratio (0 to 1) as "97.6 %"."""
    number = _number(value)
    return NOTHING if number is None else f"{number * 100:.1f} %"


@register.filter
def points(value: object) -> str:
    """A difference of two ratios in percentage points: "+12.5", "-0.4"."""
    number = _number(value)
    return NOTHING if number is None else f"{number * 100:+.1f}"


@register.filter
def unbroken(text: object) -> str:
    """A sentence in which no line ends between a number and its percent sign."""
    return str(text).replace(" %", "\N{NO-BREAK SPACE}%")


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 disk", "2 disks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@register.filter
def share(part: object, whole: object) -> str:
    """`part` of `whole` as a percentage."""
    above, below = _number(part), _number(whole)
    return NOTHING if above is None or not below else percent(above / below)


@register.filter
def seconds(value: object) -> str:
    """A duration as "12 s", "3 min 5 s", "2 h 4 min", "5 d"."""
    number = _number(value)
    if number is None:
        return NOTHING
    whole = max(0, round(number))
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole // DAY} d"


@register.filter
def age(value: object) -> str:
    """A moment as "12 s ago"."""
    if not isinstance(value, datetime):
        return NOTHING
    return f"{seconds((timezone.now() - value).total_seconds())} ago"


@register.filter
def moment(at: object, is_old: object = False) -> str:
    """What `parts/age.html` shows: a moment by its age, with the time itself for who points at it.
    Made here, because a list has hundreds and the template would take five times as long."""
    if not isinstance(at, datetime):
        return format_html('<span class="text-secondary">{}</span>', "never")
    return format_html(
        '<time class="num{}" datetime="{}" title="{} UTC">{}{}</time>',
        " is-old" if is_old else "",
        at.isoformat(),
        f"{at:%Y-%m-%d %H:%M:%S}",
        age(at),
        OLD if is_old else "",
    )


@register.filter
def lasted(start: object, end: object = None) -> str:
    """The time from `start` to `end`, to now while there is no end."""
    if not isinstance(start, datetime):
        return NOTHING
    last = end if isinstance(end, datetime) else timezone.now()
    return seconds((last - start).total_seconds())
