"""Limits on password attempts. They stop guessing and still let the owner in: attempts
are counted per address and network and, across all networks, only for browsers that never signed in
as this person. A browser that did has a count of its own."""

from __future__ import annotations

import secrets
from typing import Final

from allauth.core.internal import ratelimit
from allauth.core.internal.ratelimit import RateLimitUsage
from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from panel.models import User

LIMITS: Final = {
    "network": "10/m/ip",
    "here": "5/300s/key",
    "everywhere": "50/3600s/key",
    "known": "5/300s/key",
    "proof": "5/300s/key",
}

SALT: Final = "panel.knownbrowser"
DAYS: Final = 180
MOST: Final = 5
"""People that one browser remembers, the last ones."""


def count_try(request: HttpRequest, address: str, person: User | None) -> RateLimitUsage | None:
    """Count an attempt at the password of that address; None where it is blocked."""
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
        # A proof in a session: failed attempts there lock out only that session.
        return [("proof", f"session:{request.session.session_key}")]
    known_browser = browser_mark(request, person) if person is not None else ""
    if known_browser:
        return [("known", f"{address}:{known_browser}")]
    return [
        ("network", None),
        ("here", f"{address}:{ratelimit.get_ip(request)}"),
        ("everywhere", address),
    ]


def browser_mark(request: HttpRequest, person: User) -> str:
    """What tells this browser of the person from their others; "" where they never signed in."""
    return _people(request).get(str(person.pk), "")


def remember_browser(request: HttpRequest, response: HttpResponseBase, person: User) -> None:
    """They have signed in here."""
    people = _people(request)
    own = people.pop(str(person.pk), "") or secrets.token_urlsafe(12)
    kept = dict([*people.items(), (str(person.pk), own)][-MOST:])
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE,
        signing.dumps(kept, salt=SALT),
        max_age=DAYS * 86_400,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _people(request: HttpRequest) -> dict[str, str]:
    try:
        people: dict[str, str] = signing.loads(
            request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE, ""),
            salt=SALT,
            max_age=DAYS * 86_400,
        )
    except signing.BadSignature:
        return {}
    return people
