"""Pages that show jobs. `panel.staff.jobs.job_actions` changes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.engine.decisions import WHY_LIMIT, no_way_back
from jobs.models import Halt, Job, Kind, State, Step, StepState
from jobs.queue.cost_estimate import estimate_of, seconds_from
from jobs.queue.submit import right_to
from jobs.queue.window_estimate import estimate_in_window
from panel.staff.jobs import job_list
from panel.staff.jobs.headline import (
    barred,
    cancel_effect,
    changes_so_far,
    close_effect,
    detail,
    headline,
    is_slowed,
    rollback,
)
from panel.staff.jobs.log_pages import counter, window
from panel.staff.jobs.waiting_reason import WaitingReason, waiting_reason
from panel.staff.jobs.window_text import rest_sentence, window_sentences
from storage.access import Right, may, staff_view
from storage.planner import PlannedStep
from storage.planner.fingerprint import FLUSHES
from storage.planner.host_wish import read_host_wish
from storage.planner.kernel_faults import PresentFault, met_by
from storage.planner.wish import Wish
from storage.stored_inventory import inventory_of
from storage.volumes.cache_sizes import degraded_mirrors
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from storage.volumes.wish_diff import WishChange, changes, gains

POLL_SECONDS = {State.QUEUED: 1, State.RUNNING: 1, State.WAITING: 2, State.NEEDS_ATTENTION: 5}
"""How often a page refreshes. Only a person changes a job that needs attention."""
MAKES_CACHE = (Kind.ADD_CACHE, Kind.REPLACE_CACHE)
SOON_SECONDS = 3
"""Before that, a rate is a guess."""


@staff_view()
@require_safe
def job(request: HttpRequest, key: str) -> HttpResponse:
    """One job, or one preview with the button that makes it real; from `line` on where asked."""
    shown_job = _job(request, key)
    log_window = window(shown_job, counter(request, "line"))
    context = {
        **_status(request, shown_job),
        **log_window.context,
        "more": not shown_job.is_over,
        "has_output": not shown_job.is_over or log_window.after > 0,
    }
    return render(request, "staff/jobs/job.html", context)


@staff_view()
@require_safe
def status(request: HttpRequest, key: str) -> HttpResponse:
    """Headline, steps and buttons: the element that refreshes until the job is over."""
    return render(request, "staff/jobs/_status.html", _status(request, _job(request, key)))


def _job(request: HttpRequest, key: str) -> Job:
    return get_object_or_404(job_list.listed_jobs(request.user), key=key)


def _status(request: HttpRequest, job: Job) -> dict[str, object]:
    steps = list(job.step_set.all())
    now = timezone.now()
    row = snapshots_of([job.volume])[0] if job.dry_run and job.volume is not None else None
    can_apply = job.dry_run and job.state == State.SUCCEEDED
    running = next((step for step in steps if step.state == StepState.RUNNING), None)
    so_far, refusal = changes_so_far(job, steps), no_way_back(job)
    waits = can_apply or job.begins_in_window is not None
    return {
        "job": job,
        "headline": headline(job, begun=any(step.op_id for step in steps)),
        "detail": detail(job, is_at_work=running is not None and not job.attempts),
        "steps": steps,
        "running": running,
        "is_slowed": is_slowed(running),
        "remaining": remaining_seconds(running, now) if running is not None else None,
        "left_seconds": _left_seconds(job, running, steps, now),
        "wait": wait_of(job, running),
        "window": job.window,
        "window_sentences": window_sentences(estimate_in_window(job, now), now) if waits else (),
        "rest": rest_sentence(job, running, now),
        "changed": so_far,
        "barred": barred(job, so_far),
        "changes": _changes(job, row),
        "cost": estimate_of(job, steps) if can_apply else None,
        "faults": _faults(job, steps) if can_apply else (),
        "degraded_mirrors": _degraded_mirrors(job, row) if can_apply and steps else [],
        "poll_seconds": POLL_SECONDS.get(State(job.state)),
        "can_apply": can_apply,
        "may_apply": may(request.user, right_to(job)),
        "needed_role": "admin" if right_to(job) == Right.ADMINISTER else "operator",
        "can_cancel": not job.is_over and not job.cancel_requested and not job.is_irrevocable,
        "cancel_effect": cancel_effect(job),
        "close_effect": close_effect(so_far.unknown),
        "no_way_back": refusal,
        "rollback": rollback(job, steps, is_possible=refusal is None),
        "why_limit": WHY_LIMIT,
        "ways_on": ways_on(job),
    }


def _faults(job: Job, steps: Sequence[Step]) -> tuple[PresentFault, ...]:
    """Faults of the host's kernel or LVM that the previewed steps meet, and that refuse nothing."""
    facts = inventory_of(job.host)
    planned = [PlannedStep(step.verb, step.args, step.expect, step.title) for step in steps]
    return tuple(met_by(planned, facts)) if facts is not None else ()


