"""The first page of staff."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Halt
from panel.staff.dashboard.overview import Overview, overview
from storage.access import is_staff, staff_view

log = logging.getLogger(__name__)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What needs a person now, and how the fleet is. Customers: their volumes."""
    if not is_staff(request.user):
        return redirect("my-volumes")
    return render(request, "staff/dashboard/home.html", _overview(request))


@staff_view()
@require_safe
def fleet(request: HttpRequest) -> HttpResponse:
    """The part of the first page that renews itself."""
    return render(request, "staff/dashboard/_overview.html", _overview(request))


def _overview(request: HttpRequest) -> dict[str, Overview | Halt | None]:
    shown = overview(request.user, timezone.now(), request.GET.get("sort", ""))
    # The frame of the page says it too (`panel.context_processors.halt`).
    return {"overview": shown, "halt": shown.halt}
