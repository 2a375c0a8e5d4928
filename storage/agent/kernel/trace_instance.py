"""An instance of ftrace: a ring buffer with a filter of its own, which disturbs no other trace."""

# Plain os calls, as in realhost.py: the buffers of all processors are read every 2 s.
# ruff: noqa: PTH102, PTH106, PTH112, PTH123, PTH208

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .local_host import CommandResult, MissingTool, TimedOut
from .trace_pages import TracedIo, event_format, events_of, page_format

ROOT = "/sys/kernel/tracing"
NAME = "tiercel-heat"
EVENT = "events/block/block_bio_queue"
MOUNT = ("mount", "-t", "tracefs", "tracefs", ROOT)
# All processors together, and the least that one needs.
BUFFER_KIB, LEAST_KIB = 2048, 64
REMOVAL_TRIES = 20


class NoTracing(OSError):
    """This kernel does not let itself be traced; the words say why."""


class Mounter(Protocol):
    """The part of a `LocalHost` that mounts tracefs."""

    def run(self, argv: Sequence[str], *, timeout: float | None = 10.0) -> CommandResult: ...


@dataclass(frozen=True)
class Reading:
    """What the ring buffer held: the I/Os in the order of time, how many were lost, and how full
    the fullest buffer of a processor was (0 to 1)."""

    ios: list[TracedIo]
    lost: int
    fill: float


class TraceInstance:
    """`root` is where tracefs is mounted."""

    def __init__(self, host: Mounter, root: str = ROOT) -> None:
        self._host = host
        self._root = root
        self._folder = f"{root}/instances/{NAME}"
        self._pipes: list[tuple[int, int]] = []
        self._overruns: dict[int, int] = {}
        self._filter = ""

    def start(self) -> None:
        """Make the instance, without any left from a process that was killed. Its event is off
        until there is a filter. Raises NoTracing."""
        self._mount()
        self.stop()
        try:
            self._page = page_format(_text(f"{self._root}/events/header_page"))
            self._event = event_format(_text(f"{self._root}/{EVENT}/format"))
            os.mkdir(self._folder)
            cpus = sorted(int(name[3:]) for name in os.listdir(f"{self._folder}/per_cpu"))
            self._buffer_kib = max(LEAST_KIB, BUFFER_KIB // len(cpus))
            _write(f"{self._folder}/buffer_size_kb", str(self._buffer_kib))
            # The time of Python's monotonic clock, and the same on all processors.
            _write(f"{self._folder}/trace_clock", "mono")
            for cpu in cpus:
                path = f"{self._folder}/per_cpu/cpu{cpu}/trace_pipe_raw"
                self._pipes.append((cpu, os.open(path, os.O_RDONLY | os.O_NONBLOCK)))
        except (OSError, ValueError) as error:
            self.stop()
            raise NoTracing(f"{error}.") from None

    def _mount(self) -> None:
        if sys.byteorder != "little":
            raise NoTracing("The processor has its bytes in another order.")
        if os.path.isdir(f"{self._root}/instances"):
            return
        try:
            result = self._host.run(MOUNT)
        except (MissingTool, TimedOut) as error:
            raise NoTracing(f"tracefs cannot be mounted: {error}.") from None
        if result.rc or not os.path.isdir(f"{self._root}/instances"):
            raise NoTracing(f"The kernel has no tracefs: {result.stderr.strip()[:200]}.")

    def set_filter(self, text: str) -> None:
        """Let through what the filter says, from now on. Raises NoTracing."""
        if text == self._filter:
            return
        try:
            _write(f"{self._folder}/{EVENT}/filter", text)
            if not self._filter:
                _write(f"{self._folder}/{EVENT}/enable", "1")
        except OSError as error:
            raise NoTracing(f"The kernel does not take the filter: {error}.") from None
        self._filter = text

    def read(self) -> Reading:
        """What has come since the last reading, at most one ring buffer full, so that it ends.
        Raises NoTracing."""
        ios: list[TracedIo] = []
        lost, most = 0, 0
        size_bytes = self._page.size_bytes
        pages_limit = max(1, self._buffer_kib * 1024 // size_bytes)
        try:
            for cpu, pipe in self._pipes:
                pages, missed = 0, False
                while pages < pages_limit:
                    try:
                        page = os.read(pipe, size_bytes)
                    except OSError as error:
                        # Nothing there, or the processor was switched off.
                        if error.errno in (errno.EAGAIN, errno.ENODEV):
                            break
                        raise
                    if not page:
                        break
                    pages += 1
                    missed = events_of(page, self._page, self._event, ios) or missed
                most = max(most, pages)
                lost += self._lost(cpu) if missed else 0
        except (OSError, ValueError) as error:
            raise NoTracing(f"The ring buffer cannot be read: {error}.") from None
        ios.sort()
        return Reading(ios, lost, most / pages_limit)

    def _lost(self, cpu: int) -> int:
        """Since it was last asked. A page has no room for the number where it is full."""
        now = 0
        for line in _text(f"{self._folder}/per_cpu/cpu{cpu}/stats").splitlines():
            name, _, value = line.partition(": ")
            if name in ("overrun", "commit overrun", "dropped events") and value.isdecimal():
                now += int(value)
        lost = now - self._overruns.get(cpu, 0)
        self._overruns[cpu] = now
        return max(1, lost)

    def stop(self) -> bool:
        """Remove the instance and all that it holds in the kernel; whether there was one. Raises
        NoTracing where it stays."""
        for _, pipe in self._pipes:
            os.close(pipe)
        self._pipes, self._overruns, self._filter = [], {}, ""
        for n in range(REMOVAL_TRIES):
            try:
                os.rmdir(self._folder)
                return True
            except FileNotFoundError:
                return False
            except OSError as error:
                # Someone looks into it, as `cat trace` does.
                if n == REMOVAL_TRIES - 1:
                    raise NoTracing(f"{self._folder} cannot be removed: {error}.") from None
                time.sleep(0.1)
        return False

    def now_ns(self) -> int:
        """The clock of the events."""
        return time.monotonic_ns()

    def cpu_seconds(self) -> float:
        """What this process has taken of the processors."""
        return time.process_time()


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    """In one write: the kernel takes the whole of a filter at once."""
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
