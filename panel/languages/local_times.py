"""Times for customers: written in UTC, which the browser replaces by its own time zone
(`static/js/localtime.js`)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from django.utils.dateformat import format as formatted
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

TimeStyle = Literal["long", "short", "date"]


def plain_time(at: datetime, style: TimeStyle = "long") -> str:
    """A moment in UTC: "1 December 2026, 00:00 UTC", short "1 Dec 2026, 00:00 UTC", or the date
    alone."""
    match style:
        case "date":
            return str(formatted(at.astimezone(UTC), pgettext("date", "j F Y")))
        case "short":
            pattern = pgettext("short date and time", "j M Y, H:i")
        case "long":
            pattern = pgettext("date and time", "j F Y, H:i")
    return f"{formatted(at.astimezone(UTC), pattern)} UTC"


def time_tag(at: datetime, style: TimeStyle = "long") -> SafeString:
    """The same as an element that the browser renews in its own time zone."""
    return format_html(
        '<time datetime="{}" data-local="{}">{}</time>',
        at.astimezone(UTC).isoformat(timespec="seconds"),
        style,
        plain_time(at, style),
    )
