"""Facts: the current state of a host, as frozen dataclasses decoded from the agent's `inventory`
reply.

A reply that does not fit raises `BadHostData`. Where one thing in it does not (a volume, a disk, a
cache set), that is left out whole and named in `unread`: nothing is half read, and nothing else of
the host is hidden by it. Names, tags, models and serials are other people's text: show them
escaped, never build with them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from storage.agent.facts.host_devices import is_own
from storage.agent.kernel import array_state
from storage.agent.kernel.array_state import ArrayTrouble
from storage.host_data import INT_LIMIT, BadHostData, Count, Percent, cleaned, converted
from storage.inventory.kept_benchmark import KeptBenchmark
from storage.inventory.member_disks import connected
from storage.inventory.orphan import Orphan
from storage.inventory.unread import Unread, readable_fields, readable_things, unread_named
from storage.inventory.volume_parts import DataStanding, Segment, VolumeUser, Work, WriteCache
from storage.naming import (
    MANAGED_TAG,
    PVMOVE_PREFIX,
    is_made_beside,
    scratch_key,
)

# LVM writes its uuids as 32 letters in 7 groups.
Uuid = Annotated[str, Meta(min_length=1, max_length=38)]
LvmName = Annotated[str, Meta(min_length=1, max_length=127)]
Size = Annotated[int, Meta(ge=1, le=INT_LIMIT)]
"""Of what exists: never 0 bytes."""


INNER_LOSS: Final = 0.4
"""By how much slower than its first sectors the last ones of a hard disk are."""


@dataclass(frozen=True, slots=True)
class Disk:
    """`scheduler` is the I/O scheduler that it has, "" where an older agent is silent."""

    name: str
    dev: str
    size_bytes: Count
    rotational: bool
    model: str
    serial: str
    transport: str
    logical_sector_bytes: Count
    read_only: bool
    scheduler: str = ""


@dataclass(frozen=True, slots=True)
class ArrayMember:
    """`slot` is its place in the array, "none" for a spare, "" where an older agent is silent."""

    name: str
    state: str
    slot: str = ""

    @property
    def is_spare(self) -> bool:
        """Whether it waits for another one to fail; one that is being filled has a slot."""
        return "spare" in self.state.split(",") and self.slot == "none"

    @property
    def has_failed(self) -> bool:
        return "faulty" in self.state.split(",")

    @property
    def is_in_place(self) -> bool:
        """Whether it has a place of its own and all data, and replaces no other."""
        words = self.state.split(",")
        return "in_sync" in words and "replacement" not in words and self.slot.isdecimal()


@dataclass(frozen=True)
class Array:
    """An md array; `degraded_count` members are missing or failed, None where the kernel does not
    say (of an array that is not started, or has no copies). While it is rebuilt or checked,
    `sync_done_sectors` of `sync_total_sectors` are done, of each disk. `sync_min_sectors` is where
    an interrupted check stopped, 0 where the last one came to its end. `mismatch_sectors` are what
    the last check found to differ. `container` takes the disks of an array of firmware's RAID.
    `guests_volume` is the volume of ours (`group/name`) below it, however deep: a guest made it.
    None, or "", where the kernel or an older agent does not say."""

    name: str
    dev: str
    uuid: str
    level: str
    state: str
    size_bytes: Count
    degraded_count: Count | None
    sync_action: str
    members: tuple[ArrayMember, ...]
    sync_done_sectors: Count | None = None
    sync_total_sectors: Count | None = None
    sync_speed_kib: Count | None = None
    mismatch_sectors: Count | None = None
    disk_count: Count | None = None
    sync_min_sectors: Count | None = None
    container: str = ""
    guests_volume: str = ""

    @property
    def is_at_work(self) -> bool:
        return self.sync_action not in ("", "idle", "frozen")

    @cached_property
    def trouble(self) -> ArrayTrouble | None:
        """The worst that is wrong with it; None where nothing is. `HostFacts.trouble_of` also says
        which disks those are."""
        return array_state.trouble_of(asdict(self))

    @property
    def has_failed(self) -> bool:
        """Whether it lost more members than it can, or is not started: then none may be added."""
        return self.trouble is not None and self.trouble.code in ("array_failed", "array_inactive")

    @property
    def progress(self) -> float | None:
        """How much of a rebuild or check is done, 0 to 1."""
        if self.sync_done_sectors is None or not self.sync_total_sectors:
            return None
        return min(1.0, self.sync_done_sectors / self.sync_total_sectors)

    def seconds_left(self, *, slows: bool) -> float | None:
        """At the speed that it has now; of disks that rotate (`slows`) at the speed that it will
        have: their inner tracks are shorter than the outer ones, where it begins."""
        done, total = self.sync_done_sectors, self.sync_total_sectors
        if done is None or not total or not self.sync_speed_kib:
            return None
        if not slows:
            return max(0, total - done) / 2 / self.sync_speed_kib
        # The speed falls evenly from the first to the last sector.
        now = 1 - INNER_LOSS * min(1.0, done / total)
        first_speed = self.sync_speed_kib / now
        return total / 2 / first_speed * math.log(now / (1 - INNER_LOSS)) / INNER_LOSS

    @property
    def spares(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.members if member.is_spare)


@dataclass(frozen=True, slots=True)
class PhysicalVolume:
    """An LVM physical volume. `tier` follows the host's local policy, else the kernel's flag;
    `redundant` means one device below may die without losing data, `healthy` that none has. Of
    one that is not `allocatable` (pvchange -xn), or exported, `free_bytes` is 0, and what is free
    all the same is `unusable_bytes`. A `duplicate` is seen on the devices `seen_on`. What has a
    default, an older agent does not say."""

    uuid: str
    name: str
    vg_uuid: str
    vg_name: str
    size_bytes: Count
    free_bytes: Count
    missing: bool
    duplicate: bool
    tier: Literal["fast", "slow"]
    redundant: bool
    healthy: bool
    logical_sector_bytes: Count
    allocatable: bool = True
    exported: bool = False
    unusable_bytes: Count = 0
    seen_on: tuple[str, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether LVM would put anything on it."""
        gone = self.missing or self.duplicate or self.exported
        return self.allocatable and not gone


