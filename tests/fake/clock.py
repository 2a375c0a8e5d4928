"""The fake host's clock: it moves when something sleeps, or with real time."""

from __future__ import annotations

import time

BOOTED_NS = 86_400_000_000_000


class Clock:
    """`real` keeps real time (the demo). Otherwise only `sleep` and `advance` move what counts
    since the boot, so that a test that waits an hour takes a moment. The wall clock is right, as a
    panel's database sees it, until a test moves it by `advance` or `step`. What sleeps in real time
    wakes `haste` times as soon, and all the time it asked for has passed since the boot."""

    def __init__(self, *, real: bool, haste: float = 1.0) -> None:
        self.real = real
        self._haste = haste
        self._began = time.monotonic_ns()
        self._moved_ns = 0
        self._booted_ns = 0
        self._off_ns = 0

    def boottime_ns(self) -> int:
        passed = time.monotonic_ns() - self._began if self.real else 0
        return BOOTED_NS + self._moved_ns + passed - self._booted_ns

    def wall_ns(self) -> int:
        return time.time_ns() + self._off_ns

    def advance(self, seconds: float) -> None:
        self._moved_ns += int(seconds * 1e9)
        self._off_ns += int(seconds * 1e9)

    def restart(self, up_seconds: float) -> None:
        """The host was booted so long ago."""
        self._booted_ns += self.boottime_ns() - int(up_seconds * 1e9)

    def step(self, seconds: float) -> None:
        """Set the wall clock; the boot clock is unaffected."""
        self._off_ns += int(seconds * 1e9)

    def sleep(self, seconds: float) -> None:
        if self.real:
            slept = seconds / self._haste
            time.sleep(slept)
            self._moved_ns += int((seconds - slept) * 1e9)
        else:
            self._moved_ns += int(seconds * 1e9)
            # Let another thread look between two polls.
            time.sleep(0.0005)
