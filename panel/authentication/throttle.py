"""Limits on password attempts. They stop somebody who guesses and still let the owner in: attempts
are counted per address and network and, across all networks, only for browsers that never signed in
as this person. A browser that did has a count of its own."""

from __future__ import annotations

from typing import Final

from allauth.core.internal import ratelimit
from allauth.core.internal.ratelimit import RateLimitUsage
from django.http import HttpRequest

from panel.authentication import known_browsers
from panel.models import User

LIMITS: Final = {
    "network": "10/m/ip",
    "here": "5/300s/key",
    "everywhere": "50/3600s/key",
    "known": "5/300s/key",
    "proof": "5/300s/key",
}


def take(request: HttpRequest, address: str, person: User | None) -> RateLimitUsage | None:
    """Count a try of the password of that address; None where it may not be tried now."""
    together = RateLimitUsage(usage=[])
    for action, key in _counts(request, address.lower(), person):
        usage = ratelimit.consume(request, app="panel", action=action, config=LIMITS, key=key)
        if usage is None:
            return None
        together.usage += usage.usage
    return together


def forget(request: HttpRequest, address: str, person: User | None) -> None:
    """Count from nothing again, here and everywhere: they chose a new password."""
    for action, key in _counts(request, address.lower(), person):
        if action != "network":
            ratelimit.clear(request, app="panel", action=action, config=LIMITS, key=key)


def _counts(
    request: HttpRequest, address: str, person: User | None
) -> list[tuple[str, str | None]]:
    if request.user.is_authenticated:
        # A proof in a session: whoever sits there keeps nobody else out.
        return [("proof", f"session:{request.session.session_key}")]
    mark = known_browsers.mark(request, person) if person is not None else ""
    if mark:
        return [("known", f"{address}:{mark}")]
    return [
        ("network", None),
        ("here", f"{address}:{ratelimit.get_ip(request)}"),
        ("everywhere", address),
    ]
