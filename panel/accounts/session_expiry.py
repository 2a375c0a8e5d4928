"""When a session ends: after a time without use, and after a maximum age in any case."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from panel.models import User

BEGAN, SEEN = "began_at", "seen_at"
EVERY_SECONDS = 60
"""How exactly the last use is known: a session is not written with each request."""
API = "/api/"
SAFE = ("GET", "HEAD", "OPTIONS")
OVER = "You were signed out: the session was idle for too long or reached its maximum age."


def connect() -> None:
    """From now on every sign-in is a beginning."""
    user_logged_in.connect(_begin)


def is_over(session: Mapping[str, Any], user: User, now: float) -> bool:
    """Whether it lets the person in no more. A session that does not say when it began is, and so
    is one of the future: the clock was set back."""
    idle, longest = (
        (settings.TIERCEL_STAFF_IDLE_SECONDS, settings.TIERCEL_STAFF_SESSION_SECONDS)
        if user.is_staff or user.is_superuser
        else (settings.TIERCEL_IDLE_SECONDS, settings.TIERCEL_SESSION_SECONDS)
    )
    began, seen = session.get(BEGAN), session.get(SEEN)
    if began is None or seen is None:
        return True
    return bool(abs(now - began) > longest or abs(now - seen) > idle + EVERY_SECONDS)


class SessionEndMiddleware:
    """It stands before the gate, which then sends the browser to the sign-in. What a page fetches
    by itself is no use of it by a person."""

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
            messages.info(request, OVER)
        elif _is_of_a_person(request) and now - request.session[SEEN] >= EVERY_SECONDS:
            request.session[SEEN] = now


def _is_of_a_person(request: HttpRequest) -> bool:
    """Whether somebody clicked: no part of a page that renews itself, nor what a script reads."""
    if request.method not in SAFE:
        return True
    if "HX-Request" in request.headers and "HX-Boosted" not in request.headers:
        return False
    mode = request.headers.get("Sec-Fetch-Mode", "navigate")
    return mode == "navigate" and not request.path_info.startswith(API)


def _begin(*, request: HttpRequest, **given: Any) -> None:
    request.session[BEGAN] = request.session[SEEN] = time.time()