@dataclass(frozen=True, slots=True)
class VolumeGroup:
    """`allowed` says whether root on the host lets Tiercel change this group. `sharing` says why
    other machines may use it too, None where an older agent does not know, and `alone` that root
    says none does. LVM's text about the group may take `metadata_bytes` in all, of which
    `metadata_free_bytes` are left; None where an older agent does not say.
    `clears_freed`: what a volume leaves behind is cleared; None where an older agent cannot.
    `left_out`: its volumes are not in the inventory, so that one that is absent may well be there.
    `zeroes_pools`: a cache pool is zeroed before a guest gets it; an older agent does not.
    `allocation` is how LVM chooses extents ("normal", "contiguous", "cling"), "" where an older
    agent does not say."""

    uuid: str
    name: str
    size_bytes: Count
    free_bytes: Count
    extent_bytes: Size
    seqno: Count
    tags: tuple[str, ...]
    missing_pv_count: Count
    allowed: bool
    sharing: tuple[str, ...] | None = None
    alone: bool = False
    lock_type: str = ""
    system_id: str = ""
    exported: bool = False
    clustered: bool = False
    partial: bool = False
    metadata_bytes: Count | None = None
    metadata_free_bytes: Count | None = None
    clears_freed: bool | None = None
    zeroes_pools: bool = False
    left_out: bool = False
    allocation: str = ""


@dataclass(frozen=True, slots=True)
class DmCache:
    """A dm-cache (lvmcache) on a logical volume, from `dmsetup status` and `lvs`. `policy` is the
    kernel's, `lvm_policy` the one that LVM has stored: "" where an older agent does not say.
    Unless `dirty_known` the kernel reported none, and 0 `dirty_bytes` do not mean clean. `standing`
    is that of the pool, None where an older agent does not say."""

    pool: str
    pool_uuid: str
    mode: str
    policy: str
    chunk_bytes: Count
    size_bytes: Count
    used_bytes: Count
    dirty_bytes: Count
    needs_check: bool
    failed: bool
    migration_threshold_sectors: Count
    pvs: tuple[str, ...]
    lvm_policy: str = ""
    dirty_known: bool = True
    standing: DataStanding | None = None


@dataclass(frozen=True, slots=True)
class BcacheBacking:
    """A bcache superblock on a logical volume; `device` is the name the guest uses (bcacheN).
    Unless `dirty_known` the kernel reported none, and 0 `dirty_bytes` do not mean clean."""

    uuid: str
    device: str | None
    cset_uuid: str | None
    state: str
    cache_mode: str
    sequential_cutoff_bytes: Count
    writeback_percent: Count
    dirty_bytes: Count
    size_bytes: Count
    dirty_known: bool = True


