"""The sessions of a person. Ending a session deletes it: its browser must sign in again."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from panel.accounts import session_expiry
from panel.models import SecurityKind, User
from panel.security_log import security_entries


def live(user: User) -> list[UserSession]:
    """The sessions that still let the person in, the one used last first. Two queries; those that
    expired, or that a new password closed, are left out."""
    noted = UserSession.objects.filter(user=user)
    stored = Session.objects.filter(
        session_key__in=noted.values("session_key"), expire_date__gt=timezone.now()
    )
    opening = {session.session_key for session in stored if _opens(session, user)}
    found = [session for session in noted if session.session_key in opening]
    return sorted(found, key=lambda session: (session.last_seen_at, session.pk), reverse=True)


def note(request: HttpRequest) -> None:
    """Record that the request's session is used now, and from where; also a session that began
    before sessions were listed."""
    UserSession.objects.create_from_request(request)


@transaction.atomic
def end(sessions: Iterable[UserSession]) -> None:
    """End them at once."""
    ended = list(sessions)
    Session.objects.filter(session_key__in=[each.session_key for each in ended]).delete()
    UserSession.objects.filter(pk__in=[each.pk for each in ended]).delete()
    for each in ended:
        security_entries.note(SecurityKind.SESSION_ENDED, each.user, f"from {each.ip}")


def end_others(request: HttpRequest, user: User) -> None:
    """End all of the person's but the one of this request."""
    here = request.session.session_key
    end([each for each in live(user) if each.session_key != here])


def prune() -> int:
    """Forget sessions that expired, and where they were used; how many were forgotten."""
    _, deleted = Session.objects.filter(expire_date__lt=Now()).delete()
    kept = Session.objects.values("session_key")
    # One of today may belong to a sign-in that is just being written.
    old = UserSession.objects.filter(last_seen_at__lt=Now() - timedelta(days=1))
    old.exclude(session_key__in=kept).delete()
    return deleted.get(Session._meta.label, 0)


def _opens(session: Session, user: User) -> bool:
    """Whether it still lets this person in: the hash changes with the password."""
    data = session.get_decoded()
    given = data.get(HASH_SESSION_KEY, "")
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    if session_expiry.is_over(data, user, time.time()):
        return False
    return data.get(SESSION_KEY) == str(user.pk) and any(
        constant_time_compare(given, known) for known in hashes
    )
