"""Records when and from where each session is used."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from panel.accounts import sessions

EVERY_SECONDS = 60
MOST = 10_000


class SessionActivityMiddleware:
    """Writes at most once a minute for a session, in each process; only for pages that ask who is
    there, so that the others need no database. It stands behind the gate."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._noted: dict[str, float] = {}

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
        """Note the session once its time has come."""
        key = request.session.session_key
        if not settings.USERSESSIONS_TRACK_ACTIVITY or not key:
            return
        if not getattr(view_func, "login_required", True) or not request.user.is_authenticated:
            return
        now = time.monotonic()
        if now - self._noted.get(key, -EVERY_SECONDS) < EVERY_SECONDS:
            return
        if len(self._noted) >= MOST:
            self._noted.clear()
        self._noted[key] = now
        sessions.note(request)
