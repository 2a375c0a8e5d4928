"""The page on which admins make links to screens, and revoke them."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from panel.models import KioskLink, User
from panel.staff.kiosk.kiosk_links import MOST_DAYS, make_link, revoke_link, scope_words
from storage.access import Right, staff_view
from storage.database_clock import database_now
from storage.models import Host
from storage.name_validators import demand_name
from storage.templatetags.units import stamp


class KioskLinkForm(forms.Form):
    """What a new link shows, and for how long."""

    name = forms.CharField(
        max_length=60,
        validators=[demand_name],
        help_text="The screen, such as “Office, 2nd floor”.",
    )
    site = forms.ChoiceField(required=False, label="Hosts")
    days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        label="Ends after, days",
        help_text="Empty: until it is revoked.",
    )
    shows_names = forms.BooleanField(
        required=False,
        label="Show names of volumes",
        help_text="They may identify customers. Otherwise only hosts are named.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sites = Host.objects.exclude(site="").order_by("site").values_list("site", flat=True)
        cast("forms.ChoiceField", self.fields["site"]).choices = [
            ("", "All hosts"),
            *((site, site) for site in sites.distinct()),
        ]


@staff_view(Right.ADMINISTER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def kiosk_links(request: HttpRequest) -> HttpResponse:
    """All of them, and the form for one more. The answer to it shows the address, this once."""
    if request.method != "POST":
        return _shown(request, KioskLinkForm())
    form = KioskLinkForm(request.POST)
    if not form.is_valid():
        return _shown(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    made, address = make_link(by=cast("User", request.user), **form.cleaned_data)
    return _shown(request, KioskLinkForm(), made, address)


@staff_view(Right.ADMINISTER)
@require_POST
def revoke_kiosk_link(request: HttpRequest, key: str) -> HttpResponse:
    """Revoke a link; its screen shows nothing from its next refresh on."""
    link = get_object_or_404(KioskLink.objects.visible_to(request.user), key=key)
    revoke_link(link, cast("User", request.user))
    messages.success(request, f"{link.name} is revoked. Its address no longer works.")
    return redirect("kiosk-links")


def _shown(
    request: HttpRequest,
    form: KioskLinkForm,
    made: KioskLink | None = None,
    address: str = "",
    status: int = 200,
) -> HttpResponse:
    links = KioskLink.objects.visible_to(request.user).select_related("created_by")
    now = database_now()
    context = {
        "form": form,
        "made": made,
        "address": address,
        "links": [(link, scope_words(link), _end_words(link, now)) for link in links],
    }
    return render(request, "staff/kiosk/links.html", context, status=status)


def _end_words(link: KioskLink, now: datetime) -> str:
    if link.expires_at is None:
        return "when revoked"
    return f"{'ended ' if link.expires_at <= now else ''}{stamp(link.expires_at)}"
