"""The notices that a person receives: the page where people choose them, and the link in each
e-mail that unsubscribes from one kind.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from panel.accounts.member_scope import member_view
from panel.models import Mute, NoticeKind, User

SALT = "panel.notices"


@dataclass(frozen=True, slots=True)
class MailPreference:
    """A person and a kind, as a link names them."""

    user: User
    kind: NoticeKind


def wanted(user: User) -> frozenset[NoticeKind]:
    """The kinds that a person is notified of; all of them until they mute some."""
    muted = set(Mute.objects.filter(user=user).values_list("kind", flat=True))
    return frozenset(kind for kind in NoticeKind if kind not in muted)


@transaction.atomic
def want(user: User, kinds: Collection[str]) -> None:
    """From now on these kinds and no others."""
    Mute.objects.filter(user=user, kind__in=kinds).delete()
    for kind in NoticeKind:
        if kind not in kinds:
            mute(MailPreference(user, kind))


def mute(wish: MailPreference) -> None:
    """From now on not this kind."""
    Mute.objects.get_or_create(user=wish.user, kind=wish.kind)


def link(wish: MailPreference) -> str:
    """An address that can end this kind for this person, and nothing else. It stays good: mail is
    read late."""
    token = signing.dumps([wish.user.pk, wish.kind.value], salt=SALT)
    return f"{settings.TIERCEL_PUBLIC_URL}{reverse('notices-off', args=[token])}"


def person_of_link(token: str) -> MailPreference | None:
    """What such a link names; None for one that we did not sign, or whose person is gone."""
    try:
        pk, kind = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=pk).first()
    return MailPreference(user, NoticeKind(kind)) if user is not None else None


NOT_FOUND = 404


class NoticeForm(forms.Form):
    """The kinds a person wants; none is an answer, too."""

    kinds = forms.MultipleChoiceField(choices=NoticeKind.choices, required=False)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_view
def notices(request: HttpRequest) -> HttpResponse:
    """The choice of the signed-in person."""
    user = cast("User", request.user)
    form = NoticeForm(request.POST or None)
    status = 200
    if request.method == "POST":
        form = NoticeForm(request.POST)
        if form.is_valid():
            want(user, form.cleaned_data["kinds"])
            messages.success(request, gettext("Saved. You will receive the selected notices."))
            return redirect("notices")
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    own = wanted(user)
    kinds = [(kind, gettext(kind.label), kind in own) for kind in NoticeKind]
    context = {"kinds": kinds, "form": form}
    return render(request, "account/notices.html", context, status=status)


# Mail programs press the button for their person: without a cookie, so without a CSRF token. The
# signature in the path is the proof, and all it can do is end one kind of mail for one person.
@csrf_exempt
@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def notices_off(request: HttpRequest, token: str) -> HttpResponse:
    """A button that ends one kind of mail; looking changes nothing."""
    wish = person_of_link(token)
    if wish is None:
        return render(request, "account/notices_gone.html", status=NOT_FOUND)
    is_done = request.method == "POST"
    if is_done:
        mute(wish)
    context = {"wish": wish, "kind": gettext(wish.kind.label), "is_done": is_done}
    return render(request, "account/notices_off.html", context)
