"""Runs jobs, level-triggered: read facts, plan, run the first step, read facts again.

A job is done when the plan against facts just read is empty. An exit code is not success, and a
lost connection is not failure: the operation has an id, and the host is asked for it until it
answers. A retry is a new plan, so finished steps vanish from it.
"""

from __future__ import annotations

import logging
import os
import socket
import uuid

from django.db import transaction

from jobs import preview, steps
from jobs.contact import placement_of, read_facts, target_of
from jobs.endings import REST_SECONDS, TRIES, end, fail, refuse, wait, wait_for_contact
from jobs.models import Door, Job, State, Step, StepState
from jobs.moves import LostLease, claim, move, renew
from jobs.operation import send, watch
from jobs.trouble import TransportError
from storage.facts import HostFacts
from storage.models import Placement, Volume
from storage.plan import Refused, plan
from storage.wish import Wish

log = logging.getLogger(__name__)

HOLD_SECONDS = 15.0
"""So long a worker stays with an operation it sent; after that the job waits without one."""


def run(job_id: int) -> None:
    """Take a job and bring it as far as it goes now; return at once where there is nothing to do.

    Whatever is unforeseen fails the job, with a trace in the log: it must not come back for ever.
    """
    job = claim(job_id, f"{socket.gethostname()[:24]}:{os.getpid()}:{uuid.uuid4().hex[:12]}")
    if job is None:
        return
    try:
        if job.dry_run:
            preview.fill(job)
        else:
            advance(job)
    except LostLease:
        log.warning("job %s was taken over by another worker", job.key)
    except Exception:
        log.exception("job %s", job.key)
        internal = {
            "code": "internal",
            "message": "The panel itself failed while it ran this job.",
            "correction": "See the worker's log, then ask again: a new job starts from what is.",
        }
        # While an operation may run on the host, the volume stays locked.
        to = State.FAILED if job.running_step is None else State.NEEDS_ATTENTION
        move(job, State.RUNNING, to, error=internal)


def advance(job: Job) -> None:
    """One claim's worth of work; raises `LostLease`."""
    step = job.running_step
    if step is not None and not watch(job, step, hold_seconds=0):
        return
    while (step := _next_step(job)) is not None:
        if not send(job, step):
            return
        if step.state == StepState.RUNNING and not watch(job, step, HOLD_SECONDS):
            return


def _next_step(job: Job) -> Step | None:
    """The first step of a plan on fresh facts, intended; None where the job was let go."""
    renew(job, explanation="Reading what is on the host")
    try:
        facts = read_facts(job.host)
        placement = placement_of(job)
        planned = plan(facts, target_of(placement), Wish.from_json(job.wish))
    except TransportError as error:
        wait_for_contact(job, error)
        return None
    except Refused as refused:
        if refused.code == "inconsistent" and job.attempts + 1 < TRIES:
            wait(job, REST_SECONDS, refused.message, attempts=job.attempts + 1)
        else:
            refuse(job, refused)
        return None
    if not planned:
        _succeed(job, facts, placement)
        return None
    if (error_now := steps.exhausted(job, planned[0])) is not None:
        fail(job, error_now)
        return None
    step = steps.intend(job, planned[0])
    if step is None:
        end(job, State.CANCELLED, explanation=f"Cancelled before: {planned[0].title}"[:500])
    return step


@transaction.atomic
def _succeed(job: Job, facts: HostFacts, placement: Placement) -> None:
    """The records follow in the same transaction as the move."""
    named = facts.lv_named(placement.vg_uuid, placement.lv_name)
    lv = facts.lv(placement.lv_uuid) if placement.lv_uuid else named
    if lv is None:
        raise RuntimeError(f"the plan for {placement} is empty without its volume")
    Placement.objects.filter(pk=placement.pk).update(lv_uuid=lv.uuid)
    Volume.objects.filter(pk=job.volume_id).update(
        wish=job.wish, size_bytes=lv.guest_size_bytes, managed=True
    )
    if job.door == Door.PORTAL:
        Volume.objects.filter(pk=job.volume_id).update(cache_plan=job.cache_plan_id)
    changed = job.step_set.filter(state=StepState.DONE).exists()
    explanation = "" if changed else "It was so already; nothing had to be done."
    end(job, State.SUCCEEDED, explanation=explanation, error={})
