"""The journal of operations: the entry of a running operation, on disk before and after each
command; marks that are written once; how long records are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..calls.refusals import Refusal
from ..commands.command import Command
from ..kernel.dm import text
from ..kernel.local_host import LocalHost
from .ops import Record, planned
from .waits import WorkProgress

# Marks beside a record. Whoever makes the first may run the operation, or declare it dead.
BEGUN = "begun"
ABORT = "abort"
# It puts the kernel's throttle of mirrors down and up; whoever finds it dead puts it up again.
THROTTLED = "throttled"

KEEP_NS = 30 * 24 * 3600 * 1_000_000_000
KEEP_LEAST = 200


def unwritable(error: OSError) -> Refusal:
    """The refusal for a journal that takes no entry: what is not written down is not run."""
    return Refusal(
        "journal_unwritable",
        f"The agent's journal cannot be written: {error.strerror or error}.",
        "Make room on the file system of /var/lib/tiercel on the host (df -h, df -i), or mount it "
        "writable; then try again.",
    )


def prune(host: LocalHost) -> None:
    """Remove records that ended over 30 days ago, but keep the newest 200, and what began in this
    boot by the clock that nobody sets: an id that is forgotten could run again. Raises OSError."""
    ops = host.op_ids()
    if len(ops) <= KEEP_LEAST:
        return
    before_ns = host.wall_ns() - KEEP_NS
    boot = text(host, "/proc/sys/kernel/random/boot_id")
    since_ns = host.boottime_ns() - KEEP_NS
    old = []
    for op in ops:
        record = host.op_load(op)
        if record is not None and record["state"] != "running":
            ended_ns = record.get("ended_ns") or record["started_ns"]
            here = record["boot_id"] == boot and record["started_boottime_ns"] > since_ns
            if ended_ns < before_ns and not here:
                old.append((ended_ns, op))
    for _, op in sorted(old)[: len(ops) - KEEP_LEAST]:
        host.op_remove(op)


SAVE_NS = 2_000_000_000
# op.get gives 2000 lines at most: they must fit into one reply.
LINE_LIMIT = 300


class JournalEntry:
    """Nothing is run that is not written down: `begin` refuses where the journal takes no entry.
    Output and progress are only for people: what cannot be kept of them is lost."""

    def __init__(self, host: LocalHost, op: str, record: Record) -> None:
        self._host = host
        self._op = op
        self._record = record
        self._saved_ns = 0

    def plan(self, commands: Sequence[Command]) -> None:
        self._record["commands"] = [planned(command) for command in commands]

    def replan(self, number: int, commands: Sequence[Command]) -> None:
        """From `number` on these commands follow; on disk with the next one that begins."""
        self._record["commands"][number:] = [planned(command) for command in commands[number:]]

    def begin(self, number: int) -> None:
        """The command runs next. Raises Refusal(journal_unwritable)."""
        self._record["commands"][number]["started_ns"] = self._host.wall_ns()
        self.save()

    def end(self, number: int, rc: int | None) -> None:
        """The command ended. Raises Refusal(journal_unwritable)."""
        self._record["commands"][number].update(rc=rc, ended_ns=self._host.wall_ns())
        self.save()

    def close(self, state: str, error: Refusal | None) -> None:
        """Raises Refusal(journal_unwritable): the entry then stays as it was, and counts as
        interrupted once the unit is gone."""
        document = None if error is None else error.to_json()
        self.save(state=state, error=document, ended_ns=self._host.wall_ns())

    def save(self, **changes: Any) -> None:
        self._record.update(changes)
        try:
            self._host.op_save(self._op, self._record)
        except OSError as error:
            raise unwritable(error) from None
        self._saved_ns = self._host.boottime_ns()

    def show(self, progress: WorkProgress, force: bool = False) -> None:
        if progress.total_bytes or progress.label != "flushed":
            self._record["progress"] = progress.to_json()
        if force or self._host.boottime_ns() - self._saved_ns >= SAVE_NS:
            try:
                self.save()
            except Refusal as refusal:
                self.say(refusal.message)

    def say(self, line: str) -> None:
        try:
            self._host.op_log(self._op, line[:LINE_LIMIT])
        except OSError:
            self._record["lost_lines"] = self._record.get("lost_lines", 0) + 1
