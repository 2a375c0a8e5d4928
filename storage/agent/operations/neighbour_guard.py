"""Keeps a benchmark from hurting the other volumes on its disks: their p95 is measured before any
load, and where it rises above what root allows, fio stands still until it has fallen again. Those
that begin later are measured in a pause of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ..kernel.diskstats import diskstats
from ..kernel.dm import text
from ..kernel.local_host import Beat, LocalHost
from .pace import CLASSES, ENOUGH, Histograms, percentile_ns

LOOK_SECONDS = 5.0
# How long fewer I/Os than a p95 needs are added up; then they are few enough not to count.
WINDOW_SECONDS = 30.0
BEAT_SECONDS = 0.25
BASELINE_SECONDS = 15.0
MOST_PAUSE_SECONDS = 1800.0


def p95s(flow: Histograms) -> dict[str, float]:
    """By the disks they lie on, of those volumes that did enough I/O."""
    return {name: percentile_ns(counts) for name, counts in flow.items() if sum(counts) >= ENOUGH}


class NeighbourGuard:
    """`look` says what the others did since it was asked last, None where that is not counted."""

    def __init__(
        self,
        host: LocalHost,
        look: Callable[[], Histograms | None],
        allowed_percent: Callable[[], int],
        baseline_ns: Mapping[str, float],
    ) -> None:
        self._host = host
        self._look = look
        self._allowed = allowed_percent
        self._baseline_ns = dict(baseline_ns)
        self._begun_ns = self._looked_ns = self._window_ns = host.boottime_ns()
        self._flow: dict[str, list[float]] = {}
        self._paused_ns: int | None = None
        self.pauses_ms: list[list[int]] = []
        look()

    @property
    def has_waited_too_long(self) -> bool:
        """Whether one pause has lasted for half an hour."""
        return self._paused_seconds() > MOST_PAUSE_SECONDS

    def restart(self) -> None:
        """Count the time of pauses from now on."""
        self._begun_ns = self._host.boottime_ns()

    def beat(self) -> Beat:
        """To be asked as often as it says."""
        if self._host.boottime_ns() - self._looked_ns >= LOOK_SECONDS * 1e9:
            self._judge()
        return Beat(self._paused_ns is not None, BEAT_SECONDS)

    def end(self) -> None:
        """Close the pause that lasts."""
        if self._paused_ns is not None:
            self._paused_ns = None
            self.pauses_ms[-1][1] = self._ms()

    def _judge(self) -> None:
        self._looked_ns = self._host.boottime_ns()
        for name, more in (self._look() or {}).items():
            old = self._flow.get(name, [0.0] * CLASSES)
            self._flow[name] = [a + b for a, b in zip(old, more)]
        known = p95s(self._flow)
        if self._paused_ns is not None:
            self._baseline_ns = {**known, **self._baseline_ns}
        most = 1 + self._allowed() / 100
        is_over = any(p95 > most * self._baseline_ns.get(name, 0.0) for name, p95 in known.items())
        is_known = all(name in known for name in self._baseline_ns)
        waited_seconds = (self._looked_ns - self._window_ns) / 1e9
        if not is_over and not is_known and waited_seconds < WINDOW_SECONDS:
            return
        self._flow, self._window_ns = {}, self._looked_ns
        if is_over and self._paused_ns is None:
            self._paused_ns = self._looked_ns
            self.pauses_ms.append([self._ms(), self._ms()])
        elif not is_over:
            self.end()

    def _ms(self) -> int:
        return max(0, self._host.boottime_ns() - self._begun_ns) // 1_000_000

    def _paused_seconds(self) -> float:
        return (
            0.0 if self._paused_ns is None else (self._host.boottime_ns() - self._paused_ns) / 1e9
        )


class NeighbourLoad:
    """What the others do for a while, and how busy their disks are: from the first look on."""

    def __init__(
        self, host: LocalHost, look: Callable[[], Histograms | None], under: frozenset[str]
    ) -> None:
        self._host = host
        self._look = look
        self._under = under
        self._begun_ns = host.boottime_ns()
        self._flow: dict[str, list[float]] = {}
        self._is_blind = look() is None
        self._io_ms, self._stalled_us = self._busy(), self._stalled()

    def add(self) -> None:
        """Take in what they did since the last look."""
        more = self._look()
        self._is_blind = self._is_blind or more is None
        for name, counts in (more or {}).items():
            old = self._flow.get(name, [0.0] * CLASSES)
            self._flow[name] = [a + b for a, b in zip(old, counts)]

    def p95_ns(self) -> dict[str, float]:
        return p95s(self._flow)

    def to_json(self) -> dict[str, Any]:
        """`known` is False where the kernel does not count their I/Os. `busy_percent` are all
        disks below, ours and theirs; `stalled_percent` is the kernel's pressure of I/O."""
        seconds = max(1e-3, (self._host.boottime_ns() - self._begun_ns) / 1e9)
        before, now = self._io_ms, self._busy()
        stalled_us = self._stalled() - self._stalled_us
        return {
            "known": not self._is_blind,
            "seconds": round(seconds, 1),
            "iops": round(sum(map(sum, self._flow.values())) / seconds, 1),
            "p95_us": {name: int(p95 // 1000) for name, p95 in self.p95_ns().items()},
            "busy_percent": {
                name: min(100, round((now[name] - before[name]) / seconds / 10))
                for name in sorted(before.keys() & now.keys())
            },
            "stalled_percent": min(100, round(stalled_us / seconds / 1e4)),
        }

    def _busy(self) -> dict[str, int]:
        rows = diskstats(text(self._host, "/proc/diskstats"), self._under)
        return {name: fields[9] for name, fields in rows.items()}

    def _stalled(self) -> int:
        """µs in which some process waited for I/O."""
        for word in text(self._host, "/proc/pressure/io").split("\n", 1)[0].split():
            name, _, value = word.partition("=")
            if name == "total" and value.isdecimal():
                return int(value)
        return 0
