"""One asyncio loop in one thread for all SSH of a process.

Celery's worker threads call `run`; the collector starts many calls with `start` and takes them as
they end. The loop never touches the database.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_pid = 0


def shared() -> asyncio.AbstractEventLoop:
    """The loop of this process, started at first use (again after a fork)."""
    global _loop, _pid
    with _guard:
        if _loop is None or _pid != os.getpid():
            _loop, _pid = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="ssh-loop", daemon=True).start()
        return _loop


def start(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine on the loop; the future is for another thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, shared())


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and wait for it. Coroutines carry their own deadline."""
    return start(coroutine).result()
