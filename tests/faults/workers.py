"""The fault suite's side of `tests.faults.worker`: start a worker, wait for it, stop it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from panel.operations.local_services import CHECKOUT
from tests.integration.until import until

START_SECONDS = 60.0
LEASE_SECONDS = "3"


@dataclass
class Worker:
    """One worker process. `fired` is the wall-clock time (s) at which its failpoint acted."""

    token: str
    pid: int = 0
    fired: float | None = None
    status: int | None = None
    reached: dict[str, int] = field(default_factory=dict)
    started: threading.Event = field(default_factory=threading.Event)
    acted: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> bool:
        return self.ended.wait(seconds)

    def signal(self, number: signal.Signals) -> None:
        """To a process that this suite started and that has not ended."""
        assert self.started.wait(START_SECONDS)
        if not self.ended.is_set():
            os.kill(self.pid, number)

    def go_on(self) -> None:
        """Wake one that stops itself. It says so just before: a SIGCONT that comes in between would
        be lost, and the worker would lie still for ever."""
        until("the worker has stopped", lambda: self.ended.is_set() or is_stopped(self.pid))
        self.signal(signal.SIGCONT)

    def hear(self, event: Mapping[str, Any]) -> None:
        if "pid" in event:
            self.pid = event["pid"]
            self.started.set()
        if "fired" in event:
            self.fired = event["fired"]
            self.acted.set()
        if "reached" in event:
            self.reached = event["reached"]
        if "status" in event:
            self.status = event["status"]
            self.ended.set()


def is_stopped(pid: int) -> bool:
    """Whether proc_pid_stat(5) says T."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


class Workers:
    """A context manager: a process that forks workers on demand, ended with all of them."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._environment = {**environment, "TIERCEL_LEASE_SECONDS": LEASE_SECONDS}
        self._log = log
        self._known: dict[str, Worker] = {}
        self._numbers = itertools.count(1)
        self._guard = threading.Lock()

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "tests.faults.worker"],
                cwd=CHECKOUT,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        threading.Thread(target=self._listen, name="workers", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def start(
        self, jobs: Sequence[int], *, arm: str = "", mutation: str = "", seconds: float = 60.0
    ) -> Worker:
        """A worker for these jobs; `arm` is a failpoint as in `armed`."""
        with self._guard:
            worker = Worker(f"w{next(self._numbers)}")
            self._known[worker.token] = worker
            order = {
                "token": worker.token, "jobs": list(jobs), "arm": arm, "mutation": mutation,
                "seconds": seconds,
            }  # fmt: skip
            assert self._process.stdin is not None
            assert self._process.poll() is None, f"no more workers: see {self._log}"
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        return worker

    def kill(self) -> None:
        """All that still run."""
        for worker in list(self._known.values()):
            if worker.started.is_set():
                worker.signal(signal.SIGKILL)
                worker.wait(5)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            self._known[event["token"]].hear(event)
        # The others are not announced any more.
        for worker in list(self._known.values()):
            worker.started.set()
            worker.ended.set()