@dataclass(frozen=True, slots=True)
class LogicalVolume:
    """What has a default, an older agent does not say. `snapshots` are names of classic ones.
    `host_use` says what of the host itself lies on it ("mounted at /var"), "" for nothing.
    `allocation` is its own policy, "inherit" for that of its group. `parts` are the uuids of all
    sub-volumes of a public one, its cache pool's too; `standing` that of its own data, without its
    cache. `heat_observed`: its heat may be observed, and the host does so now; `counted_for` is the
    name of the cache that is to be filled with what is read most of it, "" for none."""

    uuid: Uuid
    name: LvmName
    vg_uuid: Uuid
    vg_name: LvmName
    size_bytes: Size
    layout: tuple[str, ...]
    role: tuple[str, ...]
    tags: tuple[str, ...]
    active: bool
    suspended: bool
    open_count: Count
    dev: str | None
    kname: str | None
    health: str
    segments: tuple[Segment, ...]
    cache: DmCache | None
    bcache: BcacheBacking | None
    users: tuple[VolumeUser, ...]
    work: Work | None = None
    snapshots: tuple[str, ...] = ()
    host_use: str | None = None
    allocation: str = ""
    writecache: WriteCache | None = None
    parts: tuple[Uuid, ...] = ()
    standing: DataStanding | None = None
    heat_observed: bool = False
    counted_for: str = ""

    @property
    def hosts_own(self) -> str:
        """What of the host itself lies on it: nothing may be done to it. An older agent reports it
        only of what stands on the volume directly."""
        if self.host_use is not None:
            return self.host_use
        mounts = (user.name for user in self.users if user.kind == "mount" and is_own(user.name))
        mounted = next((f"mounted at {point}" for point in mounts), "")
        return mounted or ("swap" if any(user.kind == "swap" for user in self.users) else "")

    @property
    def lacks_a_part(self) -> bool:
        """Whether some of it, or of its cache, is on a missing disk."""
        standings = (self.standing, None if self.cache is None else self.cache.standing)
        return any(each is not None and each.lost for each in standings)

    @property
    def is_public(self) -> bool:
        return "public" in self.role

    @property
    def rests(self) -> bool:
        """Switched off by Proxmox VE with its guest, and on again when that starts."""
        return not self.active and any(user.kind == "proxmox" for user in self.users)

    @property
    def guest_size_bytes(self) -> int:
        """What the guest sees: bcache keeps its superblock and padding in front."""
        if self.bcache is not None and self.bcache.size_bytes:
            return self.bcache.size_bytes
        return self.size_bytes

    @property
    def pvs(self) -> tuple[str, ...]:
        """Physical volumes below, each once, in order of first use."""
        return tuple(dict.fromkeys(pv for segment in self.segments for pv in segment.pvs))


@dataclass(frozen=True, slots=True)
class CacheSet:
    """A registered bcache cache set and the LV it lies on (None when it is not an LV). `device` is
    None while it is being registered, or where its start failed.

    `available_percent` is what is not dirty; `unused_percent` is what holds nothing, None where the
    host has not asked the kernel for it lately.
    """

    uuid: str
    lv_uuid: str | None
    device: str | None
    size_bytes: Count
    bucket_bytes: Count
    available_percent: Count | None
    backing_count: Count
    unused_percent: Percent | None = None

    @property
    def devices(self) -> tuple[str, ...]:
        """Its device, where the kernel names one."""
        return () if self.device is None else (self.device,)


@dataclass(frozen=True, slots=True)
class BareBacking:
    """A bcache that was made by hand on a `device` that is no LV: a disk, partition or array.
    `kname` is its bcacheN, None while it waits for its cache set."""

    device: str
    kname: str | None
    cset_uuid: str | None
    mode: str
    state: str
    dirty_bytes: Count
    users: tuple[VolumeUser, ...]
    dirty_known: bool = True

    @property
    def name(self) -> str:
        return self.kname or f"bcache on {self.device}"


@dataclass(frozen=True, slots=True)
class KernelIdentity:
    """The running kernel: `release` as `uname -r` says it, `version` as `uname -v` (Debian names
    the stable release there), `signature` from Ubuntu's /proc/version_signature. An older agent
    says none."""

    release: str = ""
    version: str = ""
    signature: str = ""


