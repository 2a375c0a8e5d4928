"""The address of the card that explains why something is slow. Pure but for page addresses."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from storage.problems.all_kinds import kind_of


def why_slow_path(
    code: str, volume_key: str, host_key: str, subject: str, at: datetime | None = None
) -> str:
    """For a problem of that kind, at that moment (None: now); "" where it is not about speed, or
    its subject no longer exists."""
    if not kind_of(code).is_about_speed:
        return ""
    if volume_key:
        path = reverse("volume-slowness", args=[volume_key])
    elif host_key and subject and kind_of(code).about == "disk":
        path = reverse("host-busy", args=[host_key, subject])
    else:
        return ""
    return f"{path}?{urlencode({'at': f'{at:%Y-%m-%dT%H:%M:%SZ}'})}" if at is not None else path
