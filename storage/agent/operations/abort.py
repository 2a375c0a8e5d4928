"""op.abort and op.pace: stop a running operation, or change its speed."""

from __future__ import annotations

from typing import Any

from ..calls.refusals import Refusal
from ..kernel.local_host import LocalHost
from ..verbs.registry import ABORTABLE
from . import journal, ops, pacer


def abort(host: LocalHost, op: str) -> dict[str, Any]:
    """Ask a running operation to stop; its state as far as it is known. The mark is made once and
    seen by the unit within a second: it sends one SIGINT to a command that is watched because it
    takes long, lets any other end, and starts no further one. Asking again changes nothing.
    Raises Refusal(not_found | not_abortable | journal_unwritable)."""
    record = ops.load(host, op)
    verb = record["call"]["verb"]
    if record["state"] == "running":
        if verb not in ABORTABLE:
            raise Refusal(
                "not_abortable",
                f"{verb} cannot be interrupted: the volume would be left between two states.",
                "Wait until the step has finished. You can then undo it with another change.",
            )
        try:
            host.op_mark(op, journal.ABORT)
        except OSError as error:
            raise journal.unwritable(error) from None
    return {"op": op, "state": record["state"]}


def pace(host: LocalHost, op: str, rise_percent: int) -> dict[str, Any]:
    """Let a running operation take more of the time: the p95 of the other volumes may rise by so
    many percent. Asking again changes nothing, and what has ended is left alone. Raises
    Refusal(not_found | journal_unwritable)."""
    record = ops.load(host, op)
    if record["state"] == "running":
        pacer.allow(host, op, rise_percent)
    return {"op": op, "state": record["state"]}