@dataclass(frozen=True)
class HostFacts:
    """One inventory. `consistent` is False when the reports did not agree with each other,
    `stale` when a busy volume group forced a read without its lock. What has a default, an older
    agent does not say; `unread` is the panel's own, and so is `scratch`: the volumes that the host
    made for a benchmark's run, with their parts. They are in no other list: they belong to no
    customer, and the host removes them itself."""

    consistent: bool
    stale: bool
    disks: tuple[Disk, ...]
    arrays: tuple[Array, ...]
    pvs: tuple[PhysicalVolume, ...]
    vgs: tuple[VolumeGroup, ...]
    lvs: tuple[LogicalVolume, ...]
    csets: tuple[CacheSet, ...]
    orphans: tuple[Orphan, ...] = ()
    backings: tuple[BareBacking, ...] = ()
    lvm_version: str = ""
    kernel: KernelIdentity = KernelIdentity()
    boot_id: str = ""
    benchmarks: tuple[KeptBenchmark, ...] = ()
    unread: tuple[Unread, ...] = ()
    scratch: tuple[LogicalVolume, ...] = ()

    def __post_init__(self) -> None:
        if len({lv.uuid for lv in self.lvs}) != len(self.lvs):
            raise ValueError("two logical volumes have one uuid")

    def hides_a_part_of(self, vg_uuid: str) -> bool:
        """Whether something that could not be read is, or may be, of the group."""
        return any(each.part in OF_GROUPS and each.vg_uuid in (vg_uuid, "") for each in self.unread)

    @cached_property
    def _lvs(self) -> dict[str, LogicalVolume]:
        return {lv.uuid: lv for lv in self.lvs}

    @cached_property
    def _lvs_by_name(self) -> dict[tuple[str, str], LogicalVolume]:
        # The first of two with one name, as a search would find.
        return {(lv.vg_uuid, lv.name): lv for lv in reversed(self.lvs)}

    @cached_property
    def _csets(self) -> dict[str, CacheSet]:
        return {cset.uuid: cset for cset in reversed(self.csets)}

    @cached_property
    def _owners(self) -> dict[str, LogicalVolume]:
        # The nearest one has the fewest.
        far_first = sorted(self.lvs, key=lambda lv: -len(lv.parts))
        return {part: lv for lv in far_first for part in lv.parts}

    def owner(self, lv: LogicalVolume) -> LogicalVolume:
        """The public volume that a hidden one is a part of; itself where it is none."""
        return self._owners.get(lv.uuid, lv)

    @cached_property
    def _marks(self) -> dict[str, str]:
        """What is written on the disks, by their names."""
        return {
            each.name: ", ".join(filter(None, (each.model, each.serial))) for each in self.disks
        }

    def trouble_of(self, array: Array) -> ArrayTrouble | None:
        """The worst that is wrong with an array of the host; that a guest's was started on it."""
        volume = array.guests_volume or self._volume_below(array)
        if volume:
            return array_state.guests_array(array.name, volume)
        disks = connected([member.name for member in array.members], self._marks)
        return array.trouble and array_state.trouble_of(asdict(array), disks)

    def _volume_below(self, array: Array) -> str:
        """The same as `guests_volume`, as far as the names of the members show it."""
        members = [re.sub(r"(?<=[0-9])p[0-9]+$", "", member.name) for member in array.members]
        ours = (lv for lv in self.lvs if MANAGED_TAG in lv.tags)
        knames = {lv.kname if lv.bcache is None else lv.bcache.device: lv for lv in ours}
        lv = next((knames[member] for member in members if member in knames), None)
        return "" if lv is None else f"{lv.vg_name}/{lv.name}"

    def benchmark(self, key: str) -> KeptBenchmark | None:
        """The run that ended on this host under the key; None where it has not, or its result was
        forgotten."""
        return next((each for each in self.benchmarks if each.key == key), None)

    def vg(self, uuid: str) -> VolumeGroup | None:
        return next((vg for vg in self.vgs if vg.uuid == uuid), None)

    def lv(self, uuid: str) -> LogicalVolume | None:
        return self._lvs.get(uuid)

    def lv_named(self, vg_uuid: str, name: str) -> LogicalVolume | None:
        return self._lvs_by_name.get((vg_uuid, name))

    def cset(self, uuid: str) -> CacheSet | None:
        return self._csets.get(uuid)

    def scratch_of(self, key: str) -> tuple[LogicalVolume, ...]:
        """The scratch volumes of a run, without their parts."""
        return tuple(lv for lv in self.scratch if scratch_key(lv.name, lv.tags) == key)

    def pvs_of(self, vg_uuid: str, tier: str) -> tuple[PhysicalVolume, ...]:
        return tuple(pv for pv in self.pvs if pv.vg_uuid == vg_uuid and pv.tier == tier)

    def public_lvs(self) -> tuple[LogicalVolume, ...]:
        """Volumes a guest or a person may use; not what caches are made of, nor LVM's own during a
        pvmove. A cache device that is not registered yet, or no more, and the room a volume grows
        into are recognised by the name and the mark that the agent gave them: a customer's volume
        may have such a name."""
        cache_devices = {cset.lv_uuid for cset in self.csets}
        return tuple(
            lv
            for lv in self.lvs
            if lv.is_public
            and lv.uuid not in cache_devices
            and not lv.name.startswith(PVMOVE_PREFIX)
            and not (MANAGED_TAG in lv.tags and is_made_beside(lv.name, lv.tags))
        )