def _degraded_mirrors(job: Job, row: VolumeSnapshot | None) -> list[str]:
    """SSD arrays that lack a disk, of a preview that makes a cache there."""
    if job.kind not in MAKES_CACHE or row is None or row.facts is None or row.placement is None:
        return []
    return degraded_mirrors(row.facts, row.placement.vg_uuid)


def wait_of(job: Job, running: Step | None) -> WaitingReason | None:
    """What the job waits for; `running` is the step that its host works on."""
    is_waiting = job.state == State.WAITING
    at_work = Job.objects.filter(state=State.RUNNING, lease_until__gte=Now())
    return waiting_reason(
        job,
        has_running_step=running is not None,
        halt=Halt.objects.active() if is_waiting else None,
        holder=_holder(job) if is_waiting and running is None else None,
        working=at_work.count() if job.state == State.QUEUED else 0,
        now=timezone.now(),
    )


def _holder(job: Job) -> Job | None:
    """The job that changes the same volume group now."""
    if job.volume is None:
        groups = [read_host_wish(job.wish).vg_uuid]
    else:
        placed = job.volume.placement_set.filter(until=None)
        groups = list(placed.values_list("vg_uuid", flat=True))
    turns = Step.objects.filter(vg_uuid__in=groups, state=StepState.RUNNING, holds_vg=True)
    step = turns.exclude(job=job).select_related("job__volume").first()
    return step.job if step is not None else None


def _changes(job: Job, row: VolumeSnapshot | None) -> Sequence[WishChange]:
    """From what the volume is (a preview), or was when the job was accepted, to what is wished."""
    if job.volume is None:
        facts = inventory_of(job.host) if job.dry_run else None
        return gains(facts, read_host_wish(job.wish)) if facts is not None else ()
    wish = Wish.from_json(job.wish)
    if row is not None:
        return changes(row.wish, wish)
    if job.fallback is not None:
        return changes(Wish.from_json(job.fallback), wish)
    return changes(None, wish) if job.kind == Kind.CREATE_VOLUME else ()


RETRIES = {
    Kind.CREATE_VOLUME: "volume-new",
    Kind.EXTEND_VOLUME: "volume-extend",
    Kind.ADD_CACHE: "cache-form",
    Kind.REPLACE_CACHE: "cache-replace",
}
"""The forms for requesting a similar job."""


def ways_on(job: Job) -> list[tuple[str, str]]:
    """Title and URL of what a person does next after a job or preview that failed."""
    if job.state == State.FAILED and job.error.get("code") == "kernel_fault":
        faults = reverse("host-history", args=[job.host.key])
        return [(f"Faults of the kernel of {job.host.name}", faults)]
    if job.state != State.FAILED or job.kind not in RETRIES:
        return []
    name, volume = RETRIES[Kind(job.kind)], job.volume
    needs_volume = name != "volume-new"
    if needs_volume and volume is None:
        return []
    args = [volume.key] if needs_volume and volume is not None else []
    lacks_room = job.error.get("code") == "no_space"
    title = "Try again with another size" if lacks_room else "Try again"
    ways = [(title, reverse(name, args=args))]
    if lacks_room:
        ways.append((f"Free space on {job.host.name}", reverse("host", args=[job.host.key])))
    return ways


def remaining_seconds(step: Step, now: datetime) -> int | None:
    """What the agent says of a flush, from how fast it falls; of what only grows (zeroing, moving
    extents) the average so far, carried on. None where nothing is known."""
    progress = step.progress
    if step.state != StepState.RUNNING or not progress:
        return None
    if (reported := progress.get("left_s")) is not None:
        return int(reported)
    done, total = progress.get("done_bytes"), progress.get("total_bytes")
    # New dirty data comes while a flush runs: its past average says nothing of its end.
    if step.verb in FLUSHES or not done or not total or step.started_at is None:
        return None
    passed = (now - step.started_at).total_seconds()
    if passed < SOON_SECONDS:
        return None
    left_seconds: float = passed * (total - done) / done
    return max(0, round(left_seconds))


def _left_seconds(
    job: Job, running: Step | None, steps: Sequence[Step], now: datetime
) -> int | None:
    """Of the whole job, where steps are left after the running one."""
    if running is None or not any(step.n > running.n for step in steps):
        return None
    if job.is_rolling_back or job.cancel_requested or running.started_at is None:
        return None
    estimate = seconds_from(job.pk, running.n)
    return None if estimate is None else left_in_all(running, estimate, now)


def left_in_all(running: Step, estimate: tuple[float, float], now: datetime) -> int:
    """`estimate` is what the running step takes, and all after it; what the host says of the
    running one goes before."""
    own, after = estimate
    left = remaining_seconds(running, now)
    if left is None and running.started_at is not None:
        left = max(0, round(own - (now - running.started_at).total_seconds()))
    return round((left or 0) + after)
