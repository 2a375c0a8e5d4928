"""The exact commands of one volume of a change for many: its host is asked, nothing is changed."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.signing import BadSignature
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Job, State
from jobs.queue.bulk import KINDS, unseal
from jobs.queue.cost_estimate import estimate
from jobs.queue.submit import submit
from panel.http.client_address import address_of
from panel.staff.job_requests import show_refusal
from storage.access import Right, staff_view
from storage.models import Volume
from storage.planner import Refused
from storage.planner.wish import Wish
from storage.volumes.snapshot import snapshots_of

TEMPLATE = "staff/volumes/_bulk_commands.html"
TOO_OLD = Refused("stale", "The preview is too old.", "Create a new preview. Nothing was changed.")


@staff_view(Right.OPERATE)
@require_POST
def bulk_commands(request: HttpRequest, key: str) -> HttpResponse:
    """Preview what was shown (`sealed`) for one of the volumes; to its page without JavaScript."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    is_part = request.headers.get("HX-Request") == "true"
    try:
        deal = unseal(request.POST.get("sealed", ""))
    except BadSignature:
        if is_part:
            return render(request, TEMPLATE, {"refused": TOO_OLD})
        messages.error(request, f"{TOO_OLD.message} {TOO_OLD.correction}")
        return redirect("volumes")
    item = next((item for item in deal.items if item.key == key), None)
    if item is None or item.wish is None:
        raise Http404(key)
    try:
        job = submit(
            kind=KINDS[deal.action],
            volume=volume,
            wish=Wish.from_json(item.wish),
            actor=request.user if isinstance(request.user, AbstractBaseUser) else None,
            dry_run=True,
            disks=item.disks,
            address=address_of(request),
        )
    except Refused as refused:
        if is_part:
            return render(request, TEMPLATE, {"refused": refused})
        return show_refusal(request, refused, volume)
    return redirect("volumes-bulk-answer", job.key) if is_part else redirect("job", job.key)


@staff_view(Right.OPERATE)
@require_safe
def bulk_answer(request: HttpRequest, key: str) -> HttpResponse:
    """The commands of such a preview; until they are known, an element that asks again."""
    previews = Job.objects.visible_to(request.user).filter(dry_run=True).with_names()
    job = get_object_or_404(previews, key=key)
    context: dict[str, Any] = {"job": job}
    if job.state == State.SUCCEEDED:
        steps = list(job.step_set.all())
        context |= {"steps": steps, "cost": estimate(snapshots_of([job.its_volume])[0], steps)}
    return render(request, TEMPLATE, context)
