"""Writes the audit trail, within the transaction that changes the step: an operation that was sent
has its intent, and a step that ended has its outcome."""

from __future__ import annotations

from typing import Any

import pghistory

from jobs.models import AuditEntry, Job, Phase, Step, StepState
from jobs.requester import Requester, current_requester
from jobs.transport.replies import has_begun

NEVER_RAN = frozenset({"not_started", "busy", "guest_busy", "occupied", "stale_fence", "stuck"})
"""Codes of a step that the host never began, unless one of its commands was started: LVM's own
lock may be taken in the middle."""

WHO = ("actor", "token", "address", "door")


def intent(job: Job, step: Step) -> None:
    """`step` is about to be sent under its operation id."""
    AuditEntry.objects.create(
        phase=Phase.INTENT, **_who(current_requester(job)), **_subject(job, step)
    )


def outcome(job: Job, step: Step, error: dict[str, Any] | None = None) -> None:
    """The operation of `step` ended: well, or with the agent's `error`. It stays that of whoever
    it was sent for, also where another person has ordered something since."""
    intents = AuditEntry.objects.filter(op_id=str(step.op_id), phase=Phase.INTENT)
    _end(job, step, error, intents.values(*WHO).first() or _who(current_requester(job)))


def close(job: Job) -> bool:
    """The job ends: what its running steps came to will not be known any more. Whether there were
    any. Not to know is the deed of whoever ended it."""
    unknown = {
        "code": "unknown",
        "message": "The job was closed before the host could report the result.",
    }
    running = list(job.step_set.filter(state=StepState.RUNNING))
    for step in running:
        if step.op_id is not None:
            _end(job, step, unknown, _who(current_requester(job)))
    return bool(running)


def signed(job: Job) -> pghistory.context:
    """Within it, changes of records are those of the job and of who ordered it last."""
    who = _who(current_requester(job))
    return pghistory.context(actor=who["actor"], token=who["token"], job=job.key)


def _end(job: Job, step: Step, error: dict[str, Any] | None, who: dict[str, Any]) -> None:
    """The first outcome stands: told about it twice, the trail keeps what it has."""
    entry = AuditEntry(
        phase=Phase.OUTCOME,
        commands=step.commands,
        result=_result(step, error),
        **who,
        **_subject(job, step),
    )
    AuditEntry.objects.bulk_create([entry], ignore_conflicts=True)


def _result(step: Step, error: dict[str, Any] | None) -> dict[str, Any]:
    if error is None:
        return {"state": "done"}
    code = str(error.get("code", ""))
    state = "not_started" if code in NEVER_RAN and not has_begun(step.commands) else "failed"
    if code in ("interrupted", "unknown"):
        state = code
    return {"state": state, "code": code, "message": str(error.get("message", ""))}


def _who(requester: Requester) -> dict[str, Any]:
    return {
        "actor": str(requester.actor) if requester.actor is not None else "",
        "token": requester.token,
        "address": requester.address,
        "door": requester.door,
    }


def _subject(job: Job, step: Step) -> dict[str, Any]:
    """Where and what: the same in both entries."""
    return {
        "op_id": step.op_id,
        "job_key": job.key,
        "kind": job.kind,
        "host": job.host.name,
        "host_key": job.host.key,
        "machine_id": job.host.machine_id,
        "volume_key": job.volume.key if job.volume is not None else "",
        "volume_label": job.volume.label if job.volume is not None else "",
        "vg": str(step.args.get("vg", "")),
        "verb": step.verb,
        "args": step.args,
    }
