"""What a pretended machine is made of: disks, arrays, volumes, caches, guests, loads."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Self

from tests.fake.counters import Counters

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
SECTOR = 512
EXTENT = 4 * MIB
PE_START = MIB
DM_MAJOR = 253


class ModelGap(AssertionError):
    """The model was asked for something it does not know: teach it, after a look at the lab."""


@dataclass(eq=False)
class Disk:
    """A physical disk. `major` 8 are SCSI disks, 254 a virtio one. `smart` is what smartctl prints
    of it; without, it is a disk of QEMU's."""

    name: str
    size_bytes: int
    rotational: bool
    model: str | None = None
    serial: str | None = None
    major: int = 8
    minor: int = 0
    sector_bytes: int = SECTOR
    counters: Counters = field(default_factory=Counters)
    smart: Mapping[str, Any] | None = None
    sleeps: bool = False
    scheduler: str = "[mq-deadline] none"

    @property
    def dev(self) -> str:
        return f"{self.major}:{self.minor}"


@dataclass(eq=False)
class Array:
    """An md array; `failed` members count as degraded."""

    name: str
    level: str
    members: list[Disk]
    size_bytes: int
    uuid: str
    failed: set[str] = field(default_factory=set)
    counters: Counters = field(default_factory=Counters)
    sync_action: str = "idle"
    sync_completed: str = "none"
    sync_speed: str = "none"
    sync_min: int = 0
    mismatch_sectors: int = 0
    spares: list[Disk] = field(default_factory=list)
    replaced: dict[str, Disk] = field(default_factory=dict)
    old: list[Disk] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    rebuild_bytes_per_second: float = 512 * MIB

    @property
    def all_members(self) -> list[tuple[Disk, str, str]]:
        """Each disk with its slot and state, as sysfs has them. `replaced` are members by name
        with the disks that are filled in their stead, `old` those that were, `spares` wait;
        `gone` are failed ones that were taken out."""
        rows = []
        for slot, disk in enumerate(self.members):
            if disk.name in self.gone:
                continue
            is_faulty = disk.name in self.failed
            words = ["faulty"] if is_faulty else ["in_sync"]
            if disk.name in self.replaced:
                words.append("want_replacement")
            rows.append((disk, "none" if is_faulty else str(slot), ",".join(words)))
            if new := self.replaced.get(disk.name):
                rows.append((new, str(slot), "spare,replacement"))
        rows += [(disk, "none", "spare") for disk in self.spares]
        return rows + [(disk, "none", "faulty") for disk in self.old]

    @property
    def faulty(self) -> list[Disk]:
        return [disk for disk, _, state in self.all_members if state == "faulty"]

    def forget_faulty(self, names: set[str]) -> None:
        self.old = [disk for disk in self.old if disk.name not in names]
        self.gone |= names & self.failed

    @property
    def is_filling(self) -> bool:
        return bool(self.replaced) or bool(self.failed and self.spares)

    def rebuild(self, seconds: float) -> None:
        """Time passes while the kernel fills a disk."""
        if not self.is_filling:
            return
        total = self.size_bytes // SECTOR
        done = 0 if self.sync_action == "idle" else int(self.sync_completed.split()[0])
        done += int(seconds * self.rebuild_bytes_per_second) // SECTOR
        self.sync_action, self.sync_speed = "recover", "200000"
        self.sync_completed = f"{min(done, total)} / {total}"
        if done >= total:
            self._filled()

    def _filled(self) -> None:
        self.sync_action, self.sync_completed, self.sync_speed = "idle", "none", "none"
        for name, new in self.replaced.items():
            place = next(n for n, disk in enumerate(self.members) if disk.name == name)
            self.old.append(self.members[place])
            self.members[place] = new
        self.replaced = {}
        if self.failed and self.spares:
            place = next(n for n, disk in enumerate(self.members) if disk.name in self.failed)
            name = self.members[place].name
            self.failed.discard(name)
            if name not in self.gone:
                self.old.append(self.members[place])
            self.gone.discard(name)
            self.members[place] = self.spares.pop(0)

    def demand_idle(self) -> Self:
        if self.sync_action != "idle":
            raise OSError(errno.EBUSY, "Device or resource busy")
        return self

    def begin(self, action: str) -> None:
        self.demand_idle().sync_action = action
        self.sync_speed = "200000"
        self.sync_completed = f"{self.sync_min} / {self.size_bytes // 512}"

    def interrupt(self) -> None:
        """`echo idle > sync_action`: the kernel keeps in `sync_min` where it was, as it last noted
        that, which is at each sixteenth; a check that ends by itself puts it back to 0."""
        done, _, total = self.sync_completed.partition(" / ")
        sixteenth = int(total) // 16
        self.sync_min = int(done) // sixteenth * sixteenth
        self.sync_action, self.sync_completed, self.sync_speed = "idle", "none", "none"

    @property
    def sector_bytes(self) -> int:
        return max(member.sector_bytes for member in self.members)

    @property
    def minor(self) -> int:
        return int(self.name.removeprefix("md"))

    @property
    def dev(self) -> str:
        return f"9:{self.minor}"


