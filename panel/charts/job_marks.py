"""Jobs of a volume as marks on the time axis of its charts."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from jobs.models import Job
from panel.charts.time_range import span_of
from storage.access import is_staff
from storage.models import Volume

MOST = 50


@require_safe
@cache_control(private=True, no_store=True)
def volume_marks(request: HttpRequest, key: str) -> HttpResponse:
    """The jobs that began in the shown range, as far as the person may see them: the newest
    `MOST`, oldest first."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    span = span_of(request, timezone.now(), volume)
    found = (
        Job.objects.visible_to(request.user)
        .filter(volume=volume, dry_run=False)
        .select_related("cache_plan")
        .annotate(began=Coalesce("started_at", "created_at"))
        .filter(began__gt=span.start, began__lte=span.end)
        .order_by("-began")[:MOST]
    )
    staff = is_staff(request.user)
    return JsonResponse({"marks": [mark(job, staff=staff) for job in reversed(found)]})


def mark(job: Job, *, staff: bool) -> dict[str, Any]:
    """`{key, at, until, label, state, url}`; customers get no key and URL, and a label in their
    words. `until` is null while it runs."""
    plan = job.cache_plan
    words = f"Plan: {plan.name}" if plan is not None else "Plan: no cache"
    return {
        "key": job.key if staff else "",
        "at": (job.started_at or job.created_at).isoformat(),
        "until": job.ended_at.isoformat() if job.ended_at is not None else None,
        "label": job.get_kind_display() if staff else words,
        "state": job.state,
        "url": reverse("job", args=[job.key]) if staff else "",
    }
