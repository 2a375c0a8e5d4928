"""The page where people choose their notices, and the page behind an unsubscribe link."""

from __future__ import annotations

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from panel.models import NoticeKind, User
from panel.notices import mail_preferences
from panel.portal.member_scope import member_view

NOT_FOUND, UNPROCESSABLE = 404, 422


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
            mail_preferences.want(user, form.cleaned_data["kinds"])
            messages.success(request, "Saved. You will receive the selected notices.")
            return redirect("notices")
        status = UNPROCESSABLE
    own = mail_preferences.wanted(user)
    kinds = [(kind, kind in own) for kind in NoticeKind]
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
    wish = mail_preferences.named(token)
    if wish is None:
        return render(request, "account/notices_gone.html", status=NOT_FOUND)
    is_done = request.method == "POST"
    if is_done:
        mail_preferences.mute(wish)
    context = {"wish": wish, "kind": wish.kind.label, "is_done": is_done}
    return render(request, "account/notices_off.html", context)
