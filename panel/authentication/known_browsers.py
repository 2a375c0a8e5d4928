"""Browsers in which a person has signed in before. Their cookie grants no access, but keeps the
person from being locked out by somebody who guesses the password elsewhere."""

from __future__ import annotations

import secrets
from typing import Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from panel.models import User

SALT: Final = "panel.knownbrowser"
DAYS: Final = 180
MOST: Final = 5
"""People that one browser remembers, the last ones."""


def mark(request: HttpRequest, person: User) -> str:
    """What tells this browser of the person from their others; "" where they never signed in."""
    return _people(request).get(str(person.pk), "")


def remember(request: HttpRequest, response: HttpResponseBase, person: User) -> None:
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
        found: dict[str, str] = signing.loads(
            request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE, ""),
            salt=SALT,
            max_age=DAYS * 86_400,
        )
    except signing.BadSignature:
        return {}
    return found
