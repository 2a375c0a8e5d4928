"""One invented storage host: its disks, its volumes and what its agent would answer. Pure.

Everything follows from the seed: the same fleet has the same names, sizes and uuids every time.
"""

from __future__ import annotations

import base64
import dataclasses
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Final, Literal

from storage.agent import VERSION
from storage.byte_sizes import GIB
from storage.inventory.facts import (
    Array,
    HostFacts,
    KernelIdentity,
    LogicalVolume,
    PhysicalVolume,
    VolumeGroup,
)
from storage.inventory.facts import ArrayMember as Member
from storage.inventory.volume_parts import VolumeUser
from storage.naming import cache_device_name, pool_name, retired_name, volume_name
from storage.planner.wish import smallest_chunk_kib
from tests import make

Role = Literal["lvmcache", "bcache", "degraded", "silent", "observe", "maintenance"]
ROLES: Final[tuple[Role, ...]] = (
    "lvmcache",
    "bcache",
    "degraded",
    "silent",
    "observe",
    "maintenance",
)
"""What the first hosts of a fleet show; all further ones are like the first two."""

Technology = Literal["", "lvmcache", "bcache"]
WORDS = ("web", "db", "mail", "shop", "git", "wiki", "cloud", "backup", "app", "redis", "build")
DISKS = ("root", "data", "data", "mysql", "home", "srv")
SIZES_GIB = (20, 40, 40, 60, 80, 80, 120, 160, 250, 400)
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz0123456789"
VG: Final = "vg0"
OLD_VERSION: Final = "0.1.0"
SATA_DOM, NVME = "sdg", "nvme0n1"


@dataclass(frozen=True, slots=True)
class Invented:
    """A volume: what its LV is called and carries, and how busy its guest is. `is_managed`: it
    carries our tag; `cache_bytes` is 0 without a cache."""

    key: str
    lv_uuid: str
    lv_name: str
    label: str
    guest: str
    technology: Technology
    layout: Literal["plain", "bcache"]
    size_bytes: int
    cache_bytes: int
    mode: str
    is_managed: bool
    is_retired: bool
    iops: float
    phase: float
    working_set: float


@dataclass(frozen=True, slots=True)
class Machine:
    """A host and its volumes; `vg_uuid` is its one group for guests."""

    name: str
    role: Role
    vg_uuid: str
    machine_id: str
    volumes: tuple[Invented, ...]

    @property
    def is_allowed(self) -> bool:
        """Whether root lets Tiercel change the group."""
        return self.role != "observe"


def machine(seed: int, number: int, volume_count: int, at: datetime) -> Machine:
    """Host `number` (from 0) of a fleet, as it is `at` that time."""
    random = Random(f"{seed}/{number}")
    role = ROLES[number] if number < len(ROLES) else ROLES[number % 2]
    volumes = tuple(_volume(random, role, number, n) for n in range(volume_count))
    return Machine(
        name=f"stor-{('ams', 'fra', 'hel')[number % 3]}-{number + 1:02d}",
        role=role,
        vg_uuid=_lvm_uuid(random),
        machine_id=f"{random.getrandbits(128):032x}",
        volumes=volumes,
    )


