"""The first page, and what a load balancer asks."""

from __future__ import annotations

import logging

import redis
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Halt
from panel.configuration import redis_client
from panel.middleware import outage
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
    found = overview(request.user, timezone.now(), request.GET.get("sort", ""))
    # The frame of the page says it too (`panel.context_processors.halt`).
    return {"overview": found, "halt": found.halt}


@login_not_required
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 when PostgreSQL and Redis answer, else 503. Redis away is no outage of the pages, but
    jobs then wait for the workers' own poll."""
    answers = {"database": outage.reaches_database(), "redis": _redis()}
    return JsonResponse(answers, status=200 if all(answers.values()) else 503)


def _redis() -> bool:
    try:
        with redis_client.client() as client:
            client.ping()
    except redis.RedisError as error:
        log.warning("health: Redis does not answer: %s", error)
        return False
    return True
