"""Moments as the person who reads a page has them on their clock."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone


def stamp(at: datetime, pattern: str = "%Y-%m-%d %H:%M %Z") -> str:
    """In the time zone of the request's person, which it names; in UTC where no one in particular
    reads it, as in a worker."""
    return f"{timezone.localtime(at):{pattern}}"
