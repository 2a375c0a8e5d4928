"""`agent.pyz heat`: the resident service. It reads the kernel's ring buffer every 2 s or sooner,
and writes the records of each hour.

Whatever it learns is in its memory but for these records. It ends at any moment without harm: the
next start, the unit's ExecStopPost and the boot unit remove what it had in the kernel.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Protocol

from ..kernel.diskstats import diskstats
from ..kernel.dm import text
from ..kernel.local_host import LocalHost, LockBusy
from ..kernel.trace_instance import NoTracing, Reading, TraceInstance
from ..kernel.trace_pages import TracedIo
from ..state import heat_files, hot_map_files
from ..state.heat_files import IDLE, PAUSED, RUNNING, UNAVAILABLE, WantedTrace
from ..state.policy import load_policy
from .budget import FINE_EVENTS, PAUSE_SECONDS, WINDOW_SECONDS, Budget, CostWindow
from .hot_maps import HotMaps
from .observation import Fine, Io, Sampled
from .observed_devices import ObservedDevice, observed_devices
from .trace_filter import SECTOR_BYTES, SHARE, trace_filter

SECOND_NS = 1_000_000_000
HOUR_NS = 3600 * SECOND_NS
DAY_NS = 24 * HOUR_NS
LOOK_SECONDS, STATE_SECONDS = 10.0, 60.0
LONGEST_WAIT, SHORTEST_WAIT = 2.0, 0.05
# Above this a buffer is read twice as often, below a quarter of it less often again.
FULL = 0.25
# A record of less says nothing.
LEAST_SECONDS = 60
SIGNALS = (signal.SIGTERM, signal.SIGINT)
READS, READ_SECTORS, WRITES, WRITTEN_SECTORS = 0, 2, 4, 6


def _random_below(limit: int) -> int:
    return int.from_bytes(os.urandom(8), "big") % limit


class Tracer(Protocol):
    """A `TraceInstance`, or the model of one."""

    def start(self) -> None: ...
    def set_filter(self, text: str) -> None: ...
    def read(self) -> Reading: ...
    def stop(self) -> bool: ...
    def now_ns(self) -> int: ...
    def cpu_seconds(self) -> float: ...


@dataclass
class ObservedVolume:
    """`counters` are those of diskstats when they were last read; None before that."""

    device: ObservedDevice
    sampled: Sampled
    counters: list[int] | None
    begun_wall_ns: int
    begun_ns: int
    lost: int = 0


@dataclass
class FineTrace:
    """One that is running."""

    wanted: WantedTrace
    device: ObservedDevice
    fine: Fine
    begun_wall_ns: int
    begun_ns: int
    lost: int = 0


@dataclass
class Totals:
    """Since the service began, or since a window began."""

    events: int = 0
    lost: int = 0
    since_ns: int = 0
    cpu_seconds: float = 0.0


@dataclass
class Outcome:
    """What was last written of the state."""

    state: str = ""
    message: str = ""
    at_ns: int = field(default=-DAY_NS)


class HeatService:
    """`step` does what is due and returns how many seconds may pass until the next one; None once
    root does not allow it any more. `random` gives a secret number below its argument."""

    def __init__(
        self, host: LocalHost, tracer: Tracer, random: Callable[[int], int] = _random_below
    ) -> None:
        self._host = host
        self._tracer = tracer
        self._random = random
        self._budget = Budget()
        self._volumes: dict[str, ObservedVolume] = {}
        self._trace: FineTrace | None = None
        self._spent_trace: WantedTrace | None = None
        self._maps = HotMaps(host)
        self._is_tracing = False
        self._wait = LONGEST_WAIT
        self._looked_ns = -DAY_NS
        self._paused_until_ns = 0
        self._message = ""
        self._hour = self._host.wall_ns() // HOUR_NS
        self._renew()
        self._totals = Totals()
        self._window = Totals()
        self._said = Outcome()
        self._read_ns = 0

    def _renew(self) -> None:
        """Another choice of chunks, and another secret: both last a day. The first chunk of 64 has
        the superblocks of guests, and is like no other."""
        self._residue = 1 + self._random(SHARE - 1)
        self._salt = self._random(1 << 63)
        self._renewed_ns = self._host.boottime_ns()

    def step(self) -> float | None:
        """Raises OSError where a file cannot be written."""
        now_ns = self._host.boottime_ns()
        if now_ns - self._looked_ns >= LOOK_SECONDS * SECOND_NS:
            self._looked_ns = now_ns
            if not load_policy(self._host).heat:
                self.end()
                heat_files.forget_heat(self._host)
                hot_map_files.forget_others(self._host, ())
                return None
            if now_ns >= self._paused_until_ns:
                self._look()
        if self._is_tracing:
            self._guarded(self._read)
        if self._host.wall_ns() // HOUR_NS != self._hour:
            self._turn_hour()
        self._say()
        return self._wait if self._is_tracing else LOOK_SECONDS

    def end(self) -> None:
        """Write what there is of this hour, and remove the instance. Raises OSError."""
        records = self._close_all()
        self._maps.give_up()
        self._stop_tracing()
        heat_files.add_records(self._host, records)

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except NoTracing as reason:
            self._pause(UNAVAILABLE, f"Heat is not available: {reason}")

    # Which volumes.

    def _look(self) -> None:
        """Follow what the panel wants and what devices there are."""
        policy, wanted = load_policy(self._host), heat_files.load_wanted(self._host)
        devices = observed_devices(self._host, policy, wanted.lv_uuids)
        records: list[Mapping[str, Any]] = []
        for lv_uuid, volume in list(self._volumes.items()):
            device = devices.get(lv_uuid)
            if device is None or device.is_bcache != volume.device.is_bcache:
                # Gone, or its addresses count from another place now.
                records += self._records_of(self._volumes.pop(lv_uuid))
            elif device != volume.device:
                volume.device, volume.counters = device, None
        for lv_uuid, device in devices.items():
            if lv_uuid not in self._volumes:
                self._volumes[lv_uuid] = self._begin(device)
        records += self._follow_trace(wanted.trace, devices)
        heat_files.add_records(self._host, records)
        hot_map_files.forget_others(self._host, wanted.lv_uuids)
        self._maps.follow(devices)
        self._guarded(self._set_filter)

    def _begin(self, device: ObservedDevice) -> ObservedVolume:
        now_ns, wall_ns = self._host.boottime_ns(), self._host.wall_ns()
        sampled = Sampled(self._residue, self._salt, on_bcache=device.is_bcache)
        return ObservedVolume(device, sampled, None, wall_ns, now_ns)

    def _set_filter(self) -> None:
        numbers = [volume.device.number for volume in self._volumes.values()]
        if not numbers:
            self._stop_tracing()
            self._message = "No volume that is at work here is to be observed."
            return
        if not self._is_tracing:
            self._tracer.start()
            self._is_tracing, self._read_ns = True, self._tracer.now_ns()
            self._begin_window()
        whole = self._maps.numbers()
        whole += [] if self._trace is None else [self._trace.device.number]
        try:
            self._tracer.set_filter(trace_filter(self._residue, numbers, whole))
        except ValueError as error:
            raise NoTracing(f"{error}.") from None
        self._message = ""

    # What they do.

    def _read(self) -> None:
        reading = self._tracer.read()
        begun_ns, self._read_ns = self._read_ns, self._tracer.now_ns()
        knames = frozenset(volume.device.kname for volume in self._volumes.values())
        counters = diskstats(text(self._host, "/proc/diskstats"), knames)
        by_number: dict[int, list[TracedIo]] = {}
        for io in reading.ios:
            by_number.setdefault(io[1], []).append(io)
        for lv_uuid, volume in self._volumes.items():
            before, now = volume.counters, counters.get(volume.device.kname)
            volume.counters = None if lv_uuid in self._maps.warming else now
            volume.lost += reading.lost
            passed = _passed(before, now)
            if passed is None:
                # Its first reading, or another device took its place: count from here.
                continue
            ios = by_number.get(volume.device.number, [])
            volume.sampled.add(ios, passed, begun_ns, self._read_ns)
            if self._trace is not None and self._trace.device == volume.device:
                self._trace.fine.add(ios, passed)
                self._trace.lost += reading.lost
        self._maps.add(by_number)
        self._adapt(reading.fill)
        for totals in (self._totals, self._window):
            totals.events += len(reading.ios)
            totals.lost += reading.lost
        self._judge()

    def _adapt(self, fill: float) -> None:
        if fill > FULL:
            self._wait = max(SHORTEST_WAIT, self._wait / 2)
        elif fill < FULL / 4:
            self._wait = min(LONGEST_WAIT, self._wait * 2)

    def _judge(self) -> None:
        """Where the service costs too much, the turn of one volume ends first, then a trace that a
        person asked for and what is counted for caches, then all."""
        now_ns, cpu_seconds = self._host.boottime_ns(), self._tracer.cpu_seconds()
        seconds = (now_ns - self._window.since_ns) / SECOND_NS
        if seconds < WINDOW_SECONDS:
            return
        spent_seconds = cpu_seconds - self._window.cpu_seconds
        window = CostWindow(seconds, spent_seconds, self._window.events, self._window.lost)
        self._totals.cpu_seconds += spent_seconds
        self._begin_window()
        excess = self._budget.excess(window, load_policy(self._host).heat_cpu_percent)
        if excess and self._maps.end_turn():
            self._budget = Budget()
            self._set_filter()
        elif excess and (self._trace is not None or self._maps.numbers()):
            heat_files.add_records(self._host, self._close_trace())
            self._maps.give_up()
            self._budget = Budget()
            self._set_filter()
        elif excess:
            heat_files.add_records(self._host, self._close_all())
            self._pause(PAUSED, excess)

    def _begin_window(self) -> None:
        now_ns = self._host.boottime_ns()
        self._window = Totals(since_ns=now_ns, cpu_seconds=self._tracer.cpu_seconds())

    # Traces of all I/Os.

    def _follow_trace(
        self, wanted: WantedTrace | None, devices: Mapping[str, ObservedDevice]
    ) -> list[Mapping[str, Any]]:
        """Begin or end one; the records of one that ended."""
        records: list[Mapping[str, Any]] = []
        wall_ns = self._host.wall_ns()
        if wanted is not None and (wanted == self._spent_trace or not wanted.is_due(wall_ns)):
            wanted = None
        device = None if wanted is None else devices.get(wanted.lv_uuid)
        running = self._trace
        if running is not None and (
            wanted != running.wanted
            or device != running.device
            or running.fine.events > FINE_EVENTS
        ):
            records = self._close_trace()
        elif running is None and wanted is not None and device is not None:
            fine = Fine(wanted.chunk_bytes, self._salt, on_bcache=device.is_bcache)
            self._trace = FineTrace(wanted, device, fine, wall_ns, self._host.boottime_ns())
        return records

    def _close_trace(self) -> list[Mapping[str, Any]]:
        trace, self._trace = self._trace, None
        if trace is None:
            return []
        self._spent_trace = trace.wanted
        head = self._head(trace.device, trace.begun_wall_ns, trace.begun_ns, trace.lost)
        return [{**head, **part} for part in trace.fine.to_json()]

    # Records.

    def _turn_hour(self) -> None:
        """Records of the hour that is over. After a day other chunks are observed."""
        self._hour = self._host.wall_ns() // HOUR_NS
        is_renewed = self._host.boottime_ns() - self._renewed_ns >= DAY_NS
        if is_renewed:
            self._renew()
        records: list[Mapping[str, Any]] = []
        for lv_uuid, volume in self._volumes.items():
            records += self._records_of(volume)
            if is_renewed:
                self._volumes[lv_uuid] = self._begin(volume.device)
            else:
                volume.sampled.begin()
                volume.begun_wall_ns = self._host.wall_ns()
                volume.begun_ns, volume.lost = self._host.boottime_ns(), 0
        heat_files.add_records(self._host, records)
        if is_renewed and self._is_tracing:
            self._guarded(self._set_filter)

    def _records_of(self, volume: ObservedVolume) -> list[Mapping[str, Any]]:
        head = self._head(volume.device, volume.begun_wall_ns, volume.begun_ns, volume.lost)
        if head["seconds"] < LEAST_SECONDS or not self._is_tracing:
            return []
        return [{**head, **volume.sampled.to_json()}]

    def _head(
        self, device: ObservedDevice, wall_ns: int, begun_ns: int, lost: int
    ) -> dict[str, Any]:
        seconds = round((self._host.boottime_ns() - begun_ns) / SECOND_NS)
        return {
            "lv_uuid": device.lv_uuid,
            "begun_ns": wall_ns,
            "seconds": seconds,
            "lost": lost,
        }

    def _close_all(self) -> list[Mapping[str, Any]]:
        """The records of all that is under observation, which ends."""
        records = self._close_trace()
        for volume in self._volumes.values():
            records += self._records_of(volume)
        self._volumes = {}
        return records

    # The end of it.

    def _pause(self, state: str, message: str) -> None:
        """Observe nothing for an hour, and say why."""
        self._paused_until_ns = self._host.boottime_ns() + int(PAUSE_SECONDS * SECOND_NS)
        self._volumes, self._trace = {}, None
        self._maps.give_up()
        self._budget = Budget()
        self._stop_tracing()
        self._message = message
        self._say(state)

    def _stop_tracing(self) -> None:
        if self._is_tracing:
            self._is_tracing, self._wait = False, LONGEST_WAIT
            self._tracer.stop()

    def _say(self, state: str = "") -> None:
        """In the file that `hello` reads: at once what is new, else each minute."""
        now_ns = self._host.boottime_ns()
        if not state:
            if self._is_tracing:
                state = RUNNING
            elif self._said.state in (PAUSED, UNAVAILABLE) and self._message == self._said.message:
                state = self._said.state
            else:
                state = IDLE
        is_new = (state, self._message) != (self._said.state, self._said.message)
        if is_new or now_ns - self._said.at_ns >= STATE_SECONDS * SECOND_NS:
            self._said = Outcome(state, self._message, now_ns)
            figures = {
                "volumes": len(self._volumes),
                "events": self._totals.events,
                "lost": self._totals.lost,
                "cpu_ms": int(self._totals.cpu_seconds * 1000),
                "maps": len(hot_map_files.map_heads(self._host)),
            }
            heat_files.save_state(self._host, state, self._message, figures)


def _passed(before: list[int] | None, now: list[int] | None) -> Io | None:
    """What diskstats counted between two readings; None where they cannot be compared."""
    if before is None or now is None:
        return None
    reads, read_sectors, writes, written_sectors = (
        now[n] - before[n] for n in (READS, READ_SECTORS, WRITES, WRITTEN_SECTORS)
    )
    if min(reads, read_sectors, writes, written_sectors) < 0:
        return None
    return Io(reads, read_sectors * SECTOR_BYTES, writes, written_sectors * SECTOR_BYTES)


def serve_heat(host: LocalHost) -> str:
    """Until SIGTERM or SIGINT, or until root does not allow it any more; a sentence about why it
    ended. Raises OSError."""
    try:
        with host.lock(heat_files.SERVICE, 0.0):
            # They end a wait, never a step.
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            return _serve(HeatService(host, TraceInstance(host)))
    except LockBusy:
        return "It is running already."


def _serve(service: HeatService) -> str:
    """Raises OSError, also where files stay locked: systemd starts it again then."""
    try:
        while (seconds := service.step()) is not None:
            if signal.sigtimedwait(SIGNALS, seconds) is not None:
                service.end()
                return "Stopped."
    except LockBusy:
        raise OSError("The files of what is read most stay locked") from None
    return "Root does not allow it: agent.pyz allow-heat"


def clean_heat(host: LocalHost) -> list[str]:
    """Remove what a service that was killed left in the kernel; what was done, in a sentence. A
    service that runs keeps what it has. Raises OSError."""
    try:
        with host.lock(heat_files.SERVICE, 0.0):
            is_removed = TraceInstance(host).stop()
            host.remove(heat_files.STATE)
            hot_map_files.unmark_all(host)
    except LockBusy:
        return []
    return ["removed the trace instance of a service that is gone"] * is_removed
