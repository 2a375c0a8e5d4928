"""Why a job is waiting: the reason for a job that no worker holds, or whose worker no longer
reports. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from jobs.engine.holds import maintenance_words, next_opening
from jobs.engine.transitions import LEASE
from jobs.models import Halt, Job, State
from storage.formatting import counted, seconds

PATIENCE = timedelta(seconds=15)
"""A worker takes a job within a second; after this time, none is probably running."""

SILENCE = timedelta(seconds=15)
"""A worker writes more often than that, unless a host is slow to answer it."""

ReasonKind = Literal[
    "later",
    "word",
    "worker",
    "silent",
    "stop",
    "maintenance",
    "window",
    "job_window",
    "host",
    "turn",
    "other",
]


@dataclass(frozen=True, slots=True)
class WaitingReason:
    """`sentence` says for what, and what would help; `until` is the next attempt, where it is far
    enough away to be shown; `holder` is the job whose turn it is (`turn`)."""

    what: ReasonKind
    sentence: str
    until: datetime | None = None
    holder: Job | None = None


def waiting_reason(
    job: Job,
    *,
    has_running_step: bool,
    halt: Halt | None,
    holder: Job | None,
    working: int,
    now: datetime,
) -> WaitingReason | None:
    """None for a job that only waits for its own work, or for a person's decision.

    `halt` is the global stop, `holder` the job that changes the same volume group now, `working`
    how many jobs workers are at now.
    """
    if job.state == State.QUEUED:
        return _queued(job, working, now)
    if job.state == State.RUNNING:
        return _silent(job, now)
    if job.state != State.WAITING:
        return None
    if job.attempts and job.error.get("message"):
        tried = "1 attempt" if job.attempts == 1 else f"{job.attempts} attempts"
        locked = " The volume stays locked." if has_running_step else ""
        sentence = f"Waiting for {job.host.name}: no answer to {tried}.{locked}"
        return WaitingReason("host", sentence, job.not_before)
    if has_running_step:
        return None
    return _held(job, halt, now) or _other(job, holder)


def _queued(job: Job, working: int, now: datetime) -> WaitingReason:
    if job.awaits:
        return WaitingReason(
            "word", f"Waiting for {job.awaits}. The volume stays locked; no step has started."
        )
    if job.window_wait:
        return WaitingReason("job_window", f"{job.window_wait}.", job.not_before)
    if job.not_before is not None and job.not_before > now:
        return WaitingReason("later", "Scheduled; starts automatically.", job.not_before)
    if now - (job.not_before or job.created_at) < PATIENCE:
        return WaitingReason("worker", "Waiting for a free worker.")
    waited = f"for {seconds((now - (job.not_before or job.created_at)).total_seconds())}"
    if working:
        return WaitingReason(
            "worker", f"Waiting {waited}: workers are busy with {counted(working, 'other job')}."
        )
    return WaitingReason(
        "worker",
        f"No worker has answered {waited}. Start one on the panel's machine (manage.py doctor says "
        "what is missing there), or ask an admin: Settings shows the workers.",
    )


def _silent(job: Job, now: datetime) -> WaitingReason | None:
    if job.lease_until is None or now - (job.lease_until - LEASE) < SILENCE:
        return None
    sentence = (
        "The worker has not reported for a while. Commands already running on the host continue"
    )
    if job.lease_until > now:
        return WaitingReason(
            "silent", f"{sentence}. If it stays silent, another worker takes over.", job.lease_until
        )
    return WaitingReason(
        "silent", f"{sentence}. The job continues as soon as another worker is free."
    )


def _held(job: Job, halt: Halt | None, now: datetime) -> WaitingReason | None:
    host = job.host
    if halt is not None:
        return WaitingReason(
            "stop",
            f"All jobs are paused{halt.cause}. This job continues when an admin resumes jobs.",
        )
    if host.is_in_maintenance(now):
        return WaitingReason(
            "maintenance",
            f"{host.name} is in {maintenance_words(host)}. This job continues when maintenance "
            "ends.",
            host.maintenance_until,
        )
    opening = None
    if host.window_start is not None and host.window_end is not None:
        opening = next_opening(host.window_start, host.window_end, now)
    if opening is None or host.window_start is None or host.window_end is None:
        if job.window_wait:
            return WaitingReason("job_window", f"{job.window_wait}.", job.not_before)
        return None
    hours = f"{host.window_start:%H:%M} to {host.window_end:%H:%M} UTC"
    return WaitingReason(
        "window", f"Waiting for the change window of {host.name}, {hours}.", opening
    )


def _other(job: Job, holder: Job | None) -> WaitingReason:
    if holder is not None:
        sentence = "Waiting for another job that is changing the volume group."
        return WaitingReason("turn", sentence, holder=holder)
    explanation = job.explanation.rstrip(".") or "Waiting for the next check"
    return WaitingReason("other", f"{explanation}. Tiercel retries automatically.")
