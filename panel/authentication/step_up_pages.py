"""The page that asks a signed-in person for a fresh proof, and leads back to where they were."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import cast

from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.reauthentication import reauthenticate_by_password
from allauth.mfa.base.forms import ReauthenticateForm as FactorForm
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import ReauthenticateWebAuthnForm as KeyForm
from allauth.mfa.webauthn.internal.auth import begin_authentication
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from panel.authentication import email_codes
from panel.authentication import step_up as authentication_step_up
from panel.authentication.allauth_forms import ProofForm
from panel.authentication.step_up import Way
from panel.models import User
from storage.planner import Refused

CONFIRMED = "Identity confirmed. Nothing has changed yet. Please confirm the change."


class CodeForm(forms.Form):
    """The digits of the mail."""

    code = forms.CharField(
        label="Code from the mail",
        max_length=12,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}
        ),
    )

    def __init__(self, user: User, session_key: str, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.user, self.session_key = user, session_key

    def clean_code(self) -> str:
        typed = "".join(self.cleaned_data["code"].split())
        if not email_codes.accept(self.user, self.session_key, typed):
            raise forms.ValidationError(email_codes.WRONG)
        return typed


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def step_up(request: HttpRequest) -> HttpResponse:
    """Ask for the strongest proof the person has; with it, back to `next`, a page of this panel."""
    back, user = _back(request), cast("User", request.user)
    way = authentication_step_up.way_of(user)
    if request.method == "POST" and way is Way.CODE and "send" in request.POST:
        return _send(request, user, back)
    form = _form(request, user, way)
    if request.method == "POST" and form.is_valid():
        _record(request, user, way, form)
        messages.success(request, CONFIRMED)
        return redirect(back)
    return _show(request, user, way, form, back)


@require_safe
def instead(request: HttpRequest) -> HttpResponse:
    """Where allauth would ask in its own way, which takes the password of whoever has a factor."""
    return authentication_step_up.ask(request, _back(request))


def _form(request: HttpRequest, user: User, way: Way) -> forms.Form:
    data = request.POST if request.method == "POST" else None
    match way:
        case Way.FACTOR if data is not None and "credential" in data:
            return cast("forms.Form", KeyForm(data, user=user))
        case Way.FACTOR:
            return cast("forms.Form", FactorForm(data, user=user))
        case Way.PASSWORD:
            return cast("forms.Form", ProofForm(data, user=user))
        case Way.CODE:
            return CodeForm(user, request.session.session_key or "", data)


def _record(request: HttpRequest, user: User, way: Way, form: forms.Form) -> None:
    match way:
        case Way.FACTOR:
            cast("FactorForm | KeyForm", form).save()
        case Way.PASSWORD:
            reauthenticate_by_password(request)
        case Way.CODE:
            record_authentication(request, user, authentication_step_up.CODE)


def _send(request: HttpRequest, user: User, back: str) -> HttpResponse:
    try:
        email_codes.send(user, request.session.session_key or "")
    except Refused as refused:
        form = CodeForm(user, request.session.session_key or "")
        problem = f"{refused.message} {refused.correction}"
        return _show(request, user, Way.CODE, form, back, problem)
    return authentication_step_up.ask(request, back)


def _show(
    request: HttpRequest, user: User, way: Way, form: forms.Form, back: str, problem: str = ""
) -> HttpResponse:
    at = authentication_step_up.last_proof(request)
    context: dict[str, object] = {
        "form": form,
        "way": way,
        "next": back,
        "problem": problem,
        "minutes_ago": None if at is None else max(0, int(time.time() - at) // 60),
        "minutes": max(1, settings.TIERCEL_STEP_UP_SECONDS // 60),
        "is_mailed": way is Way.CODE and email_codes.has_open(user),
    }
    if way is Way.FACTOR:
        context |= _factors(user, form)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    return render(request, "account/step_up.html", context, status=status)


def _factors(user: User, form: forms.Form) -> dict[str, object]:
    kinds = set(Authenticator.objects.filter(user=user).values_list("type", flat=True))
    context: dict[str, object] = {"has_app": Authenticator.Type.TOTP in kinds}
    if isinstance(form, KeyForm):
        context |= {"form": FactorForm(user=user), "key_errors": form.errors.get("credential")}
    if Authenticator.Type.WEBAUTHN in kinds:
        context["key_form"] = KeyForm(user=user)
        context["js_data"] = {"request_options": begin_authentication(user)}
    return context


def _back(request: HttpRequest) -> str:
    given = request.POST.get("next") or request.GET.get("next", "")
    here = {request.get_host()}
    is_safe = url_has_allowed_host_and_scheme(given, here, require_https=request.is_secure())
    return given if is_safe and given.startswith("/") else "/"
