"""A Celery application with a task that does nothing, as the documentation of Celery begins one:
what each message costs before a panel does anything with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery

BROKER = "BARE_BROKER"
COUNT = 1000
PATIENCE_SECONDS = 120.0

app = Celery("bare", broker=os.environ.get(BROKER, "memory://"), set_as_current=False)


@app.task(ignore_result=True)  # type: ignore[untyped-decorator]
def noop() -> None:
    """Do nothing."""


@contextmanager
def worker(broker_url: str, slots: int) -> Iterator[int]:
    """A worker with Celery's own settings but for its pool, which is that of the panel; its pid."""
    app.conf.broker_url = broker_url
    process = subprocess.Popen(
        [
            sys.executable, "-m", "celery", "--quiet", "--app", __name__, "worker", "--pool",
            "threads", "--concurrency", str(slots),
        ],
        env={**os.environ, BROKER: broker_url},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def done() -> int:
    """How many tasks the worker has begun; -1 while it does not answer."""
    stats: dict[str, Any] = app.control.inspect(timeout=1.0).stats() or {}
    return next((each["total"].get(noop.name, 0) for each in stats.values()), -1)
