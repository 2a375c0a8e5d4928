"""How a job's state may change, and the only code that changes it.

Every transition is one UPDATE that names the state it comes from (`storage.state_machine`) and, out
of `running`, the lease, so two processes can never both believe they made it. All times are the
database's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from django.db.models import Q
from django.db.models.functions import Now
from psycopg.types.numeric import Int8

from jobs import audit_trail
from jobs.failpoints import durable
from jobs.models import OVER, Job, State, Step, StepState
from storage import state_machine
from storage.compiled_query import CompiledQuery

LEASE = timedelta(seconds=float(os.environ.get("TIERCEL_LEASE_SECONDS", "60")))
"""Longer than the longest call to a host (`jobs.transport.DEADLINE_SECONDS`), which is renewed
before each: a lapsed lease means a dead worker. The fault suite shortens it."""

READING = "Reading what is on the host"

CLAIMS_LIMIT = 5
"""A job that so many workers claimed and never released kills its workers."""

ABANDONED = {
    "code": "unknown",
    "message": "The job was closed before the host reported the result of this step.",
    "correction": "Check the volume on the host.",
}

TRANSITIONS: Final = {
    State.QUEUED: (State.RUNNING, State.CANCELLED),
    State.RUNNING: (
        State.WAITING,
        State.SUCCEEDED,
        State.FAILED,
        State.CANCELLED,
        State.NEEDS_ATTENTION,
    ),
    State.WAITING: (State.RUNNING, State.CANCELLED),
    State.NEEDS_ATTENTION: (State.QUEUED, State.CANCELLED),
}
"""By the state they come from. The other states are final (`jobs.models.OVER`)."""


class LostLease(Exception):
    """Another process took the job over, or it ended: the caller must stop at once."""


@durable("move")
def transition(
    job: Job, from_: State, to: State, *, reads_again: bool = True, **fields: Any
) -> bool:
    """Bring `job` from one state to another and set `fields`. False, and nothing changes, where
    the job is not in `from_` or, in `running`, no longer leased to `job.lease_owner`."""
    lease = Q(lease_owner=job.lease_owner) if from_ == State.RUNNING else None
    if to != State.RUNNING:
        fields |= {"lease_owner": "", "lease_until": None}
    if not state_machine.transition(
        job, from_, to, TRANSITIONS, lease, reads_again=reads_again, **fields
    ):
        return False
    if to in OVER and audit_trail.close(job):
        running = Step.objects.filter(job=job, state=StepState.RUNNING)
        running.update(state=StepState.FAILED, error=ABANDONED, ended_at=Now())
    return True


DUE = """(
        (state = 'waiting' OR state = 'queued' AND awaits = '')
            AND coalesce(not_before <= statement_timestamp(), true)
        OR state = 'running' AND lease_until < statement_timestamp()
    )"""
"""What a worker may take: a queued job that awaits no one's word, a waiting one whose time has
come, or one whose worker died."""

CLAIM = """
    UPDATE jobs_job SET
        state = 'running', claims = claims + 1,
        lease_owner = %(owner)s, lease_until = statement_timestamp() + %(lease)s,
        started_at = coalesce(started_at, statement_timestamp()),
        explanation =
            CASE WHEN state = 'queued' AND NOT dry_run THEN %(reading)s ELSE explanation END
    WHERE id = {which} AND {due}
    RETURNING {columns}, NOT EXISTS (SELECT FROM jobs_step WHERE job_id = jobs_job.id)
"""
"""In SQL, because Django cannot read what it changes in the same statement."""

NEXT = """(
        SELECT id FROM jobs_job
        WHERE NOT (state IN ('succeeded', 'failed', 'cancelled')) AND {due} AND {of_site}
        ORDER BY dry_run = %(prefers_previews)s DESC, coalesce(not_before, created_at), id
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    )"""
"""First accepted, first served; what waited is accepted again when its time comes. The first
condition is that of the index `job_unfinished`."""

ITS_SITE = "(SELECT site FROM storage_host WHERE id = host_id) = ANY(%(sites)s)"

_JOB = CompiledQuery(Job, lambda job_id: Job.objects.filter(pk=job_id))


@durable("claim")
def claim(job_id: int, owner: str) -> Job | None:
    """Take a job for `owner`; None where it is not due (`DUE`), or another process was faster."""
    return _claimed("%(job)s", {"job": Int8(job_id), "owner": owner})


@durable("claim")
def claim_next(
    owner: str, site: str, dedicated_sites: Sequence[str], *, prefers_previews: bool
) -> Job | None:
    """Take the job that is due first for `owner`, and pass over those that others take now; None
    where none is due.

    `site` narrows the hosts to one site, "" to all but the `dedicated_sites`. Half of the claims
    should prefer previews: a person waits for one, but a flood of them must not stop the jobs.
    """
    terms: dict[str, Any] = {"owner": owner, "prefers_previews": prefers_previews}
    of_site = "true"
    if site or dedicated_sites:
        of_site = ITS_SITE if site else f"NOT {ITS_SITE}"
        terms["sites"] = [site] if site else list(dedicated_sites)
    return _claimed(NEXT.replace("{of_site}", of_site), terms)


def _claimed(which: str, terms: Mapping[str, Any]) -> Job | None:
    statement = CLAIM.replace("{which}", which).replace("{due}", DUE)
    terms = {**terms, "lease": LEASE, "reading": READING}
    job = _JOB.returned(statement, terms, "is_without_steps")
    if job is not None:
        job.beat = time.monotonic()
    return job


@durable("renew")
def renew(job: Job, **fields: Any) -> None:
    """Heartbeat: prolong the lease and set `fields`; raises `LostLease` where it is gone."""
    leased = Job.objects.filter(pk=job.pk, state=State.RUNNING, lease_owner=job.lease_owner)
    if not leased.update(lease_until=Now() + LEASE, **fields):
        raise LostLease(f"job {job.key}")
    job.beat = time.monotonic()
    for name, value in fields.items():
        setattr(job, name, value)


def need_attention_after_restore(error: dict[str, Any]) -> int:
    """After a restore the state of unfinished jobs is unknown: each waits for a person, and
    previews end. Returns the number of waiting jobs."""
    unfinished = Job.objects.filter(state__in=(State.QUEUED, State.RUNNING, State.WAITING))
    free: dict[str, Any] = {"lease_owner": "", "lease_until": None}
    unfinished.filter(dry_run=True).update(state=State.CANCELLED, ended_at=Now(), **free)
    return unfinished.filter(dry_run=False).update(
        state=State.NEEDS_ATTENTION, error=error, explanation=str(error["message"]), **free
    )


def expire_dead_leases(name_is_dead: Callable[[str], bool]) -> int:
    """Expire the leases of workers that are known to be dead; returns the number of jobs."""
    leased = Job.objects.filter(state=State.RUNNING, lease_until__gte=Now())
    dead = [name for name in leased.values_list("lease_owner", flat=True) if name_is_dead(name)]
    if not dead:
        return 0
    return leased.filter(lease_owner__in=dead).update(lease_until=Now() - timedelta(seconds=1))


def renew_if_due(job: Job, explanation: str | None = None) -> None:
    """`renew` where the last heartbeat is not recent, or the explanation changes. Only before calls
    that change nothing: before a change, always call `renew`."""
    is_said = explanation is None or job.explanation == explanation
    if is_said and time.monotonic() - job.beat < LEASE.total_seconds() / 12:
        return
    renew(job, **({} if explanation is None else {"explanation": explanation}))
