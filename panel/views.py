"""The first page, and what a load balancer asks."""

from __future__ import annotations

import logging
from datetime import timedelta

import redis
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Job, State
from panel import broker
from storage.access import is_staff
from storage.attention import ORDER, problems_of
from storage.drift import drift_of
from storage.models import Host, Volume

log = logging.getLogger(__name__)

RECENT = timedelta(days=2)
LAST_JOBS = 5


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What needs a person now, and how much there is of everything. Customers: their volumes."""
    if not is_staff(request.user):
        return redirect("my-volumes")
    now = timezone.now()
    hosts = Host.objects.visible_to(request.user).without_inventory()
    jobs = Job.objects.visible_to(request.user).with_names()
    real = jobs.filter(dry_run=False)
    drifts = drift_of(hosts)
    volumes = Volume.objects.visible_to(request.user).existing()
    problems = [
        (host, problem)
        for host in hosts
        for problem in problems_of(host, now, drifts.get(host.pk))
        if problem.severity != "info"
    ]
    problems.sort(key=lambda pair: ORDER[pair[1].severity])
    undone = real.filter(state=State.NEEDS_ATTENTION) | real.filter(
        state=State.FAILED, ended_at__gt=now - RECENT
    )
    context = {
        "host_count": len(hosts),
        "volume_count": volumes.count(),
        "unadopted_count": volumes.filter(managed=False, adopted_at=None).count(),
        "running_count": real.unfinished().count(),
        "problems": problems,
        "undone": undone,
        "recent": real[:LAST_JOBS],
    }
    return render(request, "panel/home.html", context)


@login_not_required
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 when PostgreSQL and Redis answer, else 503. Redis away is no outage of the pages, but
    jobs then wait for the workers' own poll."""
    answers = {"database": _database(), "redis": _redis()}
    return JsonResponse(answers, status=200 if all(answers.values()) else 503)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        log.warning("health: the database does not answer: %s", error)
        return False
    return True


def _redis() -> bool:
    try:
        with broker.client() as client:
            client.ping()
    except redis.RedisError as error:
        log.warning("health: Redis does not answer: %s", error)
        return False
    return True