PARTS: Final[Mapping[str, type]] = {
    "disks": Disk,
    "arrays": Array,
    "pvs": PhysicalVolume,
    "vgs": VolumeGroup,
    "lvs": LogicalVolume,
    "csets": CacheSet,
    "orphans": Orphan,
    "backings": BareBacking,
    "benchmarks": KeptBenchmark,
}
ADDED_LATER: Final = frozenset({"orphans", "backings", "benchmarks"})
"""Lists of which an older agent says nothing."""
HOST_FIELDS: Final[Mapping[str, tuple[Any, Any]]] = {
    "consistent": (bool, False),
    "stale": (bool, True),
    "lvm_version": (str, ""),
    "kernel": (KernelIdentity, {}),
    "boot_id": (str, ""),
}
"""What is in no list: its type, and what stands for one that does not fit."""
OF_GROUPS: Final = ("pvs", "vgs", "lvs")


def decode(data: object) -> HostFacts:
    """The agent's `inventory` data (see the module `inventory` of the agent) as facts; raises
    `BadHostData` where it has no such shape at all."""
    clean = cleaned(data)
    try:
        return without_scratch(converted(clean, HostFacts, "inventory"))
    except BadHostData:
        if not isinstance(clean, dict) or not any(isinstance(clean.get(p), list) for p in PARTS):
            raise
    unread: list[Unread] = []
    read = readable_fields(clean, HOST_FIELDS, unread)
    for part, shape in PARTS.items():
        if part in clean or part not in ADDED_LATER:
            read[part] = list(readable_things(part, shape, clean.get(part), unread))
    named = [msgspec.to_builtins(each) for each in unread_named(unread)]
    return without_scratch(converted({**read, "unread": named}, HostFacts, "inventory"))


def without_scratch(facts: HostFacts) -> HostFacts:
    """The same with all that runs of benchmarks made apart: LVM tags a volume, not its parts."""
    made = [lv for lv in facts.lvs if scratch_key(lv.name, lv.tags) is not None]
    if not made:
        return replace(facts, scratch=()) if facts.scratch else facts
    uuids = {lv.uuid for lv in made}.union(*(lv.parts for lv in made))
    # The parts of a cache pool before it is in front of a volume.
    beside = tuple(f"{lv.name}_" for lv in made)
    uuids |= {lv.uuid for lv in facts.lvs if not lv.is_public and lv.name.startswith(beside)}
    return replace(
        facts,
        lvs=tuple(lv for lv in facts.lvs if lv.uuid not in uuids),
        csets=tuple(cset for cset in facts.csets if cset.lv_uuid not in uuids),
        scratch=tuple(lv for lv in facts.lvs if lv.uuid in uuids),
    )


def restored(stored: object) -> HostFacts:
    """What `encode` made: its texts and numbers were cleaned before. Raises `BadHostData` where an
    older version stored fewer fields."""
    return converted(stored, HostFacts, "inventory")


def encode(facts: HostFacts) -> dict[str, Any]:
    """Facts as the JSON that is stored: what `restored` reads back."""
    stored: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(facts))
    return stored
