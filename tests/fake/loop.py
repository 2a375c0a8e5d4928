"""One thread with one event loop for all fake servers of a process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_guard = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def loop() -> asyncio.AbstractEventLoop:
    """The same one for every thread, whichever comes first: a server that one loop serves and
    another one closes now and then fails in asyncio's own bookkeeping."""
    with _guard:
        if not _loops:
            _loops.append(asyncio.new_event_loop())
            threading.Thread(target=_loops[0].run_forever, name="fake-servers", daemon=True).start()
        return _loops[0]


def run(work: Coroutine[Any, Any, T], timeout_seconds: float = 30.0) -> T:
    """From any other thread: the result of `work`."""
    return asyncio.run_coroutine_threadsafe(work, loop()).result(timeout_seconds)
