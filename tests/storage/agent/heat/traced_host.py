"""A fake host whose guests' I/Os a scripted ring buffer holds, and the service that reads it."""

from __future__ import annotations

from dataclasses import dataclass, field

from storage.agent.heat.service import HeatService
from storage.agent.heat.trace_filter import CHUNK_SECTORS, SHARE
from storage.agent.kernel.trace_instance import NoTracing, Reading
from storage.agent.kernel.trace_pages import TracedIo
from tests.fake import FakeHost

RESIDUE = 38


@dataclass
class ScriptedTracer:
    """A trace instance. `waiting` is what the next reading gives; `refuses` is why the kernel does
    not let itself be traced."""

    host: FakeHost
    waiting: list[TracedIo] = field(default_factory=list)
    lost: int = 0
    fill: float = 0.0
    cpu: float = 0.0
    refuses: str = ""
    filters: list[str] = field(default_factory=list)
    is_there: bool = False

    def start(self) -> None:
        if self.refuses:
            raise NoTracing(self.refuses)
        self.is_there = True

    def set_filter(self, text: str) -> None:
        if not self.filters or self.filters[-1] != text:
            self.filters.append(text)

    def read(self) -> Reading:
        if self.refuses:
            raise NoTracing(self.refuses)
        reading = Reading(sorted(self.waiting), self.lost, self.fill)
        self.waiting, self.lost = [], 0
        return reading

    def stop(self) -> bool:
        self.is_there, was_there = False, self.is_there
        return was_there

    def now_ns(self) -> int:
        return self.host.boottime_ns()

    def cpu_seconds(self) -> float:
        return self.cpu


class TracedHost:
    """Volumes of vg0, whose I/Os `read` does."""

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        # What is counted ends with each hour of the wall clock: a test begins with a whole one.
        host.clock.step(3601 - host.wall_ns() / 1e9 % 3600)
        self.tracer = ScriptedTracer(host)
        self.service = HeatService(host, self.tracer, lambda below: RESIDUE - 1)

    def number(self, path: str) -> int:
        """Of the device's events; a name alone is one of vg0."""
        found = self.host.rdev(path if "/" in path else f"/dev/vg0/{path}")
        major, minor = found.split(":")  # type: ignore[union-attr]
        return int(major) << 20 | int(minor)

    def read(self, name: str, chunks: list[int], *, unseen: int = 0) -> None:
        """Reads of 4 KiB in observed chunks, and so many of others."""
        with self.host.changing() as machine:
            lv = next(lv for lv in machine.lvs() if lv.name == name)
            count = len(chunks) + unseen
            lv.counters.read(count, count * 8, 5.0)
        for chunk in chunks:
            sector = (chunk * SHARE + RESIDUE) * CHUNK_SECTORS
            self.tracer.waiting.append(
                (self.host.boottime_ns(), self.number(name), sector, 8, b"RS")
            )

    def run(self, seconds: float) -> bool:
        """The service for so long; whether it still runs."""
        end_ns = self.host.boottime_ns() + int(seconds * 1e9)
        while self.host.boottime_ns() < end_ns:
            wait = self.service.step()
            if wait is None:
                return False
            # Of a long time without I/Os a few looks are enough.
            left_seconds = (end_ns - self.host.boottime_ns()) / 1e9 + 0.001
            self.host.advance(min(max(wait, left_seconds / 50), left_seconds))
        return self.service.step() is not None
