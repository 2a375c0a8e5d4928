"""A Host that answers what a real host answered: tests/data/agent/*.json, recorded in the lab.

Anything that was not asked there fails the test, so a new question needs a new recording.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from storage.agent.kernel.local_host import CommandResult, MissingTool, Reader

DATA = Path(__file__).parents[3] / "data" / "agent"


class ReplayHost:
    def __init__(self, name: str) -> None:
        self.recorded: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text())
        self.ran: list[list[str]] = []
        self.ops: dict[str, dict[str, Any]] = {}
        self.logs: dict[str, list[str]] = {}
        self.marks: set[tuple[str, str]] = set()
        self.started: list[str] = []
        self.now_ns = 1_000_000_000

    def allow(self, *vgs: str) -> ReplayHost:
        self.recorded["read"]["/etc/tiercel/agent.json"] = json.dumps({"vgs": list(vgs)})
        return self

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = 10.0,
        tick: Callable[[], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> CommandResult:
        self.ran.append(list(argv))
        found = self.recorded["run"][json.dumps(list(argv))]
        if found is None:
            raise MissingTool(argv[0])
        return CommandResult(**found)

    def stuck(self) -> Reader | None:
        return None

    def has_tool(self, name: str) -> bool:
        return bool(self.recorded["has_tool"][name])

    def read(self, path: str) -> bytes | None:
        found = self.recorded["read"].get(path)
        return None if found is None else found.encode()

    def list(self, path: str) -> Sequence[str]:
        found: Sequence[str] = self.recorded["list"].get(path, [])
        return found

    def link(self, path: str) -> str | None:
        found: str | None = self.recorded["link"].get(path)
        return found

    def real(self, path: str) -> str | None:
        found: str | None = self.recorded["real"].get(path)
        return found

    def exists(self, path: str) -> bool:
        return bool(self.recorded["exists"].get(path))

    def rdev(self, path: str) -> str | None:
        found: str | None = self.recorded["rdev"].get(path)
        return found

    def exclusive(self, path: str) -> bool:
        return True

    def qmp(self, path: str, commands: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        raise AssertionError(f"said {commands!r} to {path}")

    def dm_message(self, name: str, message: str) -> str:
        """What the agent did not send yet when the host was recorded finds no dm-stats."""
        recorded: dict[str, str] = self.recorded["dm_message"]
        if f"{name} {message}" not in recorded:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return recorded[f"{name} {message}"]

    def boottime_ns(self) -> int:
        return self.now_ns

    def wall_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)

    def hostname(self) -> str:
        return str(self.recorded["hostname"])

    def lock(self, vg: str, timeout: float) -> AbstractContextManager[None]:
        return nullcontext()

    def start_op(self, op: str) -> None:
        self.started.append(op)

    def op_alive(self, op: str) -> bool:
        return op in self.started

    def stopping(self) -> bool:
        return False

    def write(self, path: str, text: str) -> None:
        raise AssertionError(f"wrote {text!r} to {path}")

    def remove(self, path: str) -> None:
        self.recorded["read"].pop(path, None)

    def save(self, path: str, data: bytes) -> None:
        self.recorded["read"][path] = data.decode()

    def op_load(self, op: str) -> dict[str, Any] | None:
        return self.ops.get(op)

    def op_save(self, op: str, record: dict[str, Any]) -> None:
        self.ops[op] = json.loads(json.dumps(record))

    def op_create(self, op: str, record: dict[str, Any]) -> bool:
        if op in self.ops:
            return False
        self.op_save(op, record)
        return True

    def op_mark(self, op: str, mark: str) -> bool:
        new = (op, mark) not in self.marks
        self.marks.add((op, mark))
        return new

    def op_marked(self, op: str, mark: str) -> bool:
        return (op, mark) in self.marks

    def op_remove(self, op: str) -> None:
        del self.ops[op]

    def op_ids(self) -> Sequence[str]:
        return sorted(self.ops)

    def op_log(self, op: str, text: str) -> None:
        self.logs.setdefault(op, []).append(text)

    def op_lines(self, op: str) -> Sequence[str]:
        return self.logs.get(op, [])
