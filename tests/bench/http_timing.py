"""A web server of the Procfile asked over HTTP, and what answers cost: times, and the CPU of
processes."""

from __future__ import annotations

import http.client
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.lab.vm import free_port

TICKS: Final = os.sysconf("SC_CLK_TCK")
BREAKS: Final = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)


class WebServer:
    """gunicorn as the Procfile runs it, on a port of its own, asked with those headers on a
    connection that is kept. `panel` is a `tests.integration.running.Running`; `name` begins with
    `web`, `settings` are more of its environment. It is up once `ready` is answered. A context
    manager."""

    def __init__(
        self,
        panel: Any,
        headers: Mapping[str, str],
        *,
        name: str = "web",
        ready: str = "/health",
        **settings: str,
    ) -> None:
        self.name, self.port, self.process = name, free_port(), 0
        self._panel, self._ready, self._settings = panel, ready, settings
        self._headers = {"Host": f"localhost:{self.port}", **headers}
        self._http: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        from tests.integration.until import until

        self.process = self._panel.start(self.name, **self._settings, PORT=str(self.port))

        def answers() -> bool:
            try:
                return bool(self.ask(self._ready))
            except (OSError, http.client.HTTPException, RuntimeError):
                self._http = None
                return False

        until(f"{self.name} answers", answers, 60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._http is not None:
            self._http.close()
            self._http = None
        self._panel.stop(self.name)

    def ask(self, path: str, headers: Mapping[str, str] | None = None) -> bytes:
        """One request, with more headers; raises RuntimeError for an answer other than good."""
        if self._http is None:
            self._http = http.client.HTTPConnection("localhost", self.port, timeout=120)
        said = {**self._headers, **(headers or {})}
        try:
            self._http.request("GET", path, headers=said)
            answer = self._http.getresponse()
        except BREAKS:
            # gunicorn closes a connection that rests for two seconds.
            self._http.close()
            self._http.request("GET", path, headers=said)
            answer = self._http.getresponse()
        text = answer.read()
        if answer.status != 200:
            log = self._panel.log(self.name).read_text(errors="replace")
            raise RuntimeError(f"{path}: {answer.status}\n{text[:2000]!r}\n{log[-2000:]}")
        return text


def timed(times: int, work: Callable[[int], object]) -> dict[str, float]:
    """Milliseconds, after some turns that find everything warm."""
    for n in range(3):
        work(n)
    spent = []
    for n in range(times):
        began = time.perf_counter()
        work(n)
        spent.append((time.perf_counter() - began) * 1000)
    return percentiles(spent)


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    """p50 and p95."""
    return {
        "p50_ms": round(statistics.median(milliseconds), 2),
        "p95_ms": round(statistics.quantiles(milliseconds, n=20, method="inclusive")[18], 2),
    }


def say(what: str, began: float) -> None:
    print(f"{what} ({time.monotonic() - began:.0f} s)", flush=True)


def cpu_seconds(process: int) -> float:
    """Of a process with its threads."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def tree_cpu_seconds(process: int) -> float:
    """The same with its children, those that have ended too.

    A child that ends while the tree is read is counted by its parent then: the tree is read anew.
    RuntimeError where that happens ten times in a row.
    """
    for _ in range(10):
        try:
            return _tree_cpu_seconds(process)
        except (FileNotFoundError, ProcessLookupError):
            if not Path(f"/proc/{process}").exists():
                raise
    raise RuntimeError(f"the children of process {process} end faster than they are read")


def _tree_cpu_seconds(process: int) -> float:
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ended = (int(words[13]) + int(words[14])) / TICKS
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return ended + cpu_seconds(process) + sum(_tree_cpu_seconds(int(child)) for child in children)
