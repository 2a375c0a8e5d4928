"""What the service may cost a host; above that it stops by itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass

EVENTS_PER_SECOND = 20_000
LOSSY_WINDOWS = 3
WINDOW_SECONDS = 10.0
PAUSE_SECONDS = 3600.0
FINE_EVENTS = 5_000_000


@dataclass(frozen=True)
class CostWindow:
    """What the service did in some seconds."""

    seconds: float
    cpu_seconds: float
    events: int
    lost: int


class Budget:
    """Losses once are a burst, which shorter waits for the ring buffer cure."""

    def __init__(self) -> None:
        self._lossy = 0

    def excess(self, window: CostWindow, cpu_percent: int) -> str:
        """Why the service must stop, in a sentence; "" while it may go on."""
        self._lossy = self._lossy + 1 if window.lost else 0
        if self._lossy >= LOSSY_WINDOWS:
            return "The kernel's ring buffer lost events again and again."
        if window.events > EVENTS_PER_SECOND * window.seconds:
            rate = int(window.events / window.seconds)
            return f"{rate} I/Os a second were observed; the limit is {EVENTS_PER_SECOND}."
        percent = 100 * window.cpu_seconds / window.seconds
        if percent > cpu_percent:
            return f"It took {percent:.1f} % of a core; the limit is {cpu_percent} %."
        return ""
