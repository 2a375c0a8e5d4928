"""Reading the audit trail: filters, one line for each operation, exports."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_date, parse_datetime

from jobs.models import AuditEntry, AuditQuerySet, Phase

WORDS = ("host", "volume", "job", "actor")
FILTERS = (*WORDS, "since")
COLUMNS = (
    *("at", "phase", "op_id", "job", "kind", "actor", "token", "address", "door", "host"),
    *("machine_id", "volume", "volume_label", "vg", "verb", "args", "commands", "result"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With one of these in front, a spreadsheet would run a cell."""


class BadSince(ValueError):
    """`since` is no time."""


@dataclass(frozen=True, slots=True)
class AuditedOperation:
    """One operation: its intent and, once it is over, its outcome."""

    intent: AuditEntry
    outcome: AuditEntry | None


def filtered(rows: AuditQuerySet, query: Mapping[str, str]) -> AuditQuerySet:
    """The entries that match the filters of a request; raises `BadSince`."""
    words = {name: query.get(name, "").strip() for name in WORDS}
    return rows.about(**words, since=moment(query.get("since", "").strip()))


def moment(text: str) -> datetime | None:
    """A day or an RFC 3339 time, UTC where it names no zone; None for "". Raises `BadSince`."""
    if not text:
        return None
    try:
        day = parse_date(text)
        at = datetime(day.year, day.month, day.day) if day is not None else parse_datetime(text)
    except ValueError:
        at = None
    if at is None:
        raise BadSince(
            f"{text:.40} is not a date or time: enter a value like 2026-11-21 or 2026-11-21T08:00Z."
        )
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


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
        "door": entry.door,
        "host": entry.host,
        "machine_id": entry.machine_id,
        "volume": entry.volume_key,
        "volume_label": entry.volume_label,
        "vg": entry.vg,
        "verb": entry.verb,
        "args": entry.args,
        "commands": [{"argv": each["argv"], "rc": each.get("rc")} for each in entry.commands],
        "result": entry.result,
    }


def csv_lines(rows: Iterable[AuditEntry]) -> Iterator[str]:
    """A header and a line for each entry; commands as a shell would be given them, with their
    exit codes."""
    writer = csv.writer(_Line())
    yield writer.writerow(COLUMNS)
    for row in rows:
        cells = entry_json(row)
        cells["at"] = row.at.isoformat()
        cells["args"] = json.dumps(row.args, sort_keys=True)
        cells["commands"] = "\n".join(
            f"{shlex.join(each['argv'])} [{each['rc']}]" for each in cells["commands"]
        )
        cells["result"] = json.dumps(row.result, sort_keys=True) if row.result else ""
        yield writer.writerow([_cell(cells[name]) for name in COLUMNS])


def json_lines(rows: Iterable[AuditEntry]) -> Iterator[str]:
    """One JSON array of entries, a line each."""
    start = "["
    for row in rows:
        entry = entry_json(row) | {"at": row.at.isoformat()}
        yield f"{start}\n{json.dumps(entry)}"
        start = ","
    yield "[]\n" if start == "[" else "\n]\n"


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


class _Line:
    """What a CSV writer writes to when its line is wanted back."""

    def write(self, text: str) -> str:
        return text
