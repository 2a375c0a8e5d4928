"""The daily window of a job: when it begins, and when its flush rests.

Outside its window a job begins nothing. When the window closes, only a running flush is stopped: it
leaves nothing half done, because it comes before the steps that change the cache. The cache gets
its daytime settings back, and the flush continues when the window opens next. All other steps run
to their end: they take moments, or are paced to spare the guests, and the volume would otherwise
stay between two states until the next day.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jobs import notify_workers
from jobs.engine import steps
from jobs.engine.finish import SETTINGS
from jobs.hosts import contact, panel_identity
from jobs.models import Job, State, Step
from storage.database_clock import database_now
from storage.inventory.facts import HostFacts
from storage.models import Placement
from storage.planner import PlannedStep, Refused, plan
from storage.planner.fingerprint import FLUSHES
from storage.planner.wish import Wish

STOPPING: Final = {
    "code": "stopping",
    "message": "The window closed. The flush continues when it opens next.",
    "correction": "",
}


def rests(job: Job, verb: str) -> bool:
    """Whether a step of this verb must wait for the next window. Not during a rollback, nor in a
    cancelled job, which no longer has a window."""
    if job.window is None or verb not in FLUSHES or job.is_rolling_back or job.is_irrevocable:
        return False
    return not job.window.is_open(database_now()) and not steps.is_cancelled(job)


def settling(job: Job, facts: HostFacts, placement: Placement | None) -> Sequence[PlannedStep]:
    """The steps that reset the settings of a stopped flush, which would otherwise continue all day.
    None where the former settings are unknown, or cannot be planned now."""
    if job.fallback is None or placement is None:
        return ()
    try:
        planned = plan(facts, placement.target, Wish.from_json(job.fallback))
    except Refused:
        return ()
    return [step for step in planned if step.verb in SETTINGS]


def stop_at_closing(job: Job, step: Step) -> None:
    """Ask the host once to stop a flush whose window has closed; raises `TransportError`."""
    if step.error or not rests(job, step.verb):
        return
    job.refresh_from_db(fields=("window_start", "window_end", "window_zone"))
    if not rests(job, step.verb):
        return
    panel = panel_identity.named_to(job.host)
    reply = contact.ask(job.host, "op.abort", {"op": str(step.op_id)}, panel=panel)
    steps.mark_asked_to_stop(job, step, reply.error.to_json() if reply.error else STOPPING)


def look_again_if_changed(job: Job) -> None:
    """A person may have given the job another window while its worker gave up the lease."""
    waiting = Job.objects.filter(pk=job.pk, state=State.WAITING)
    changed = waiting.exclude(
        window_start=job.window_start, window_end=job.window_end, window_zone=job.window_zone
    )
    if job.window is not None and changed.update(not_before=None):
        notify_workers.job(job.pk)
