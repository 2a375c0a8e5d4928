"""Writes the audit trail. Called within the transaction that changes the step, so that an
operation that was sent has its intent, and a step that ended has its outcome.
"""

from __future__ import annotations

from typing import Any

import pghistory

from jobs.models import AuditEntry, Job, Phase, Step, StepState
from jobs.outcome import has_begun

NEVER_RAN = frozenset({"not_started", "busy", "stale_fence", "stuck"})
"""Codes of a step that the host never began, unless one of its commands was started: LVM's own
lock may be taken in the middle."""


def intent(job: Job, step: Step) -> None:
    """`step` is about to be sent under its operation id."""
    AuditEntry.objects.create(phase=Phase.INTENT, **_subject(job, step))


def outcome(job: Job, step: Step, error: dict[str, Any] | None = None) -> None:
    """The operation of `step` ended: well, or with the agent's `error`. The first outcome stands:
    asked about it twice, the trail keeps what it has."""
    entry = AuditEntry(
        phase=Phase.OUTCOME,
        commands=step.commands,
        result=_result(step, error),
        **_subject(job, step),
    )
    AuditEntry.objects.bulk_create([entry], ignore_conflicts=True)


def close(job: Job) -> bool:
    """The job ends: what its running steps came to will not be known any more. Whether there were
    any."""
    unknown = {
        "code": "unknown",
        "message": "The job was ended before the host could be asked what became of it.",
    }
    running = list(job.step_set.filter(state=StepState.RUNNING))
    for step in running:
        if step.op_id is not None:
            outcome(job, step, unknown)
    return bool(running)


def signed(job: Job) -> pghistory.context:
    """Within it, changes of records are those of the job and of who asked for it."""
    return pghistory.context(actor=_actor(job), token=job.token, job=job.key)


def _result(step: Step, error: dict[str, Any] | None) -> dict[str, Any]:
    if error is None:
        return {"state": "done"}
    code = str(error.get("code", ""))
    state = "not_started" if code in NEVER_RAN and not has_begun(step.commands) else "failed"
    if code in ("interrupted", "unknown"):
        state = code
    return {"state": state, "code": code, "message": str(error.get("message", ""))}


def _actor(job: Job) -> str:
    return str(job.actor) if job.actor is not None else ""


def _subject(job: Job, step: Step) -> dict[str, Any]:
    """Who, where and what: the same in both entries."""
    return {
        "op_id": step.op_id,
        "job_key": job.key,
        "kind": job.kind,
        "actor": _actor(job),
        "token": job.token,
        "address": job.address,
        "door": job.door,
        "host": job.host.name,
        "host_key": job.host.key,
        "machine_id": job.host.machine_id,
        "volume_key": job.volume.key if job.volume is not None else "",
        "volume_label": job.volume.label if job.volume is not None else "",
        "vg": str(step.args.get("vg", "")),
        "verb": step.verb,
        "args": step.args,
    }
