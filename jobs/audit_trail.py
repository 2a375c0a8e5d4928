"""The audit trail: what was done on hosts, and by whom.

The engine writes it within the transaction that changes the step: an operation that was sent has
its intent, and a step that ended has its outcome. Pages and the API read it: filters, operations,
exports."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pghistory
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from jobs.models import AuditEntry, AuditQuerySet, Job, Phase, Step, StepState
from jobs.requester import Requester, current_requester
from jobs.transport.replies import has_begun
from storage.agent.verbs.registry import VERBS
from storage.formatting import csv_line

NEVER_RAN = frozenset({"not_started", "busy", "guest_busy", "occupied", "stale_fence", "stuck"})
"""Codes of a step that the host never began, unless one of its commands was started: LVM's own
lock may be taken in the middle."""
WHO = ("actor", "token", "address", "origin", "request_id")
WORDS = ("host", "volume", "job", "actor", "request_id")
FILTERS = (*WORDS, "since", "until")
COLUMNS = (
    "at",
    "phase",
    "op_id",
    "job",
    "kind",
    "actor",
    "token",
    "address",
    "door",
    "host",
    "machine_id",
    "volume",
    "volume_label",
    "vg",
    "verb",
    "args",
    "commands",
    "result",
    "request_id",
)


def intent(job: Job, step: Step) -> None:
    """`step` is about to be sent under its operation id."""
    AuditEntry.objects.create(
        phase=Phase.INTENT, **_who(current_requester(job)), **_subject(job, step)
    )


def outcome(job: Job, step: Step, error: dict[str, Any] | None = None) -> None:
    """The operation of `step` ended: well, or with the agent's `error`. It belongs to the requester
    of its intent, even if another person has ordered something since."""
    intents = AuditEntry.objects.filter(op_id=str(step.op_id), phase=Phase.INTENT)
    _end(job, step, error, intents.values(*WHO).first() or _who(current_requester(job)))


def close(job: Job) -> bool:
    """The job ends, and the outcome of its running steps stays unknown; returns whether there were
    any. The unknown outcome belongs to the person who ended the job."""
    unknown = {
        "code": "unknown",
        "message": "The job was closed before the host could report the result.",
    }
    running = [] if job.is_without_steps else list(job.step_set.filter(state=StepState.RUNNING))
    for step in running:
        if step.op_id is not None:
            _end(job, step, unknown, _who(current_requester(job)))
    return bool(running)


def signed(job: Job) -> pghistory.context:
    """A context in which changes of records name the job and its last requester."""
    who = _who(current_requester(job))
    return pghistory.context(actor=who["actor"], token=who["token"], job=job.key)


def _end(job: Job, step: Step, error: dict[str, Any] | None, who: dict[str, Any]) -> None:
    """The first outcome counts: a second one of the same operation is ignored."""
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
        "origin": requester.origin,
        "request_id": requester.request_id,
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


class BadSince(ValueError):
    """`field` of a filter, since or until, is no time."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class AuditedOperation:
    """One operation: its intent and, once it is over, its outcome."""

    intent: AuditEntry
    outcome: AuditEntry | None

    @property
    def title(self) -> str:
        """What the operation does, in words; its verb where this version does not know it."""
        verb = VERBS.get(self.intent.verb)
        return verb.title if verb is not None else self.intent.verb


def filtered(rows: AuditQuerySet, query: Mapping[str, str]) -> AuditQuerySet:
    """The entries that match the filters of a request; raises `BadSince`."""
    words = {name: query.get(name, "").strip() for name in WORDS}
    return rows.about(**words, since=parsed_moment(query), until=parsed_moment(query, "until"))


def parsed_moment(query: Mapping[str, str], field: str = "since") -> datetime | None:
    """A day or an RFC 3339 time, in the zone of the person where it names none; None for "".
    `until` a day is until its end. Raises `BadSince`."""
    text = query.get(field, "").strip()
    if not text:
        return None
    try:
        day = parse_date(text)
        if day is not None and field == "until":
            day += timedelta(days=1)
        at = datetime(day.year, day.month, day.day) if day is not None else parse_datetime(text)
    except (ValueError, OverflowError):
        at = None
    if at is None:
        raise BadSince(
            field,
            f"{text:.40} is not a date or time: enter one like 2026-11-21 or 2026-11-21T08:00Z.",
        )
    return at if at.tzinfo is not None else at.replace(tzinfo=timezone.get_current_timezone())


def audited_operations(intents: Iterable[AuditEntry]) -> list[AuditedOperation]:
    """Intents with their outcomes, in the given order."""
    entries = list(intents)
    ended = AuditEntry.objects.filter(
        phase=Phase.OUTCOME, op_id__in=[intent.op_id for intent in entries]
    )
    outcomes = {outcome.op_id: outcome for outcome in ended}
    return [AuditedOperation(intent, outcomes.get(intent.op_id)) for intent in entries]


def entry_json(entry: AuditEntry) -> dict[str, Any]:
    """An entry as exports and the API say it; `job` and `volume` are keys."""
    return {
        "at": entry.at,
        "phase": entry.phase,
        "op_id": str(entry.op_id),
        "job": entry.job_key,
        "kind": entry.kind,
        "actor": entry.actor,
        "token": entry.token,
        "address": entry.address,
        "door": entry.origin,
        "host": entry.host,
        "machine_id": entry.machine_id,
        "volume": entry.volume_key,
        "volume_label": entry.volume_label,
        "vg": entry.vg,
        "verb": entry.verb,
        "args": entry.args,
        "commands": [{"argv": each["argv"], "rc": each.get("rc")} for each in entry.commands],
        "result": entry.result,
        "request_id": entry.request_id,
    }


def csv_lines(rows: Iterable[AuditEntry]) -> Iterator[str]:
    """A header and a line for each entry; commands as a shell would be given them, with their
    exit codes."""
    yield csv_line(COLUMNS)
    for row in rows:
        cells = entry_json(row)
        cells["at"] = row.at.isoformat()
        cells["args"] = json.dumps(row.args, sort_keys=True)
        cells["commands"] = "\n".join(
            f"{shlex.join(each['argv'])} [{each['rc']}]" for each in cells["commands"]
        )
        cells["result"] = json.dumps(row.result, sort_keys=True) if row.result else ""
        yield csv_line(cells[name] for name in COLUMNS)


def json_lines(rows: Iterable[AuditEntry]) -> Iterator[str]:
    """One JSON array of entries, a line each."""
    start = "["
    for row in rows:
        entry = entry_json(row) | {"at": row.at.isoformat()}
        yield f"{start}\n{json.dumps(entry)}"
        start = ","
    yield "[]\n" if start == "[" else "\n]\n"