@dataclass(eq=False)
class BcacheDisk(Disk):
    """A bcacheN that root made by hand of whole devices: `below` holds the data, `cache` is the
    device of its cache set. To the kernel it is no rotating disk, whatever is below."""

    below: Disk | Array = field(kw_only=True)
    cache: Disk | Array = field(kw_only=True)
    uuid: str = field(kw_only=True)
    cset_uuid: str = field(kw_only=True)
    cache_mode: str = "writethrough"


@dataclass(eq=False)
class Run:
    """Consecutive physical extents. `through` is what LVM shows for them during a pvmove."""

    pv: Pv
    first: int
    count: int
    through: str = ""


@dataclass(eq=False)
class Pv:
    """A physical volume. `stale` holds the extents that still have an earlier owner's data."""

    device: Disk | Array
    uuid: str
    stale: set[int] = field(default_factory=set)
    missing: bool = False
    allocatable: bool = True
    metadata_area_bytes: int = 1044480

    @property
    def path(self) -> str:
        return f"/dev/{self.device.name}"

    @property
    def extents(self) -> int:
        return (self.device.size_bytes - PE_START) // EXTENT


@dataclass(frozen=True)
class Signature:
    """What stands in the first sectors of a device: a file system, or a bcache superblock."""

    type: str
    uuid: str
    cset_uuid: str = ""
    cache_device: bool = False
    bucket_bytes: int = 0
    data_sectors: int = 0
    attached: bool = False
    cache_mode: str = "writethrough"


@dataclass(eq=False)
class Backing:
    """A registered bcache backing device and its bcacheN, which is not there yet while it waits
    for the cache set `waits_for`."""

    lv: Lv
    number: int
    uuid: str
    data_sectors: int
    cset: CacheSet | None = None
    cache_mode: str = "writethrough"
    waits_for: str | None = None
    sequential_cutoff_bytes: int = 4 * MIB
    writeback_percent: int = 10
    writeback_running: bool = True
    dirty_bytes: float = 0.0
    inconsistent: bool = False
    detaching: bool = False
    stopping: bool = False
    hits: float = 0.0
    misses: float = 0.0
    warmth: float = 0.0
    counters: Counters = field(default_factory=Counters)

    @property
    def device(self) -> str:
        return f"bcache{self.number}"

    @property
    def dev(self) -> str:
        return f"251:{self.number * 128}"

    @property
    def state(self) -> str:
        if self.inconsistent:
            return "inconsistent"
        if self.cset is None and self.waits_for is None:
            return "no cache"
        return "dirty" if self.dirty_bytes >= SECTOR else "clean"


@dataclass(eq=False)
class CacheSet:
    """A registered bcache cache set of one cache device."""

    lv: Lv
    uuid: str
    bucket_bytes: int
    used_bytes: float = 0.0
    congested_us: dict[str, int] = field(
        default_factory=lambda: {
            "congested_read_threshold_us": 2000,
            "congested_write_threshold_us": 20000,
        }
    )

    @property
    def buckets(self) -> int:
        return self.lv.size_bytes // self.bucket_bytes

    @property
    def unused_percent(self) -> int:
        return max(0, 99 - int(100 * self.used_bytes / self.lv.size_bytes))


@dataclass(eq=False)
class Cache:
    """A dm-cache on a logical volume; amounts in chunks. `policy` is what LVM has stored, and
    `emptying` its flag `cleaner` beside that, which gives the kernel another one."""

    pool: Lv
    origin: Lv
    mode: str
    policy: str
    threshold: int | None = None
    emptying: bool = False
    used: float = 0.0
    dirty: float = 0.0
    read_hits: float = 0.0
    read_misses: float = 0.0
    write_hits: float = 0.0
    write_misses: float = 0.0
    demotions: float = 0.0
    promotions: float = 0.0
    needs_check: bool = False
    failed: bool = False
    saved: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    warmth: float = 0.0
    # Chunks that the agent's own reads brought, and after how many reads one comes.
    chunks: dict[int, int] = field(default_factory=dict)
    reads_to_promote: int = 1

    @property
    def total(self) -> int:
        return self.pool.size_bytes // self.pool.chunk_bytes

    @property
    def kernel_policy(self) -> str:
        return "cleaner" if self.emptying else self.policy

    def reload(self) -> None:
        """What a table reload does: hit counters go on from the value last saved, not from where
        they were; promotions and demotions start at 0."""
        now = (self.read_hits, self.read_misses, self.write_hits, self.write_misses)
        self.read_hits, self.read_misses, self.write_hits, self.write_misses = self.saved
        self.saved = now
        self.demotions = self.promotions = 0.0


