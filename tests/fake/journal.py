"""The fake host's journal of operations: in memory, and full when a test says so."""

from __future__ import annotations

import copy
import errno
import os
import threading
from collections.abc import Sequence
from typing import Any


class Journal:
    """The `op_…` methods of the agent's Host. While `journal_full` nothing can be written."""

    def __init__(self) -> None:
        self.journal_full = False
        self._paper = threading.RLock()
        self._ops: dict[str, dict[str, Any]] = {}
        self._logs: dict[str, list[str]] = {}
        self._marks: set[tuple[str, str]] = set()

    def room(self) -> None:
        """Raises OSError where there is none."""
        if self.journal_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def op_load(self, op: str) -> dict[str, Any] | None:
        with self._paper:
            return copy.deepcopy(self._ops.get(op))

    def op_save(self, op: str, record: dict[str, Any]) -> None:
        self.room()
        with self._paper:
            self._ops[op] = copy.deepcopy(record)

    def op_create(self, op: str, record: dict[str, Any]) -> bool:
        with self._paper:
            if op in self._ops:
                return False
            self.op_save(op, record)
            return True

    def op_mark(self, op: str, mark: str) -> bool:
        self.room()
        with self._paper:
            new = (op, mark) not in self._marks
            self._marks.add((op, mark))
            return new

    def op_marked(self, op: str, mark: str) -> bool:
        return (op, mark) in self._marks

    def op_remove(self, op: str) -> None:
        with self._paper:
            del self._ops[op]
            self._logs.pop(op, None)
            self._marks = {each for each in self._marks if each[0] != op}

    def op_ids(self) -> Sequence[str]:
        return sorted(self._ops)

    def op_log(self, op: str, text: str) -> None:
        self.room()
        with self._paper:
            self._logs.setdefault(op, []).append(text)

    def op_lines(self, op: str) -> Sequence[str]:
        return tuple(self._logs.get(op, ()))
