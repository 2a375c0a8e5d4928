"""Counts what is read most of volumes: of one after the other in turns, all its reads; and of those
that are about to get a cache without a break.

What is known of a volume after hours of turns is what a cache would hold after as many hours: no
sample of addresses shows that, and nothing that begins with the job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..kernel.local_host import LocalHost
from ..kernel.trace_pages import TracedIo
from ..state import hot_map_files
from ..state.hot_map_files import MARKED_NS, MapHead
from .hot_map import HotMap
from .observed_devices import ObservedDevice

SECOND_NS = 1_000_000_000
# A turn is over earlier where a volume has so many I/Os: on average that is 0.1 % of a core.
TURN_SECONDS, TURN_EVENTS = 600, 300_000
SAVE_SECONDS = 60
# Of the marked volumes, those that wait longest: each map that is full takes 2.3 MB. A cache of
# another one is filled by what is known from its turns.
MARKED_AT_ONCE = 2
# A fill takes an hour at most: one that was killed left its mark behind.
WARMING_NS = 2 * 3600 * SECOND_NS
# Counts are halved each week: what was hot a month ago is hardly so now.
FADE_NS = 7 * 24 * 3600 * SECOND_NS


@dataclass
class CountedVolume:
    """`head` is that of the map when it was saved last, at `since_ns`."""

    device: ObservedDevice
    head: MapHead
    hot: HotMap
    since_ns: int


class HotMaps:
    """`warming` are volumes that the agent itself reads, to fill their caches, and since when:
    none of their reads is counted meanwhile. Methods raise LockBusy or OSError."""

    def __init__(self, host: LocalHost) -> None:
        self._host = host
        self._counted: dict[str, CountedVolume] = {}
        self._turn = ""
        self._turn_ns = -TURN_SECONDS * SECOND_NS
        self._turn_events = 0
        self._marked: frozenset[str] = frozenset()
        self.warming: dict[str, int] = {}

    def numbers(self) -> list[int]:
        """Of the devices all of whose I/Os are to be seen."""
        return [each.device.number for each in self._counted.values()]

    def follow(self, devices: Mapping[str, ObservedDevice]) -> None:
        """Begin, save and end what is due."""
        now_ns = self._host.boottime_ns()
        marks = hot_map_files.marks(self._host)
        over = [uuid for uuid, each in marks.items() if not 0 <= now_ns - each.begun_ns < MARKED_NS]
        over += [uuid for uuid, ns in self.warming.items() if now_ns - ns >= WARMING_NS]
        hot_map_files.unmark(self._host, over)
        marked = (marks.keys() - over) & devices.keys()
        before = self.warming.keys()
        self.warming = {
            uuid: self.warming.get(uuid, now_ns)
            for uuid in marked
            if hot_map_files.is_warming(self._host, uuid)
        }
        self._next_turn(devices, now_ns)
        longest = sorted(marked, key=lambda lv_uuid: marks[lv_uuid].begun_ns)[:MARKED_AT_ONCE]
        self._marked = frozenset(longest)
        active = self._marked | self._in_turn()
        for lv_uuid, counted in list(self._counted.items()):
            if lv_uuid not in active or devices.get(lv_uuid) != counted.device:
                self._save(lv_uuid)
                self._counted.pop(lv_uuid, None)
            else:
                seconds = SAVE_SECONDS if lv_uuid in self._marked else TURN_SECONDS
                is_due = now_ns - counted.since_ns >= seconds * SECOND_NS
                if is_due or lv_uuid in self.warming.keys() - before:
                    self._save(lv_uuid)
        for lv_uuid in active - self._counted.keys():
            self._take_up(lv_uuid, devices[lv_uuid])

    def add(self, ios: Mapping[int, Sequence[TracedIo]]) -> None:
        """What was seen, by number of the device."""
        for lv_uuid, counted in self._counted.items():
            seen = ios.get(counted.device.number, ())
            if lv_uuid not in self.warming:
                counted.hot.add(seen)
            if lv_uuid == self._turn:
                self._turn_events += len(seen)

    def end_turn(self) -> bool:
        """Whether one volume less is counted now: what is counted in turns has time."""
        if self._turn not in self._counted.keys() - self._marked:
            return False
        self._turn_events = TURN_EVENTS
        self._save(self._turn)
        self._counted.pop(self._turn, None)
        return True

    def give_up(self) -> None:
        """Count no more for now, and keep what was counted."""
        for lv_uuid in list(self._counted):
            self._save(lv_uuid)
        self._counted = {}
        hot_map_files.unmark_all(self._host)
        self._turn_events = TURN_EVENTS

    def _in_turn(self) -> set[str]:
        return {self._turn} if self._turn and self._turn_events < TURN_EVENTS else set()

    def _next_turn(self, devices: Mapping[str, ObservedDevice], now_ns: int) -> None:
        is_over = now_ns - self._turn_ns >= TURN_SECONDS * SECOND_NS
        if is_over or self._turn not in devices:
            after = sorted(uuid for uuid in devices if uuid > self._turn)
            self._turn = (after or [*sorted(devices), ""])[0]
            self._turn_ns, self._turn_events = now_ns, 0

    def _take_up(self, lv_uuid: str, device: ObservedDevice) -> None:
        wall_ns = self._host.wall_ns()
        head = hot_map_files.map_head(self._host, lv_uuid)
        if head is None:
            # There from now on: what is not there any more was to be forgotten.
            head = MapHead(0, 0, wall_ns)
            hot_map_files.store(self._host, lv_uuid, head, b"", is_first=True)
        hot = HotMap(known=hot_map_files.data(self._host, lv_uuid), reads=head.reads)
        if not 0 <= wall_ns - head.faded_ns < FADE_NS:
            hot.halve()
            head = MapHead(head.seconds // 2, hot.reads, wall_ns)
        self._counted[lv_uuid] = CountedVolume(device, head, hot, self._host.boottime_ns())

    def _save(self, lv_uuid: str) -> None:
        counted = self._counted[lv_uuid]
        now_ns = self._host.boottime_ns()
        seconds = counted.head.seconds + (now_ns - counted.since_ns) // SECOND_NS
        now = replace(counted.head, seconds=seconds, reads=counted.hot.reads)
        if hot_map_files.store(self._host, lv_uuid, now, counted.hot.to_bytes()):
            counted.head, counted.since_ns = now, now_ns
        else:
            # It was to be forgotten: what is read from now on is counted anew.
            del self._counted[lv_uuid]
