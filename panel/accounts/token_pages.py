"""A person's own API tokens: the list, a new one, the end of one."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from panel.accounts import api_tokens
from panel.models import ApiToken, Scope, User
from storage.database_clock import database_now

UNPROCESSABLE = 422
MAX_LIVE = 50


class TokenForm(forms.Form):
    """A new token: `user` bounds its scopes."""

    name = forms.CharField(
        max_length=64, help_text=("Where you will use the token, for example billing.")
    )
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}), label="Scopes"
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=api_tokens.MAX_DAYS,
        initial=api_tokens.DEFAULT_DAYS,
        label="Expires in (days)",
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = dict(Scope.choices)
        scopes = cast("forms.MultipleChoiceField", self.fields["scopes"])
        scopes.choices = [(scope, labels[scope]) for scope in api_tokens.scopes_of(user)]
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
        status = UNPROCESSABLE
        live = ApiToken.objects.live().filter(user=user)
        if live.count() >= MAX_LIVE:
            form.add_error(None, f"{MAX_LIVE} tokens are live. Revoke one first.")
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
    if request.method == "POST":
        api_tokens.revoke(token)
        messages.success(request, f"{token.name} is revoked.")
        return redirect("tokens")
    return render(request, "account/token_revoke.html", {"token": token})
