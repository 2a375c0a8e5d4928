"""A fresh proof of identity, required before an action costs money, destroys data or gives lasting
power (`panel.accounts.authentication.protected_actions`), and the page that asks for it. The page
leads back to where the action is, or runs it at once: that of a POST brings the POST with the proof
(`panel.accounts.authentication.kept_post`).

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
from typing import Any, cast

from allauth.account.internal.flows.login import get_authentication_records, record_authentication
from allauth.account.internal.flows.reauthentication import reauthenticate_by_password
from allauth.mfa.base.forms import ReauthenticateForm as FactorForm
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import ReauthenticateWebAuthnForm as KeyForm
from allauth.mfa.webauthn.internal.auth import begin_authentication
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_noop as marked
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from panel.accounts.authentication import (
    action_names,
    email_codes,
    kept_post,
    second_factor,
)
from panel.accounts.authentication.allauth_forms import ProofForm
from panel.accounts.authentication.kept_post import PREFIX, KeptPost
from panel.models import User
from storage.planner import Refused

CONFIRMED = marked("Identity confirmed. Nothing has changed yet. Please confirm the change.")
AGAIN = "again"
TWICE = marked("This form was sent already and does not run twice. Check here what it did.")


class CodeForm(forms.Form):
    """The digits of the mail."""

    code = forms.CharField(
        label=gettext_lazy("Code from the mail"),
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
        if not email_codes.accept_code(self.user, self.session_key, typed):
            raise forms.ValidationError(gettext(email_codes.WRONG))
        return typed


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def step_up(request: HttpRequest) -> HttpResponse:
    """Ask for the strongest proof the person has; with it, back to `next`, a page of this panel."""
    back, user = _back(request), cast("User", request.user)
    way = way_of(user)
    if request.method == "POST" and way is Way.CODE and "send" in request.POST:
        problem = _send(request, user)
        if problem:
            return _show(request, way, back, problem=problem)
        return redirect(_address(back, types_again=_types_again(request)))
    form = _form(request, way, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        _record(request, user, way, form)
        messages.success(request, gettext(CONFIRMED))
        return redirect(back)
    return _show(request, way, back, form=form)


def take_proof(request: HttpRequest) -> HttpResponse | None:
    """Of a POST that the page with the proof brings back: None where the proof is right, so that
    the POST runs; else the page once more. What is for the proof leaves the POST. Any other POST is
    unchanged and needs a proof like all others."""
    if not request.user.is_authenticated or kept_post.MARK not in request.POST:
        return None
    given = request.POST
    kept = kept_post.take_post(request)
    cast("Any", request).sensitive_post_parameters = "__ALL__"
    cast("Any", request).POST = kept_post.without_proof(given)
    if kept is None:
        return None
    user = request.user
    way = way_of(user)
    if way is Way.CODE and f"{PREFIX}-send" in given:
        problem = _send(request, user)
        status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.FORBIDDEN
        return _show(request, way, kept.back, kept=kept, problem=problem, status=status)
    if not kept.begin():
        messages.info(request, gettext(TWICE))
        return redirect(kept.back)
    form = _form(request, way, given, PREFIX)
    if not form.is_valid():
        kept.undo_begin()
        return _show(request, way, kept.back, form=form, kept=kept)
    _record(request, user, way, form)
    return None


@require_safe
def instead(request: HttpRequest) -> HttpResponse:
    """Replaces allauth's own page, which accepts the password of a person with a second factor."""
    return ask_for_proof(request, _back(request))


def _form(
    request: HttpRequest, way: Way, data: QueryDict | None, prefix: str | None = None
) -> forms.Form:
    user = cast("User", request.user)
    credential = f"{prefix}-credential" if prefix else "credential"
    match way:
        case Way.FACTOR if data is not None and credential in data:
            return cast("forms.Form", KeyForm(data, user=user, prefix=prefix))
        case Way.FACTOR:
            return cast("forms.Form", FactorForm(data, user=user, prefix=prefix))
        case Way.PASSWORD:
            return cast("forms.Form", ProofForm(data, user=user, prefix=prefix))
        case Way.CODE:
            return CodeForm(user, request.session.session_key or "", data, prefix=prefix)


def _record(request: HttpRequest, user: User, way: Way, form: forms.Form) -> None:
    match way:
        case Way.FACTOR:
            cast("FactorForm | KeyForm", form).save()
        case Way.PASSWORD:
            reauthenticate_by_password(request)
        case Way.CODE:
            record_authentication(request, user, CODE)


