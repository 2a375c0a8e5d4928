"""Template filters for figures and times. `storage.formatting` formats the figures."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html

from storage.formatting import (
    NOTHING,
    iops,
    ms,
    percent,
    points,
    seconds,
    share,
    size,
    speed,
    thousands,
)
from storage.language import gettext

OLD = '<span class="visually-hidden">{}</span>'

register = template.Library()
for figure in (size, speed, iops, ms, percent, points, share, seconds, thousands):
    register.filter(figure)


def stamp(at: datetime, pattern: str = "%Y-%m-%d %H:%M %Z") -> str:
    """A moment in the time zone of the request's person, which it names; in UTC where no one in
    particular reads it, as in a worker."""
    return f"{timezone.localtime(at):{pattern}}"


@register.filter
def age(value: object) -> str:
    """A moment as "12 s ago"."""
    if not isinstance(value, datetime):
        return NOTHING
    duration = seconds((timezone.now() - value).total_seconds())
    return gettext("{time} ago").format(time=duration)


@register.filter
def moment(at: object, is_old: object = False) -> str:
    """A moment by its age, with the time itself for who points at it. Made here, because a list has
    hundreds and a template would take five times as long."""
    if not isinstance(at, datetime):
        return format_html('<span class="text-secondary">{}</span>', gettext("never"))
    return format_html(
        '<time class="num{}" datetime="{}" title="{}">{}{}</time>',
        " is-old" if is_old else "",
        at.isoformat(),
        stamp(at, "%Y-%m-%d %H:%M:%S %Z"),
        age(at),
        format_html(OLD, gettext(", old")) if is_old else "",
    )


@register.filter
def lasted(start: object, end: object = None) -> str:
    """The time from `start` to `end`, to now while there is no end."""
    if not isinstance(start, datetime):
        return NOTHING
    last = end if isinstance(end, datetime) else timezone.now()
    return seconds((last - start).total_seconds())
