"""A fresh proof of identity, required before an action costs money, destroys data or gives lasting
power (`panel.authentication.protected_actions`).

The proof is a second factor if the person has one, otherwise the password, otherwise a mailed code.
A recent sign-in counts as well; a one-time link never does. The session stores what was proven and
when (allauth's records of authentication). allauth's own re-authentication is not used: it accepts
the password although there is a second factor.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from panel.authentication import second_factor

Record = Mapping[str, Any]

LINK, CODE = "login_link", "mail_code"
"""How the session's records name a sign-in by a one-time link, and a mailed code."""
FACTORS = frozenset({*second_factor.KINDS, Authenticator.Type.RECOVERY_CODES})


class Way(StrEnum):
    """What a person must show."""

    FACTOR = "factor"
    PASSWORD = "password"  # noqa: S105 - a word, not a password
    CODE = "code"


def way_of(user: AbstractBaseUser) -> Way:
    """The strongest that the person has; one query."""
    if Authenticator.objects.filter(user_id=user.pk, type__in=second_factor.KINDS).exists():
        return Way.FACTOR
    return Way.PASSWORD if user.has_usable_password() else Way.CODE


def proven_at(records: Iterable[Record], way: Way) -> float | None:
    """When it was shown last, in seconds since 1970; None for never."""
    times = [float(record["at"]) for record in records if _shows(record, way)]
    return max(times, default=None)


def last_proof(request: HttpRequest) -> float | None:
    """The same of a request's session and person."""
    user = request.user
    if not isinstance(user, AbstractBaseUser) or not user.is_active:
        return None
    return proven_at(get_authentication_records(request, user), way_of(user))


def is_proven(request: HttpRequest) -> bool:
    """Whether the proof is younger than TIERCEL_STEP_UP_SECONDS. One that lies in the future, by a
    clock that was set back, is worth as little as an old one."""
    at = last_proof(request)
    return at is not None and abs(time.time() - at) < settings.TIERCEL_STEP_UP_SECONDS


def is_by_link(request: HttpRequest) -> bool:
    """Whether the session began with a one-time link."""
    user = request.user
    if not isinstance(user, AbstractBaseUser):
        return False
    return any(record["method"] == LINK for record in get_authentication_records(request, user))


def demand(request: HttpRequest, back: str = "") -> HttpResponse | None:
    """None with a fresh proof; else where it is asked for, which leads back to `back` (a page that
    shows itself on GET; the request's own address where it is ""). Nothing of a POST is kept: the
    person confirms it again, knowing what it is."""
    return None if is_proven(request) else ask(request, back)


def demand_of_link(request: HttpRequest) -> HttpResponse | None:
    """The same, of a session that began with a one-time link; others pass."""
    return demand(request) if is_by_link(request) else None


def ask(request: HttpRequest, back: str = "") -> HttpResponse:
    """Send the browser to the page that asks for a proof; also a part of a page."""
    query = urlencode({"next": back or request.get_full_path()})
    place = f"{reverse('step-up')}?{query}"
    if "HX-Request" in request.headers:
        return HttpResponse(status=HTTPStatus.FORBIDDEN, headers={"HX-Redirect": place})
    return redirect(place)


def _shows(record: Record, way: Way) -> bool:
    method = record.get("method")
    match way:
        case Way.FACTOR:
            return method == "mfa" and record.get("type") in FACTORS
        case Way.PASSWORD:
            return method == "password"
        case Way.CODE:
            return method == CODE
