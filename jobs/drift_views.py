"""A person's word on volumes that a host's inventory does not show any more."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from jobs.clock import database_now
from jobs.models import Job
from storage.access import Right, staff_view
from storage.drift import settle
from storage.models import Host


@staff_view(Right.OPERATE)
@require_POST
def settle_missing(request: HttpRequest, key: str) -> HttpResponse:
    """The missing volumes of a host are gone for good, but for those that a job still holds."""
    host = get_object_or_404(Host.objects.visible_to(request.user), key=key)
    unfinished = Job.objects.unfinished().filter(host=host)
    count = settle(host, database_now(), unfinished.values_list("volume_id", flat=True))
    messages.success(request, f"{count} volume{'s' if count != 1 else ''} taken off {host.name}.")
    return redirect("host", host.key)
