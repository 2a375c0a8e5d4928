"""One change for many volumes: a preview for each, then a result for each."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.signing import BadSignature
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Job, State
from jobs.queue.bulk import KINDS, carry_out, reserved_by_group, seal, unseal, volumes_with_jobs
from jobs.queue.cost_estimate import estimate
from jobs.queue.submit import submit
from panel.http.client_address import address_of
from panel.staff.job_requests import show_refusal
from storage.access import Right, staff_view
from storage.bulk_changes import MOST, Action, BulkForm, drafts
from storage.formatting import counted
from storage.models import Customer, Volume
from storage.planner import Refused
from storage.planner.wish import Wish
from storage.volumes.snapshot import snapshots_of

TEMPLATE = "staff/volumes/_bulk_commands.html"
TOO_OLD = Refused("stale", "The preview is too old.", "Create a new preview. Nothing was changed.")


@staff_view(Right.OPERATE)
@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """The chosen volumes (`volume`, repeated) and what would be done to each; nothing is stored."""
    keys = list(dict.fromkeys(request.POST.getlist("volume")))
    if not keys or len(keys) > MOST:
        text = f"Choose at most {MOST} volumes." if keys else "Choose volumes first."
        messages.warning(request, text)
        return redirect(_back(request))
    form = BulkForm(request.user, request.POST)
    rows = snapshots_of(_volumes(request, keys))
    drafted = []
    if form.is_valid():
        now = timezone.now()
        drafted = drafts(
            rows, form.cleaned_data, reserved_by_group(rows), now, volumes_with_jobs(rows)
        )
    good = [each for each in drafted if each.refused is None]
    context = {
        "form": form,
        "option": form[form.option] if form.option else None,
        "title": dict(form.fields[("action")].choices).get(request.POST.get("action"), ""),  # type: ignore[attr-defined]
        "rows": rows,
        "drafts": drafted,
        "good_count": len(good),
        "effect": _effect(request.POST.get("action", ""), has_good=bool(good)),
        "list": request.POST.get("list", ""),
    }
    if good:
        option = form.cleaned_data.get(form.option)
        key = getattr(option, "key", option) or ""
        context["sealed"] = seal(Action(form.cleaned_data["action"]), key, good)
    asks_option = form.has_error("__all__", "no_option")
    status = 200 if drafted or asks_option else HTTPStatus.UNPROCESSABLE_ENTITY
    return render(request, "staff/volumes/bulk.html", context, status=status)


@staff_view(Right.OPERATE)
@require_POST
def bulk_confirm(request: HttpRequest) -> HttpResponse:
    """Do what was shown; every volume is judged again, so that a repeated click does no harm."""
    try:
        deal = unseal(request.POST.get("sealed", ""))
    except BadSignature:
        messages.error(
            request, ("The preview is too old. Create a new preview. Nothing was changed.")
        )
        return redirect("volumes")
    volumes = {each.key: each for each in _volumes(request, [item.key for item in deal.items])}
    customer = Customer.objects.visible_to(request.user).filter(key=deal.option).first()
    actor = request.user if isinstance(request.user, AbstractBaseUser) else None
    results = carry_out(deal, volumes, customer, actor, address_of(request))
    done_count = sum(each.is_done for each in results)
    job_count = sum(each.is_done and each.job is not None for each in results)
    context = {
        "results": results,
        "title": (
            f"{counted(job_count, 'job')} started"
            if job_count
            else f"Done for {counted(done_count, 'volume')}"
        ),
        "job_count": job_count,
        "list": request.POST.get("list", ""),
    }
    return render(request, "staff/volumes/bulk_done.html", context)


def _effect(action: str, *, has_good: bool) -> str:
    """What applying the preview means for the hosts."""
    if not has_good:
        return "None of the volumes can be changed. Each row shows the reason."
    if action in (Action.CUSTOMER, Action.NOBODY):
        return "Nothing on a host changes."
    return "If a host has changed since this preview, its job stops before the first command."


def _back(request: HttpRequest) -> str:
    """The list as it was when the volumes were chosen."""
    query = request.POST.get("list", "")
    return reverse("volumes") + (f"?{query}" if query else "")


def _volumes(request: HttpRequest, keys: list[str]) -> list[Volume]:
    whole = [key for key in keys if "\0" not in key]
    volumes = Volume.objects.visible_to(request.user).filter(key__in=whole)
    return list(volumes.select_related("customer", "cache_plan"))


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
