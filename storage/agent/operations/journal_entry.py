"""The journal entry of a running operation, on disk before and after each command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..calls.refusals import Refusal
from ..commands.command import Command
from ..kernel.local_host import LocalHost
from . import journal
from .ops import Record, planned
from .waits import WorkProgress

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
            raise journal.unwritable(error) from None
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