def _volume(random: Random, role: Role, host: int, n: int) -> Invented:
    key = base64.b32encode(random.randbytes(10)).decode().lower()
    guest = f"{random.choice(WORDS)}{host + 1}{n:02d}"
    size_gib = random.choice(SIZES_GIB)
    size_bytes = size_gib * GIB
    technology: Technology = ("lvmcache", "", "lvmcache", "bcache", "lvmcache", "", "bcache")[n % 7]
    if role == "bcache":
        technology = "bcache" if n % 3 else ""
    if role == "observe":
        technology = "lvmcache" if n == 0 else ""
    is_retired = role == "maintenance" and n == 1
    layout: Literal["plain", "bcache"] = "plain"
    if technology == "bcache" or (role == "bcache" and n % 2):
        layout = "bcache"
    if is_retired:
        technology, layout = "", "plain"
    cached = bool(technology)
    writeback = cached and random.random() < 0.3
    is_managed = role != "observe" and n % 11 != 10
    return Invented(
        key=key,
        lv_uuid=_lvm_uuid(random),
        lv_name=retired_name(key)
        if is_retired
        else volume_name(key)
        if is_managed
        else f"vm-{100 + n}-disk-0",
        label=f"{guest} {random.choice(DISKS)}",
        guest=guest,
        technology=technology,
        layout=layout,
        size_bytes=size_bytes,
        # Most as the plans that are sold have them, the others as an admin chose.
        cache_bytes=random.choice((4, 16, size_gib // 5, size_gib // 10)) * GIB if cached else 0,
        mode="writeback" if writeback else "writethrough",
        is_managed=is_managed,
        is_retired=is_retired,
        iops=min(1500.0, random.lognormvariate(4.2, 0.9)),
        phase=random.random(),
        working_set=random.choice((0.04, 0.08, 0.15, 0.4)),
    )


def facts(of: Machine, at: datetime) -> HostFacts:
    """The inventory of the machine."""
    random = Random(of.machine_id)
    slow_bytes = sum(each.size_bytes for each in of.volumes)
    fast_bytes = sum(each.cache_bytes for each in of.volumes)
    is_full = of.role == "bcache"
    slow = _room(slow_bytes, 8192 * GIB)
    fast = fast_bytes + 6 * GIB if is_full else _room(fast_bytes, 893 * GIB)
    group = VolumeGroup(
        uuid=of.vg_uuid,
        name=VG,
        size_bytes=slow + fast,
        free_bytes=slow - slow_bytes + fast - fast_bytes,
        extent_bytes=make.EXTENT_BYTES,
        seqno=211,
        tags=(),
        missing_pv_count=0,
        allowed=of.is_allowed,
        sharing=(),
        metadata_bytes=8 << 20,
        metadata_free_bytes=4 << 20,
        clears_freed=True,
        zeroes_pools=True,
    )
    broken = 1 if of.role == "degraded" else 0
    pvs = tuple(
        _pv(random, of.vg_uuid, name, tier, size, free, not (broken and tier == "fast"))
        for name, tier, size, free in (
            ("md1", "slow", slow, slow - slow_bytes),
            ("md0", "fast", fast, fast - fast_bytes),
        )
    )
    lvs: list[LogicalVolume] = []
    csets = []
    for n, each in enumerate(of.volumes):
        lv, device, cset = _lvs(random, of, each, n, at)
        lvs += [lv] if device is None else [lv, device]
        csets += [] if cset is None else [cset]
    return HostFacts(
        consistent=True,
        stale=False,
        disks=_disks(random, of, fast, slow),
        arrays=(
            _array("md0", "raid1", fast, ("sda", "sdb"), broken),
            _array("md1", "raid10", slow, ("sdc", "sdd", "sde", "sdf"), 0),
        ),
        pvs=pvs,
        vgs=(group,),
        lvs=tuple(lvs),
        csets=tuple(csets),
        lvm_version="2.03.16",
        kernel=KernelIdentity("6.1.0-37-amd64", "#1 SMP Debian 6.1.140-1 (2025-05-22)"),
    )


def hello(of: Machine) -> dict[str, Any]:
    """What the agent says of the host, without problems."""
    return {
        "agent": OLD_VERSION if of.role == "maintenance" else VERSION,
        "protocol": 1,
        "hostname": of.name,
        "machine_id": of.machine_id,
        "kernel": "6.1.0-28-amd64",
        "os": "Debian GNU/Linux 12 (bookworm)",
        "python": "3.11.2",
        "lvm2": "2.03.16(2)",
        "tools": {"lvs": True, "lvcreate": True, "cache_check": True, "make-bcache": True},
        "modules": {"dm_cache": True, "bcache": True},
        "policy": {
            "vgs": [VG] if of.is_allowed else [],
            "fast_pvs": [],
            "slow_pvs": [],
            "destroy_per_hour": 5,
            "undo_hours": 24,
        },
        "boot": {"unit": True, "ran": True, "failed": []},
        "links": True,
    }


def problems(of: Machine) -> list[dict[str, str]]:
    """Preflight problems, in the words of the agent."""
    found = {
        "degraded": (
            "array_degraded",
            "error",
            "1 disk is missing from md0 (raid1): 1 of 2 disks left.",
            "Replace the disk: mdadm --manage /dev/md0 --add /dev/NEW",
        ),
        "observe": (
            "bcache_scanned",
            "warning",
            "LVM scans bcache devices. It could pick up a guest's volume group as the host's own.",
            'Set devices/global_filter=["r|^/dev/bcache.*|"] in /etc/lvm/lvm.conf.',
        ),
    }
    if of.role not in found:
        return []
    return [dict(zip(("code", "severity", "message", "correction"), found[of.role], strict=True))]


def _room(used_bytes: int, least_bytes: int) -> int:
    return max(least_bytes, used_bytes * 3 // 2 // GIB * GIB)


def _pv(
    random: Random, vg_uuid: str, name: str, tier: str, size: int, free: int, healthy: bool
) -> PhysicalVolume:
    return make.pv(
        name,
        uuid=_lvm_uuid(random),
        vg_uuid=vg_uuid,
        vg_name=VG,
        tier=tier,
        size_bytes=size,
        free_bytes=free,
        redundant=True,
        healthy=healthy,
    )


def _disks(random: Random, of: Machine, fast: int, slow: int) -> tuple[Any, ...]:
    found = []
    for n, name in enumerate(("sda", "sdb", "sdc", "sdd", "sde", "sdf")):
        is_ssd = n < 2
        if of.role == "degraded" and name == "sdb":
            continue
        found.append(
            make.disk(
                name,
                dev=f"8:{16 * n}",
                size_bytes=fast if is_ssd else slow // 2,
                rotational=not is_ssd,
                model="SAMSUNG MZ7L3960HCJR" if is_ssd else "ST4000NM002A",
                serial=f"{'S6' if is_ssd else 'ZC'}{random.randrange(10**9):09d}",
                transport="sata",
            )
        )
    if of.role == "lvmcache":
        number = of.name[-2:]
        found += [
            _ssd(SATA_DOM, "8:96", 64, "SuperMicro SSD", f"SMC0515D{number}", "sata"),
            _ssd(NVME, "259:0", 960, "SAMSUNG MZQL2960HCJR", f"S64F{number}", "nvme"),
        ]
    return tuple(found)


def _ssd(name: str, dev: str, size_gb: int, model: str, serial: str, transport: str) -> Any:
    """An SSD that serves no group: the one that the host starts from, or a spare."""
    return make.disk(
        name,
        dev=dev,
        size_bytes=size_gb * 10**9,
        rotational=False,
        model=model,
        serial=serial,
        transport=transport,
    )


def _array(name: str, level: str, size: int, members: tuple[str, ...], broken: int) -> Array:
    there = members[: len(members) - broken]
    return Array(
        name=name,
        dev=f"9:{name[2:]}",
        uuid=f"{name}:0011:2233:4455",
        level=level,
        state="clean, degraded" if broken else "clean",
        size_bytes=size,
        degraded_count=broken,
        sync_action="idle",
        members=tuple(Member(each, "in_sync") for each in there),
    )


def _lvs(
    random: Random, of: Machine, each: Invented, n: int, at: datetime
) -> tuple[LogicalVolume, LogicalVolume | None, Any]:
    """The LV of a volume, and the one of its cache, where it has one."""
    common = {"vg_uuid": of.vg_uuid, "vg_name": VG}
    key = base64.b32encode(random.randbytes(10)).decode().lower()
    used_bytes = round(each.cache_bytes * random.uniform(0.3, 1.0))
    dirty_bytes = round(used_bytes * random.uniform(0.01, 0.2)) if each.mode == "writeback" else 0
    fields: dict[str, Any] = {}
    device = cset = None
    if each.technology == "lvmcache":
        pool_uuid = _lvm_uuid(random)
        fields["cache"] = make.dm_cache(
            f"{pool_name(key)}_cpool",
            pool_uuid=pool_uuid,
            mode=each.mode,
            chunk_bytes=smallest_chunk_kib(each.cache_bytes) * 1024,
            size_bytes=each.cache_bytes,
            used_bytes=used_bytes,
            dirty_bytes=dirty_bytes,
        )
        device = make.pool(
            f"{pool_name(key)}_cpool",
            uuid=pool_uuid,
            size_bytes=each.cache_bytes,
            dev=f"253:{500 + n}",
            kname=f"dm-{500 + n}",
            **common,
        )
    cset_uuid = f"{random.getrandbits(32):08x}-1b57-4c0e-8a53-{random.getrandbits(48):012x}"
    if each.layout == "bcache":
        fields["bcache"] = make.bcache(
            uuid=f"{random.getrandbits(32):08x}-6f7f-4a55-9a35-{random.getrandbits(48):012x}",
            device=f"bcache{n}",
            cset_uuid=cset_uuid if each.cache_bytes else None,
            state=("dirty" if dirty_bytes else "clean") if each.cache_bytes else "no cache",
            cache_mode=each.mode,
            dirty_bytes=dirty_bytes,
            size_bytes=each.size_bytes,
        )
        if each.cache_bytes:
            device = make.lv(
                cache_device_name(key),
                uuid=_lvm_uuid(random),
                size_bytes=each.cache_bytes,
                pvs=("md0",),
                tags=make.tags(each.key, made="cset"),
                dev=f"253:{500 + n}",
                kname=f"dm-{500 + n}",
                **common,
            )
            cset = make.cset(
                device.uuid,
                uuid=cset_uuid,
                device=f"dm-{500 + n}",
                size_bytes=each.cache_bytes,
                unused_percent=100 - round(100 * used_bytes / each.cache_bytes),
                backing_count=1,
            )
    tags = make.tags(each.key) if each.is_managed else ()
    if each.is_retired:
        retired_at = int(at.timestamp()) - 5 * 3600
        tags += (f"tiercel.retired={retired_at}", f"tiercel.name={volume_name(each.key)}")
        fields |= {"active": False, "open_count": 0, "dev": None, "kname": None}
    else:
        users = (VolumeUser("qemu", each.guest, "vda", 2000 + n),)
        fields |= {"users": users, "dev": f"253:{n}", "kname": f"dm-{n}"}
    lv = make.lv(
        each.lv_name,
        uuid=each.lv_uuid,
        size_bytes=each.size_bytes,
        pvs=("md1",),
        tags=tags,
        **common,
        **fields,
    )
    return lv, device, cset


def _lvm_uuid(random: Random) -> str:
    groups = ("".join(random.choices(LETTERS, k=length)) for length in (6, 4, 4, 4, 4, 4, 6))
    return "-".join(groups)


def as_reply(of: Machine, at: datetime) -> dict[str, Any]:
    """The inventory as the agent's reply has it."""
    return dataclasses.asdict(facts(of, at))
