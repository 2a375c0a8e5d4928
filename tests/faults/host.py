"""A fake host that can be broken at each of its own points, and remembers all it did.

Points: `accept` (the operation's record is made), `start` (its unit is), `save` (its journal),
`exec` (one command or sysfs write), `reply` (the answer to a request that changes something), each
`.before` and `.after`. Everything the agent does to a machine goes through `Host`, so nothing of
the agent has to know of them.
"""

from __future__ import annotations

import errno
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from storage.agent.kernel.local_host import CommandResult
from storage.agent.operations.ops import TOMBSTONE
from tests.fake.host import FakeHost, Killed, Pause
from tests.faults.armed import PAUSE_SECONDS

GRACE_SECONDS = 20.0
"""After so long the agent no longer takes a unit without a process for one that just starts."""


@dataclass(frozen=True)
class Ran:
    """A command that changes something, by the operation that ran it; times of the real clock."""

    op: str
    argv: tuple[str, ...]
    began: float
    ended: float


@dataclass(frozen=True)
class Accepted:
    """A request that became an operation."""

    op: str
    verb: str
    vg: str
    fence: int | None


class FaultHost(FakeHost):
    """`arm(point, n, mode)` breaks it once; modes kill, raise (the disk is full), pause,
    and cut (every connection to this host)."""

    def __init__(self, seed: str, **variation: Any) -> None:
        super().__init__(seed, **variation)
        self.fired_at: float | None = None
        self.reached: Counter[str] = Counter()
        self.ran: list[Ran] = []
        self.accepted: list[Accepted] = []
        self.starts: Counter[str] = Counter()
        self.requests: list[dict[str, Any]] = []
        self.mutation = ""
        self.cut: Callable[[], None] = lambda: None
        self._armed: tuple[str, int, str] | None = None
        self.deaf_to = ""
        self._halts: list[Pause] = []
        self._lies: list[str] = []
        self._spoils: list[tuple[str, Callable[[bytes], bytes]]] = []
        self.fired = threading.Event()

    def arm(self, point: str, n: int, mode: str) -> None:
        self.reached.clear()
        self._armed = (point, n, mode)

    def pause_step(self) -> Pause:
        """The next command that changes something stops before it begins, until `resume()`."""
        self._halts.append(Pause())
        return self._halts[-1]

    def spoil_next(self, verb: str, spoil: Callable[[bytes], bytes]) -> None:
        """The next reply to `verb` leaves the host as `spoil` makes it."""
        self._spoils.append((verb, spoil))

    def lose_power(self) -> None:
        """Nothing is done any more that systemd does after a unit that was killed."""
        self._cleaned.clear()
        self._put_back.clear()

    def lie_next(self, program: str) -> None:
        """The next run of `program` says that all went well, and does nothing."""
        self._lies.append(program)

    def answer(self, line: bytes) -> bytes:
        request = json.loads(line)
        self.requests.append(request)
        try:
            if request.get("verb") == self.deaf_to:
                return _unknown_verb(request)
            changes = "expect" in request and bool(request["expect"])
            if not changes:
                return self._spoilt(request, super().answer(line))
            self._reach("reply.before")
            reply = super().answer(self._mutated(request, line))
            self._reach("reply.after")
            return self._spoilt(request, reply)
        except Killed:
            self.cut()
            return b""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = 10.0,
        **more: Any,
    ) -> CommandResult:
        if timeout is not None:
            return super().run(argv, timeout=timeout, **more)
        self._reach("exec.before")
        began = time.monotonic()
        if argv[0] in self._lies:
            self._lies.remove(argv[0])
            result = CommandResult(0)
        else:
            result = super().run(argv, timeout=timeout, **more)
        self._note(argv, began)
        self._reach("exec.after")
        return result

    def write(self, path: str, text: str) -> None:
        self._reach("exec.before")
        began = time.monotonic()
        super().write(path, text)
        self._note(("write", path, text), began)
        self._reach("exec.after")

    def start_op(self, op: str) -> None:
        self._reach("start.before")
        self.starts[op] += 1
        super().start_op(op)
        self._reach("start.after")

    def op_create(self, op: str, record: dict[str, Any]) -> bool:
        if record["call"]["verb"] == TOMBSTONE:
            return super().op_create(op, record)
        self._reach("accept.before")
        made = super().op_create(op, record)
        if made:
            request = next(each for each in reversed(self.requests) if each["id"] == op)
            args = request["args"]
            self.accepted.append(Accepted(op, request["verb"], args["vg"], request.get("fence")))
        self._reach("accept.after")
        return made

    def op_save(self, op: str, record: dict[str, Any]) -> None:
        # Making a record saves it too; that has a point of its own.
        if threading.current_thread().name == f"op-{op}":
            self._reach("save.before")
            super().op_save(op, record)
            self._reach("save.after")
        else:
            super().op_save(op, record)

    def _note(self, argv: Sequence[str], began: float) -> None:
        op = threading.current_thread().name.removeprefix("op-")
        self.ran.append(Ran(op, tuple(argv), began, time.monotonic()))

    def _reach(self, point: str) -> None:
        self.reached[point] += 1
        if point == "exec.before" and self._halts:
            self._halts.pop(0).wait()
        if self._armed is None:
            return
        name, n, mode = self._armed
        if name != point or self.reached[point] != n:
            return
        self._armed = None
        self.fired_at = time.time()
        self.fired.set()
        if mode == "cut":
            self.cut()
        elif mode == "pause":
            time.sleep(PAUSE_SECONDS)
        elif mode == "raise":
            raise OSError(errno.ENOSPC, "No space left on device")
        else:
            self.advance(GRACE_SECONDS)
            raise Killed(point)

    def _spoilt(self, request: dict[str, Any], reply: bytes) -> bytes:
        for number, (verb, spoil) in enumerate(self._spoils):
            if verb == request.get("verb", "dry_run"):
                del self._spoils[number]
                self.fired_at = time.time()
                self.fired.set()
                return spoil(reply)
        return reply

    def _mutated(self, request: dict[str, Any], line: bytes) -> bytes:
        """The request as an agent without its fence, or without its memory, would take it."""
        if self.mutation == "fence" and "fence" in request:
            return json.dumps({k: v for k, v in request.items() if k != "fence"}).encode() + b"\n"
        if self.mutation == "dedup":
            with self._guard:
                self._ops.pop(request["id"], None)
        return line


def _unknown_verb(request: dict[str, Any]) -> bytes:
    """What an agent of an older release says."""
    error = {
        "code": "unknown_verb", "message": f"This agent has no verb {request['verb']!r}.",
        "correction": "Upgrade the agent.", "argv": None, "rc": None, "stderr": "",
    }  # fmt: skip
    stamp = {"boot_id": "b", "boottime_ns": 1, "wall_ns": time.time_ns(), "agent": "0.0.1"}
    reply = {"v": 1, "id": request["id"], "ok": False, "error": error, "host": stamp}
    return json.dumps(reply).encode() + b"\n"