@dataclass(eq=False)
class Move:
    """A pvmove at work on a volume: `mirror` is LVM's hidden pvmove0; its runs are the target."""

    mirror: Lv
    source: Pv
    done_bytes: float = 0.0

    @property
    def percent(self) -> float:
        return min(100.0, 100 * self.done_bytes / self.mirror.size_bytes)


@dataclass(eq=False)
class Written:
    """What a guest wrote to the device that it has, as libblkid calls it, in a partition or over
    the whole device. `starts` counts how often the host took it for its own and started it."""

    type: str
    partition: bool = False
    vg: Vg | None = None
    signature: Signature | None = None
    starts: int = 0


@dataclass(eq=False)
class Lv:
    """A logical volume, hidden ones too. `runs` is empty where it stands on other volumes.
    `written` is a guest's, on the device that it has; `held` where the host started what that
    is."""

    vg: Vg
    uuid: str
    name: str
    size_bytes: int
    runs: list[Run] = field(default_factory=list)
    layout: str = "linear"
    role: str = "public"
    tags: list[str] = field(default_factory=list)
    minor: int | None = None
    skipped: bool = False
    suspended: bool = False
    layer: str = ""
    chunk_bytes: int = 0
    data: Lv | None = None
    metadata: Lv | None = None
    cache: Cache | None = None
    move: Move | None = None
    writecache: Lv | None = None
    writecache_dirty_bytes: int = 0
    origin: str = ""
    merging: bool = False
    signature: Signature | None = None
    written: Written | None = None
    held: bool = False
    allocation: str = "inherit"
    counters: Counters = field(default_factory=Counters)

    @property
    def grows_by(self) -> str:
        """The policy of `lvextend`."""
        return self.vg.allocation if self.allocation == "inherit" else self.allocation

    @property
    def public(self) -> bool:
        return self.role == "public"

    @property
    def kname(self) -> str | None:
        return None if self.minor is None else f"dm-{self.minor}"

    @property
    def dm_name(self) -> str:
        return f"{self.vg.name.replace('-', '--')}-{self.name.replace('-', '--')}"

    @property
    def dm_uuid(self) -> str:
        suffix = f"-{self.layer}" if self.layer else ""
        return "LVM-" + f"{self.vg.uuid}{self.uuid}".replace("-", "") + suffix

    @property
    def path(self) -> str:
        return f"/dev/{self.vg.name}/{self.name}"

    @property
    def bottom(self) -> Lv:
        """The LV whose extents hold the data: the origin of a cached one."""
        return self.cache.origin if self.cache else self

    def dirty_chunks(self) -> int:
        return 0 if self.cache is None else int(self.cache.dirty)


@dataclass(eq=False)
class Vg:
    """`inside` is the volume on whose device a guest made the group."""

    name: str
    uuid: str
    pvs: list[Pv]
    lvs: list[Lv] = field(default_factory=list)
    seqno: int = 1
    tags: list[str] = field(default_factory=list)
    lock_type: str = ""
    system_id: str = ""
    exported: bool = False
    clustered: bool = False
    text_bytes: int | None = None
    inside: Lv | None = None
    allocation: str = "normal"

    @property
    def metadata_area_bytes(self) -> int:
        """LVM tells of the smallest one."""
        return min(pv.metadata_area_bytes for pv in self.pvs)

    def lv(self, name: str) -> Lv | None:
        return next((lv for lv in self.lvs if lv.name == name), None)

    def taken(self, pv: Pv) -> set[int]:
        return {
            extent
            for lv in self.lvs
            for run in lv.runs
            if run.pv is pv
            for extent in range(run.first, run.first + run.count)
        }

    def pieces(self, pv: Pv) -> list[tuple[bool, int]]:
        """Extents side by side that are free, or are not, in their order: which, and how many."""
        taken = self.taken(pv)
        runs = groupby(range(pv.extents), lambda extent: extent not in taken)
        return [(is_free, len(list(run))) for is_free, run in runs]

    def free(self, pv: Pv) -> int:
        return pv.extents - sum(run.count for lv in self.lvs for run in lv.runs if run.pv is pv)


@dataclass(eq=False)
class Load:
    """What a guest does to a volume: so many reads and writes of `io_bytes` a second. Without a
    cache the slow disk allows `disk_iops` in all; with one, reads that hit cost it nothing, up to
    `iops` in all. `hit_rate` is reached exponentially in `warm_up_seconds`. That of a `program`
    rests while the program does."""

    lv: Lv
    iops: float
    hit_rate: float
    write_share: float = 0.0
    disk_iops: float = 300.0
    io_bytes: int = 4096
    warm_up_seconds: float = 20.0
    program: str = ""


@dataclass(eq=False)
class Process:
    """A process with devices open, as a guest has. `opened` are kernel names. `sizes` is what a
    QEMU took for the size of each of its disks, `job` what it does with them: a backup."""

    pid: int
    comm: str
    argv: list[str]
    paths: list[str]
    sizes: dict[str, int] = field(default_factory=dict)
    cgroup: str = "/user.slice"
    job: str = ""
