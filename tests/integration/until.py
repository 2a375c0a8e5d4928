"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.1


def until(what: str | Callable[[], str], look: Callable[[], T | None], seconds: float = 60.0) -> T:
    """The first true answer of `look`; AssertionError with the last one when time is over."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            said = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {seconds:.0f} s: {said} (last: {found!r})")
        time.sleep(POLL_SECONDS)
