"""One change for many volumes: a preview for each, then a result for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, ClassVar, Final

from django.contrib import messages
from django.core.signing import BadSignature
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from jobs.models import BulkChange, Job, State
from jobs.queue import bulk as bulk_queue
from jobs.queue.bulk import (
    blocking_jobs,
    job_kind,
    reserved_by_group,
    sign_drafts,
    signed_drafts,
)
from jobs.queue.cost_estimate import estimate
from jobs.queue.submit import ChangeRequest, submit
from panel.lists.listing import in_order
from panel.staff.job_requests import requester_of, show_refusal
from panel.staff.jobs.running_menu import progress_of
from panel.staff.volumes.filters import VolumeFilter
from panel.staff.volumes.list_pages import LISTING
from panel.staff.volumes.volume_forms import BulkForm
from storage.access import Right, staff_view
from storage.bulk_changes import MOST, TITLES, Action, BulkRequest, PlannedChange, drafts
from storage.formatting import counted
from storage.models import Volume
from storage.planner import Refused
from storage.planner.wish import Wish
from storage.volumes.snapshot import snapshots_of

SHOWN: Final = 100
"""Volumes of a preview that are shown one by one."""
TEMPLATE = "staff/volumes/_bulk_commands.html"
TOO_OLD = Refused("stale", "The preview is too old.", "Create a new preview. Nothing was changed.")


@staff_view(Right.OPERATE)
@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """The chosen volumes (`volume`, repeated), or (`every`) all that the list finds, and what would
    be done to each; nothing is stored."""
    chosen = _chosen(request)
    if not chosen or len(chosen) > MOST:
        text = (
            f"Choose at most {MOST} volumes. Narrow the list first."
            if chosen
            else "Choose volumes first."
        )
        messages.warning(request, text)
        return redirect(_back(request))
    form = BulkForm(request.user, request.POST)
    rows = snapshots_of(chosen)
    drafted = []
    if form.is_valid() and form.asked is not None:
        now = timezone.now()
        drafted = drafts(rows, form.asked, reserved_by_group(rows), now, blocking_jobs(rows))
    context = {
        "form": form,
        "option": form.option,
        "title": dict(form.fields["action"].choices).get(request.POST.get("action"), ""),  # type: ignore[attr-defined]
        "rows": rows,
        "is_every": "every" in request.POST,
        "list": request.POST.get("list", ""),
        "back": _back(request),
        "back_to": "volumes",
        **preview_context(request, form.asked, drafted),
    }
    asks_option = form.has_error("__all__", "no_option")
    status = 200 if drafted or asks_option else HTTPStatus.UNPROCESSABLE_ENTITY
    return render(request, "staff/volumes/bulk.html", context, status=status)


def preview_context(
    request: HttpRequest, asked: BulkRequest | None, drafted: Sequence[PlannedChange]
) -> dict[str, object]:
    """What a preview shows of the drafts, and what confirms it."""
    good = [each for each in drafted if each.refused is None]
    refused = [each for each in drafted if each.refused is not None]
    context: dict[str, object] = {
        "drafts": good[:SHOWN],
        "hidden": good[SHOWN:],
        "refused": refused[:SHOWN],
        "skipped": Counter(each.refused.message for each in refused if each.refused).most_common(),
        "skipped_count": len(refused),
        "good_count": len(good),
        "effect": _effect(asked.action if asked is not None else "", has_good=bool(good)),
    }
    if good and asked is not None:
        context["sealed"] = sign_drafts(asked.action, asked.option_key, good, request.user.pk)
    return context


@staff_view(Right.OPERATE)
@require_POST
def bulk_confirm(request: HttpRequest) -> HttpResponse:
    """Have a worker do what was previewed for the volumes that stayed ticked (`take`); it checks
    each again, so a repeated click does no harm."""
    try:
        deal = signed_drafts(request.POST.get("sealed", ""), request.user.pk)
    except BadSignature:
        messages.error(
            request, "The preview is too old. Create a new preview. Nothing was changed."
        )
        return redirect("volumes")
    back = request.POST.get("list", "")
    taken = set(request.POST.getlist("take"))
    deal = replace(deal, items=tuple(item for item in deal.items if item.key in taken))
    if not deal.items:
        messages.warning(request, "No volume was selected. Nothing was changed.")
        return redirect(_back(request))
    change = bulk_queue.begin_bulk(deal, requester_of(request), back)
    return redirect("volumes-bulk-result", change.key)


@staff_view(Right.OPERATE)
@require_safe
def bulk_result(request: HttpRequest, key: str) -> HttpResponse:
    """The result of each volume: the jobs' states and the total, which refresh themselves."""
    change = get_object_or_404(BulkChange.objects.visible_to(request.user), key=key)
    return render(request, _result_template(request), _result(request, change))


