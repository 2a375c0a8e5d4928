"""What a failpoint does in a worker: `name:n:mode` acts when `name` is reached for the n-th time.

Modes: kill (SIGKILL to itself), raise, pause (4 s, longer than a lease), drop (PostgreSQL ends this
worker's connection, as when the server is restarted), stop (SIGSTOP to itself), trace (nothing,
but the points are counted).
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg
from django.db import connection

PAUSE_SECONDS = 4.0


class Injected(Exception):
    """An unexpected exception."""


@dataclass
class Armed:
    """A hook for `jobs.failpoints`; `tell` is called just before it acts."""

    name: str
    n: int
    mode: str
    tell: Callable[[], None]
    reached: Counter[str] = field(default_factory=Counter)

    @classmethod
    def parse(cls, text: str, tell: Callable[[], None]) -> Armed:
        name, n, mode = text.split(":")
        return cls(name, int(n), mode, tell)

    def __call__(self, name: str) -> None:
        self.reached[name] += 1
        if name == self.name and self.reached[name] == self.n:
            self.tell()
            MODES[self.mode]()


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _raise() -> None:
    raise Injected("injected by the fault suite")


def _pause() -> None:
    time.sleep(PAUSE_SECONDS)


def _drop() -> None:
    """End the session of this worker from beside it, and wait until it is gone."""
    settings = connection.get_connection_params()
    settings.pop("cursor_factory", None)
    settings.pop("context", None)
    settings.pop("prepare_threshold", None)
    assert connection.connection is not None
    pid = connection.connection.info.backend_pid
    with psycopg.connect(**settings, autocommit=True) as beside:
        beside.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def _trace() -> None:
    pass


MODES: dict[str, Callable[[], None]] = {
    "kill": _kill,
    "raise": _raise,
    "pause": _pause,
    "drop": _drop,
    "stop": _stop,
    "trace": _trace,
}
