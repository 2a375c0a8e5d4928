"""Progress a person can follow: one line when a stage starts, its time when it is done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STARTED = time.monotonic()


@contextmanager
def stage(title: str) -> Iterator[None]:
    """Print the title now and the stage's seconds at its end; a failure names the stage."""
    print(f"[{time.monotonic() - STARTED:4.0f} s] {title} …", flush=True)
    begun = time.monotonic()
    try:
        yield
    except BaseException:
        print(f"[{time.monotonic() - STARTED:4.0f} s] {title}: did not work", flush=True)
        raise
    print(
        f"[{time.monotonic() - STARTED:4.0f} s] {title}: done in {time.monotonic() - begun:.1f} s",
        flush=True,
    )
