"""Operations: accepted by a request, run apart from it, looked up by their id.

A record: op, call (verb, args, expect), state (running, done, failed, interrupted), begun,
boot_id, started_ns (wall clock), started_boottime_ns, commands (argv, shell, rc), progress, error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .assess import assess
from .command import Command
from .dm import text
from .errors import Refusal
from .host import Host
from .protocol import Call
from .view import View

# A unit that was only just asked for may not show up in systemd's list yet.
GRACE_NS = 15_000_000_000
LINES_LIMIT = 2000

Record = dict[str, Any]


def boot_id(host: Host) -> str:
    return text(host, "/proc/sys/kernel/random/boot_id")


def accept(host: Host, op: str, call: Call) -> dict[str, str]:
    """Check the request and start it. The same request again answers with the recorded operation;
    another request under the same id is refused (op_conflict)."""
    known = host.op_load(op)
    if known is None:
        remaining = assess(View(host), call)
        record = _record(host, op, call, remaining)
        if host.op_create(op, record):
            if remaining:
                _start(host, op, record)
            return {"op": op}
        known = host.op_load(op) or record
    if known["call"] != _plain(call):
        raise Refusal("op_conflict", f"The operation {op} was another request.", "Use a new id.")
    return {"op": op}


def get(host: Host, op: str, after: int) -> dict[str, Any]:
    """State of an operation and its lines beyond number `after`, the newest LINES_LIMIT of them.
    Raises Refusal(not_found)."""
    record = host.op_load(op)
    if record is None:
        raise Refusal(
            "not_found",
            f"This host knows no operation {op}.",
            "It never started here: read the host's facts and plan anew.",
        )
    record = _judge(host, op, record)
    lines = [
        {"n": number, "text": line}
        for number, line in enumerate(host.op_lines(op), start=1)
        if number > after
    ]
    return {
        "op": op,
        "verb": record["call"]["verb"],
        "state": record["state"],
        "commands": record["commands"],
        "lines": lines[-LINES_LIMIT:],
        "progress": record["progress"],
        "error": record["error"],
    }


def listing(host: Host) -> dict[str, Any]:
    """Every operation this host has a record of, newest first."""
    found = []
    for op in host.op_ids():
        record = host.op_load(op)
        if record is not None:
            record = _judge(host, op, record)
            found.append(
                {
                    "op": op,
                    "verb": record["call"]["verb"],
                    "state": record["state"],
                    "started_ns": record["started_ns"],
                }
            )
    return {"ops": sorted(found, key=lambda each: -int(each["started_ns"]))}


def _plain(call: Call) -> dict[str, Any]:
    """The call as JSON gives it back: tuples are lists."""
    document = call.to_json()
    document["args"] = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in document["args"].items()
    }
    return document


def _record(host: Host, op: str, call: Call, remaining: Sequence[Command]) -> Record:
    return {
        "op": op,
        "call": _plain(call),
        "state": "running" if remaining else "done",
        "begun": False,
        "boot_id": boot_id(host),
        "started_ns": host.wall_ns(),
        "started_boottime_ns": host.boottime_ns(),
        "commands": [{**command.to_json(), "rc": None} for command in remaining],
        "progress": None,
        "error": None,
    }


def _start(host: Host, op: str, record: Record) -> None:
    try:
        host.start_op(op)
    except OSError as error:
        refusal = Refusal(
            "internal",
            f"The operation could not be started: {error}.",
            "The agent needs systemd (systemd-run); repeat with a new id once it works.",
        )
        host.op_save(op, {**record, "state": "failed", "error": refusal.to_json()})
        raise refusal from None


def _judge(host: Host, op: str, record: Record) -> Record:
    """A running operation whose host was restarted, or whose unit is gone without a result, was
    interrupted."""
    if record["state"] != "running":
        return record
    same_boot = record["boot_id"] == boot_id(host)
    if same_boot and host.boottime_ns() - record["started_boottime_ns"] < GRACE_NS:
        return record
    if same_boot and host.op_alive(op):
        return record
    # It may have ended between the two looks.
    record = host.op_load(op) or record
    if record["state"] == "running":
        record = {**record, "state": "interrupted", "error": interrupted().to_json()}
        host.op_save(op, record)
    return record


def interrupted() -> Refusal:
    return Refusal(
        "internal",
        "The operation was interrupted before it ended.",
        "Read the host's facts: whatever is left to do is planned anew.",
    )