def _send(request: HttpRequest, user: User) -> str:
    """Mail the code; why it was not mailed, "" where it was."""
    try:
        email_codes.send_code(user, request.session.session_key or "")
    except Refused as refused:
        return f"{refused.message} {refused.correction}"
    return ""


def _show(
    request: HttpRequest,
    way: Way,
    back: str,
    *,
    form: forms.Form | None = None,
    kept: KeptPost | None = None,
    problem: str = "",
    status: int = HTTPStatus.UNPROCESSABLE_ENTITY,
) -> HttpResponse:
    at, user = last_proof(request), cast("User", request.user)
    prefix = PREFIX if kept is not None else None
    form = form or _form(request, way, None, prefix)
    context: dict[str, object] = {
        "form": form,
        "way": way,
        "next": back,
        "kept": kept,
        "post_to": kept.path if kept is not None else reverse("step-up"),
        "send_name": f"{PREFIX}-send" if kept is not None else "send",
        "types_again": _types_again(request),
        "action": action_names.name_of_action(back),
        "problem": problem,
        "minutes_ago": None if at is None else max(0, int(time.time() - at) // 60),
        "minutes": max(1, settings.TIERCEL_STEP_UP_SECONDS // 60),
        "is_mailed": way is Way.CODE and email_codes.has_open(user),
    }
    if way is Way.FACTOR:
        context |= _factors(user, form, prefix)
    code = status if request.method == "POST" else HTTPStatus.OK
    page = render(request, "account/step_up.html", context, status=code)
    add_never_cache_headers(page)
    return page


def _factors(user: User, form: forms.Form, prefix: str | None) -> dict[str, object]:
    kinds = set(Authenticator.objects.filter(user=user).values_list("type", flat=True))
    context: dict[str, object] = {"has_app": Authenticator.Type.TOTP in kinds}
    if isinstance(form, KeyForm):
        code_form = FactorForm(user=user, prefix=prefix)
        context |= {"form": code_form, "key_errors": form.errors.get("credential")}
    if Authenticator.Type.WEBAUTHN in kinds:
        context["key_form"] = KeyForm(user=user, prefix=prefix)
        context["js_data"] = {"request_options": begin_authentication(user)}
    return context


def _types_again(request: HttpRequest) -> bool:
    """Whether what was typed before is gone, and is typed again after the proof."""
    return AGAIN in request.GET or AGAIN in request.POST


def _back(request: HttpRequest) -> str:
    given = request.POST.get("next") or request.GET.get("next", "")
    here = {request.get_host()}
    is_safe = url_has_allowed_host_and_scheme(given, here, require_https=request.is_secure())
    return given if is_safe and given.startswith("/") else "/"


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
    """None with a fresh proof; otherwise a response that asks for one and returns to `back` (a page
    with a GET; the request's own address if "")."""
    return None if is_proven(request) else ask_for_proof(request, back)


def demand_of_link(request: HttpRequest) -> HttpResponse | None:
    """The same, of a session that began with a one-time link; others pass."""
    return demand(request) if is_by_link(request) else None


def ask_for_proof(request: HttpRequest, back: str = "") -> HttpResponse:
    """The page that asks for a proof. That of a POST shows the POST and runs it with the proof; any
    other request, also for a part of a page, is redirected there and back."""
    back, is_part = back or request.get_full_path(), "HX-Request" in request.headers
    kept = None if is_part else kept_post.keep_post(request, back)
    if kept is not None:
        way = way_of(cast("User", request.user))
        return _show(request, way, back, kept=kept, status=HTTPStatus.FORBIDDEN)
    place = _address(back, types_again=request.method == "POST")
    if is_part:
        return HttpResponse(status=HTTPStatus.FORBIDDEN, headers={"HX-Redirect": place})
    return redirect(place)


def _address(back: str, *, types_again: bool) -> str:
    again = {AGAIN: "1"} if types_again else {}
    return f"{reverse('step-up')}?{urlencode({'next': back, **again})}"


def _shows(record: Record, way: Way) -> bool:
    method = record.get("method")
    match way:
        case Way.FACTOR:
            return method == "mfa" and record.get("type") in FACTORS
        case Way.PASSWORD:
            return method == "password"
        case Way.CODE:
            return method == CODE
