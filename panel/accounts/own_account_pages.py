"""A person's own sessions and API tokens: list them, create a token, end or revoke one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

from allauth.usersessions.models import UserSession
from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from panel.accounts import api_tokens, sessions
from panel.accounts.security_log.security_entries import browser_words
from panel.models import ApiToken, Scope, User
from storage.database_clock import database_now
from storage.name_validators import demand_name


@never_cache
@require_safe
def session_list(request: HttpRequest) -> HttpResponse:
    """Where the signed-in person is signed in."""
    live_sessions = sessions.live(cast("User", request.user))
    here = request.session.session_key
    if all(each.session_key != here for each in live_sessions):
        sessions.note_session(request)
        live_sessions = sessions.live(cast("User", request.user))
    own = [
        (each, browser_words(each.user_agent), each.session_key == here) for each in live_sessions
    ]
    own.sort(key=lambda row: not row[2])
    return render(request, "account/sessions.html", {"sessions": own})


@require_POST
def session_end(request: HttpRequest, pk: int) -> HttpResponse:
    """End another session of the signed-in person."""
    for session in _others(request):
        if session.pk == pk:
            sessions.end_sessions([session])
            messages.success(
                request,
                gettext("{browser} is signed out.").format(
                    browser=browser_words(session.user_agent)
                ),
            )
            return redirect("sessions")
    raise Http404


@require_POST
def sessions_end(request: HttpRequest) -> HttpResponse:
    """End all sessions of the signed-in person but this one."""
    others = _others(request)
    sessions.end_sessions(others)
    messages.success(request, gettext("Your other sessions are signed out."))
    return redirect("sessions")


def _others(request: HttpRequest) -> list[UserSession]:
    live_sessions = sessions.live(cast("User", request.user))
    return [each for each in live_sessions if each.session_key != request.session.session_key]


class TokenForm(forms.Form):
    """A new token: `user` bounds its scopes."""

    name = forms.CharField(
        validators=[demand_name],
        max_length=64,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("Where you will use the token, for example billing."),
    )
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
        label=gettext_lazy("Scopes"),
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=api_tokens.MAX_DAYS,
        initial=api_tokens.DEFAULT_DAYS,
        label=gettext_lazy("Expires in (days)"),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = dict(Scope.choices)
        scopes = cast("forms.MultipleChoiceField", self.fields["scopes"])
        scopes.choices = [(scope, gettext(labels[scope])) for scope in api_tokens.scopes_of(user)]
        scopes.initial = [Scope.READ]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: HttpRequest) -> HttpResponse:
    """The tokens of the signed-in person. A new one is shown in the answer to the POST, and
    nowhere else."""
    user = cast("User", request.user)
    form = TokenForm(user, request.POST or None)
    text, status = "", 200
    if request.method == "POST":
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        live = ApiToken.objects.live().filter(user=user)
        if live.count() >= api_tokens.MAX_LIVE:
            most = gettext("{n} tokens are live. Revoke one first.")
            form.add_error(None, most.format(n=api_tokens.MAX_LIVE))
        elif form.is_valid():
            _, text = api_tokens.issue(user, **form.cleaned_data)
            form, status = TokenForm(user), 200
    now = database_now()
    own = [(token, token.is_live(now)) for token in ApiToken.objects.filter(user=user)]
    context = {"tokens": own, "form": form, "text": text}
    return render(request, "account/tokens.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def token_revoke(request: HttpRequest, key: str) -> HttpResponse:
    """Ask, then end a token of the signed-in person."""
    user = cast("User", request.user)
    token = get_object_or_404(ApiToken, user=user, key=key, revoked_at=None)
    made = api_tokens.descendants_of(token)
    if request.method == "POST":
        if request.POST.get("made"):
            api_tokens.revoke_with_made(token)
        else:
            api_tokens.revoke_token(token)
        messages.success(request, gettext("{name} is revoked.").format(name=token.name))
        return redirect("tokens")
    return render(request, "account/token_revoke.html", {"token": token, "made": made})
