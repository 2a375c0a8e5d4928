"""The state of a pretended machine, and looking things up in it."""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.fake.parts import (
    MIB,
    Array,
    Backing,
    BcacheDisk,
    CacheSet,
    Disk,
    Load,
    Lv,
    Process,
    Pv,
    Run,
    Vg,
)


@dataclass(eq=False)
class Machine:
    """Everything the tools look at. `generation` grows with each change of structure. `hammered`
    are the devices that programs write to as fast as they take it, by what the program was called
    with; `mirror_throttle` is the kernel's, in percent. `hidden_disks` stand
    behind a RAID controller, by smartctl's device and type. `fio_hurts` its neighbours."""

    seed: str
    hostname: str
    machine_id: str = ""
    boot_id: str = ""
    locked: set[str] = field(default_factory=set)
    flush_bytes_per_second: float = 64 * MIB
    zero_bytes_per_second: float = 256 * MIB
    move_bytes_per_second: float = 128 * MIB
    mirror_throttle: int = 100
    hammered: dict[str, frozenset[str]] = field(default_factory=dict)
    fio_hurts: bool = False
    loads: list[Load] = field(default_factory=list)
    disks: list[Disk] = field(default_factory=list)
    hidden_disks: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    arrays: list[Array] = field(default_factory=list)
    vgs: list[Vg] = field(default_factory=list)
    backings: list[Backing] = field(default_factory=list)
    csets: list[CacheSet] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    orphans: list[Pv] = field(default_factory=list)
    left_devices: list[Lv] = field(default_factory=list)
    signed: dict[str, str] = field(default_factory=dict)
    mounts: list[tuple[str, str]] = field(default_factory=list)
    swaps: list[str] = field(default_factory=list)
    missing_tools: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=lambda: {"dm_cache", "dm_cache_smq", "bcache"})
    kernel: str = "6.1.0-37-amd64"
    kernel_version: str = "#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1 (2025-05-22)"
    kernel_signature: str = ""
    versions: dict[str, str] = field(
        default_factory=lambda: {"lvm": "2.03.16", "systemd": "252", "util_linux": "2.38.1"}
    )
    bcache_rule: bool = True
    scan_lvs: bool = False
    global_filter: tuple[str, ...] = ("a|.*|",)
    use_devicesfile: bool = False
    archive_kib: int = 40
    has_systemd: bool = True
    has_bus: bool = True
    clock_ns: Callable[[], int] = lambda: 0
    generation: int = 0
    drawn: int = 0

    @contextmanager
    def hammering(self, argv: Sequence[str], devices: frozenset[str]) -> Iterator[None]:
        """For what is done inside, a program writes to the devices as fast as they take it."""
        self.hammered[" ".join(argv)] = devices
        try:
            yield
        finally:
            self.hammered.pop(" ".join(argv), None)

    @contextmanager
    def resting(self, argv: Sequence[str]) -> Iterator[None]:
        """For what is done inside, that program stands still."""
        devices = self.hammered.pop(" ".join(argv), None)
        try:
            yield
        finally:
            if devices is not None:
                self.hammered[" ".join(argv)] = devices

    def draw(self, what: str) -> bytes:
        """The next of an endless row of bytes that depends only on the seed."""
        self.drawn += 1
        return hashlib.sha256(f"{self.seed}/{what}/{self.drawn}".encode()).digest()

    def lvm_uuid(self) -> str:
        alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        text = "".join(alphabet[byte % 62] for byte in self.draw("lvm"))
        cuts = (0, 6, 10, 14, 18, 22, 26, 32)
        return "-".join(text[a:b] for a, b in itertools.pairwise(cuts))

    def uuid4(self) -> str:
        return str(uuid.UUID(bytes=self.draw("uuid")[:16], version=4))

    def vg(self, name: str) -> Vg | None:
        return next((vg for vg in self.vgs if vg.name == name), None)

    def lvs(self) -> list[Lv]:
        return [lv for vg in self.vgs for lv in vg.lvs]

    def lv_at(self, path: str) -> Lv | None:
        """The active LV of a /dev/VG/LV path."""
        found = next((lv for lv in self.lvs() if lv.path == path), None)
        return found if found is not None and found.minor is not None else None

    def lv_of_minor(self, minor: int) -> Lv | None:
        return next((lv for lv in self.lvs() if lv.minor == minor), None)

    def backing(self, lv: Lv) -> Backing | None:
        return next((each for each in self.backings if each.lv is lv), None)

    def bcache_numbers(self) -> set[int]:
        """Those that are taken by devices made by hand."""
        names = [disk.name for disk in self.disks if isinstance(disk, BcacheDisk)]
        return {int(name.removeprefix("bcache")) for name in names}

    def cset(self, uuid: str) -> CacheSet | None:
        return next((each for each in self.csets if each.uuid == uuid), None)

    def under_bcache(self, lv: Lv) -> bool:
        """A registered bcache device, backing or cache, stands on it."""
        users = [each.lv for each in self.backings] + [each.lv for each in self.csets]
        return any(user is lv for user in users)

    def openers(self, path: str) -> list[Process]:
        return [process for process in self.processes if path in process.paths]

    def open_count(self, lv: Lv) -> int:
        """dm's own count: processes, mounts, and what stands on the device."""
        if lv.layer:
            return 1
        above = self.under_bcache(lv) + (lv.held and self.backing(lv) is None)
        mounted = sum(path == lv.path for path, _ in self.mounts)
        return above + mounted + len(self.openers(lv.path))

    def free_minor(self) -> int:
        used = {lv.minor for lv in (*self.lvs(), *self.left_devices)}
        return next(minor for minor in range(len(used) + 1) if minor not in used)

    def changed(self, vg: Vg | None = None, commits: int = 1) -> None:
        """The structure changed; with a VG also its metadata, in so many commits."""
        self.generation += 1
        if vg is not None:
            vg.seqno += commits

    def place(self, vg: Vg, count: int, pvs: list[Pv]) -> list[Run] | None:
        """The lowest free extents of the named PVs in their order, side by side where the group
        gives out no others; None where they lack room."""
        runs: list[Run] = []
        if vg.allocation == "contiguous":
            return next((run for pv in pvs for run in _whole(vg, pv, count)), None)
        for pv in pvs:
            if pv.missing:
                continue
            taken = vg.taken(pv)
            for extent in range(pv.extents):
                if count == 0:
                    return runs
                if extent in taken:
                    continue
                last = runs[-1] if runs else None
                if last is not None and last.pv is pv and last.first + last.count == extent:
                    last.count += 1
                else:
                    runs.append(Run(pv, extent, 1))
                count -= 1
        return runs if count == 0 else None


def _whole(vg: Vg, pv: Pv, count: int) -> Iterator[list[Run]]:
    """Each place of a PV that has so many free extents side by side."""
    first = 0
    for is_free, length in vg.pieces(pv):
        if is_free and length >= count and not pv.missing:
            yield [Run(pv, first, count)]
        first += length
