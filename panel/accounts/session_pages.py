"""A person's own sessions: the list, the end of one, the end of all others."""

from __future__ import annotations

from typing import cast

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from panel.accounts import sessions
from panel.models import User
from panel.security_log.user_agents import described


@never_cache
@require_safe
def session_list(request: HttpRequest) -> HttpResponse:
    """Where the signed-in person is signed in."""
    found = sessions.live(cast("User", request.user))
    here = request.session.session_key
    if all(each.session_key != here for each in found):
        sessions.note(request)
        found = sessions.live(cast("User", request.user))
    own = [(each, described(each.user_agent), each.session_key == here) for each in found]
    own.sort(key=lambda row: not row[2])
    return render(request, "account/sessions.html", {"sessions": own})


@require_POST
def session_end(request: HttpRequest, pk: int) -> HttpResponse:
    """End another session of the signed-in person."""
    for session in _others(request):
        if session.pk == pk:
            sessions.end([session])
            messages.success(request, f"{described(session.user_agent)} is signed out.")
            return redirect("sessions")
    raise Http404


@require_POST
def sessions_end(request: HttpRequest) -> HttpResponse:
    """End all sessions of the signed-in person but this one."""
    others = _others(request)
    sessions.end(others)
    messages.success(request, "Your other sessions are signed out.")
    return redirect("sessions")


def _others(request: HttpRequest) -> list[UserSession]:
    found = sessions.live(cast("User", request.user))
    return [each for each in found if each.session_key != request.session.session_key]