@staff_view(Right.OPERATE)
@require_POST
def bulk_cancel(request: HttpRequest, key: str) -> HttpResponse:
    """Start no further volume; also for a change that another person confirmed."""
    change = get_object_or_404(BulkChange.objects.visible_to(request.user), key=key)
    count = bulk_queue.cancel_bulk(change, str(request.user))
    if count:
        messages.success(request, f"Cancelled for {counted(count, 'volume')}.")
    else:
        messages.info(request, "Every volume had been started already.")
    return redirect("volumes-bulk-result", change.key)


def _result_template(request: HttpRequest) -> str:
    is_part = request.headers.get("HX-Request") == "true"
    return f"staff/volumes/{'_bulk_result' if is_part else 'bulk_done'}.html"


def _result(request: HttpRequest, change: BulkChange) -> dict[str, object]:
    jobs = {
        job.key: job
        for job in Job.objects.visible_to(request.user)
        .with_names()
        .filter(key__in=[key for _, _, key, *_ in change.outcomes if key])
    }
    how_far = progress_of(job for job in jobs.values() if not job.is_over)
    results = [
        BulkResult(
            key,
            label,
            job := jobs.get(job_key),
            is_done,
            note,
            how_far.get(job.pk, {}) if job is not None else {},
        )
        for key, label, job_key, is_done, note in change.outcomes
    ]
    over = sum(each.is_over for each in results)
    counts = Counter(each.state for each in results)
    return {
        "change": change,
        "title": TITLES.get(change.action, "Bulk change"),
        "results": sorted(results, key=lambda each: BulkResult.ORDER.index(each.state)),
        "total": len(change.items),
        "over": over,
        "counts": [(state, counts[state]) for state in BulkResult.ORDER if counts[state]],
        "is_running": over < len(change.items),
        "has_jobs": bool(jobs),
    }


@dataclass(frozen=True, slots=True)
class BulkResult:
    """One volume of a bulk change; `state` is one of ORDER, the worst first."""

    ORDER: ClassVar = ("needs a decision", "failed", "not done", "running", "queued", "done")

    key: str
    label: str
    job: Job | None
    is_done: bool
    note: str
    progress: Mapping[str, object]

    @property
    def state(self) -> str:
        if not self.is_done:
            return "not done"
        if self.job is None or self.job.state == State.SUCCEEDED:
            return "done"
        if self.job.state == State.NEEDS_ATTENTION:
            return "needs a decision"
        if self.job.is_over:
            return "failed"
        return "queued" if self.job.state == State.QUEUED else "running"

    @property
    def is_over(self) -> bool:
        return self.state not in ("running", "queued")


def _effect(action: str, *, has_good: bool) -> str:
    """What applying the preview means for the hosts."""
    if not has_good:
        return "None of the volumes can be changed. Each row shows the reason."
    if action in (Action.CUSTOMER, Action.NO_CUSTOMER):
        return "Nothing on a host changes."
    if action == Action.ALLOCATE:
        return (
            "One volume after the other, so that SSD is freed before it is used. Where there is no "
            "room then, that change alone is refused."
        )
    return "If a host has changed since this preview, its job stops before the first command."


def _back(request: HttpRequest) -> str:
    """The list as it was when the volumes were chosen."""
    query = request.POST.get("list", "")
    return reverse("volumes") + (f"?{query}" if query else "")


def _chosen(request: HttpRequest) -> list[Volume]:
    """The volumes that were ticked, or all that the list finds, in its order."""
    volumes = Volume.objects.visible_to(request.user)
    if "every" in request.POST:
        query = QueryDict(request.POST.get("list", ""))
        filters = VolumeFilter(query.dict(), request.user)
        matching = filters.found(timezone.now()).filter(destroyed_at=None)
        keys = in_order(LISTING, query, matching).values_list("key", flat=True)[: MOST + 1]
    else:
        keys = [key for key in request.POST.getlist("volume") if "\0" not in key]
    places = {key: place for place, key in enumerate(keys)}
    some = volumes.filter(key__in=list(places)[: MOST + 1])
    return sorted(
        some.select_related("customer", "cache_plan"), key=lambda volume: places[volume.key]
    )


@staff_view(Right.OPERATE)
@require_POST
def bulk_commands(request: HttpRequest, key: str) -> HttpResponse:
    """Preview what was shown (`sealed`) for one of the volumes; to its page without JavaScript."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    is_part = request.headers.get("HX-Request") == "true"
    try:
        deal = signed_drafts(request.POST.get("sealed", ""), request.user.pk)
    except BadSignature:
        if is_part:
            return render(request, TEMPLATE, {"refused": TOO_OLD})
        messages.error(request, f"{TOO_OLD.message} {TOO_OLD.correction}")
        return redirect("volumes")
    item = next((item for item in deal.items if item.key == key), None)
    if item is None or item.wish is None:
        raise Http404(key)
    try:
        wish = Wish.from_json(item.wish)
        kind = job_kind(deal.action, volume, wish, item.cache_name)
        preview = ChangeRequest(kind, volume, wish, dry_run=True, disks=item.disks)
        job = submit(preview, requester_of(request))
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
