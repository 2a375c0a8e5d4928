"""One thread with one event loop for all fake servers of a process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def loop() -> asyncio.AbstractEventLoop:
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, name="fake-servers", daemon=True).start()
    return made


def run(work: Coroutine[Any, Any, T], timeout_seconds: float = 30.0) -> T:
    """From any other thread: the result of `work`."""
    return asyncio.run_coroutine_threadsafe(work, loop()).result(timeout_seconds)
