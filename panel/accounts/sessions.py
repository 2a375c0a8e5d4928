"""The sessions of a person, and when a session ends: after a time without use, and after a maximum
age in any case. Ending a session deletes it: its browser must sign in again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, logout
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from panel.accounts.security_log import security_entries
from panel.models import SecurityKind, User

BEGAN, SEEN = "began_at", "seen_at"
EVERY_SECONDS = 60
"""How exactly the last use is known: a session is not written with each request."""
API = "/api/"
SAFE = ("GET", "HEAD", "OPTIONS")
OVER = marked("You were signed out: the session was idle for too long or reached its maximum age.")


def live(user: User) -> list[UserSession]:
    """The sessions that still let the person in, the one used last first. Two queries; those that
    expired, or that a new password closed, are left out."""
    noted = UserSession.objects.filter(user=user)
    stored = Session.objects.filter(
        session_key__in=noted.values("session_key"), expire_date__gt=timezone.now()
    )
    opening = {session.session_key for session in stored if _opens(session, user)}
    live_sessions = [session for session in noted if session.session_key in opening]
    return sorted(
        live_sessions, key=lambda session: (session.last_seen_at, session.pk), reverse=True
    )


def note_session(request: HttpRequest) -> None:
    """Record that the request's session is used now, and from where; also a session that began
    before sessions were listed."""
    UserSession.objects.create_from_request(request)


@transaction.atomic
def end_sessions(sessions: Iterable[UserSession]) -> None:
    """End them at once."""
    ended = list(sessions)
    Session.objects.filter(session_key__in=[each.session_key for each in ended]).delete()
    UserSession.objects.filter(pk__in=[each.pk for each in ended]).delete()
    for each in ended:
        security_entries.note(SecurityKind.SESSION_ENDED, each.user, f"from {each.ip}")


def end_others(request: HttpRequest, user: User) -> None:
    """End all of the person's but the one of this request."""
    here = request.session.session_key
    end_sessions([each for each in live(user) if each.session_key != here])


def prune_sessions() -> int:
    """Forget sessions that expired, and where they were used; how many were forgotten."""
    _, deleted = Session.objects.filter(expire_date__lt=Now()).delete()
    kept = Session.objects.values("session_key")
    # One of today may belong to a sign-in that is just being written.
    old = UserSession.objects.filter(last_seen_at__lt=Now() - timedelta(days=1))
    old.exclude(session_key__in=kept).delete()
    return deleted.get(Session._meta.label, 0)


def connect_sign_ins() -> None:
    """From now on every sign-in is a beginning."""
    user_logged_in.connect(_begin)


def is_over(session: Mapping[str, Any], user: User, now: float) -> bool:
    """Whether the session no longer lets the person in. That includes a session that does not say
    when it began, and one of the future: the clock was set back, and a proof of identity made
    before that would count once more when the clock gets there again."""
    idle, longest = (
        (settings.TIERCEL_STAFF_IDLE_SECONDS, settings.TIERCEL_STAFF_SESSION_SECONDS)
        if user.is_staff or user.is_superuser
        else (settings.TIERCEL_IDLE_SECONDS, settings.TIERCEL_SESSION_SECONDS)
    )
    began, seen = session.get(BEGAN), session.get(SEEN)
    if began is None or seen is None:
        return True
    is_ahead = max(began, seen) - now > EVERY_SECONDS
    return bool(is_ahead or now - began > longest or now - seen > idle + EVERY_SECONDS)


class SessionEndMiddleware:
    """Before access control, which then sends the browser to the sign-in. A request that a page
    makes automatically does not count as use by a person."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request."""
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        args: object,
        kwargs: object,
    ) -> None:
        """End the session where its time has come; else note that it is used."""
        asks_who = getattr(view_func, "login_required", True) or request.path_info.startswith(API)
        if not asks_who or not isinstance(user := request.user, User):
            return
        now = time.time()
        if is_over(request.session, user, now):
            logout(request)
            messages.info(request, gettext(OVER))
        elif _is_of_a_person(request) and now - request.session[SEEN] >= EVERY_SECONDS:
            request.session[SEEN] = now


def _is_of_a_person(request: HttpRequest) -> bool:
    """Whether a person clicked; false for parts that renew themselves and for what a script
    reads."""
    if request.method not in SAFE:
        return True
    if "HX-Request" in request.headers and "HX-Boosted" not in request.headers:
        return False
    mode = request.headers.get("Sec-Fetch-Mode", "navigate")
    return mode == "navigate" and not request.path_info.startswith(API)


def _begin(*, request: HttpRequest, **given: Any) -> None:
    request.session[BEGAN] = request.session[SEEN] = time.time()


def _opens(session: Session, user: User) -> bool:
    """Whether it still lets this person in: the hash changes with the password."""
    data = session.get_decoded()
    given = data.get(HASH_SESSION_KEY, "")
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    if is_over(data, user, time.time()):
        return False
    return data.get(SESSION_KEY) == str(user.pk) and any(
        constant_time_compare(given, known) for known in hashes
    )
