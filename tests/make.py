"""One object each, with sensible defaults and explicit associations.

Rows of the database: `user`, `staff_user`, `customer`, `host`, `activity`,
`physical_disk`, `volume`, `placement`.
Facts of a host (pure): `disk`, `pv`, `vg`, `lv`, `dm_cache`, `bcache`, `cset`, `facts`, and
`inventory`, which is `facts` as the agent's reply says them; `columns` of a series. Everything pure
lies in one volume group `vg0` (`VG_UUID`): a slow `sdc` and a redundant, fast `md0`.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
from django.utils import timezone

from panel.models import User
from storage.byte_sizes import GIB, MIB
from storage.inventory.facts import (
    Array,
    ArrayMember,
    BcacheBacking,
    CacheSet,
    Disk,
    DmCache,
    HostFacts,
    KernelIdentity,
    LogicalVolume,
    PhysicalVolume,
    VolumeGroup,
)
from storage.inventory.volume_parts import Segment
from storage.models import (
    CacheCondition,
    Customer,
    DiskRound,
    Host,
    HostActivity,
    PhysicalDisk,
    Placement,
    Volume,
)
from storage.naming import (
    FORMAT_TAG,
    MADE_TAG_PREFIX,
    MANAGED_TAG,
    ZEROED_TAG,
    ZEROING_TAG,
    new_key,
    volume_name,
    volume_tag,
)
from storage.planner import Target
from storage.planner.wish import MIGRATION_THRESHOLD_SECTORS, SEQUENTIAL_CUTOFF_BYTES
from storage.volumes.slow_volumes import NOTED_AS, VOLUME_SLOW, SlowTime

EXTENT_BYTES = 4 * MIB
VG_UUID = "vGvGvG-0000-0000-0000-0000-0000-000000"
CSET_UUID = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c001"
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExampleE"

_numbers = itertools.count(1)


def lvm_uuid() -> str:
    """A new uuid in LVM's form."""
    return f"mAkEmA-0000-0000-0000-0000-0000-{next(_numbers):06d}"


def tags(
    volume_key: str, *, zeroing: bool = False, unformatted: bool = False, made: str = ""
) -> tuple[str, ...]:
    """What Tiercel writes on the LVs of the volume `volume_key`; `made`: pool, cset or room."""
    passing = [ZEROING_TAG] * zeroing + [FORMAT_TAG] * unformatted
    passing += [ZEROED_TAG] * (made == "pool" and not zeroing)
    marks = [f"{MADE_TAG_PREFIX}{made}"] if made else []
    return (MANAGED_TAG, volume_tag(volume_key), *marks, *passing)


# Rows


def user(email: str | None = None, **fields: Any) -> User:
    return User.objects.create_user(email or f"user{next(_numbers)}@example.org", **fields)


def staff_user(email: str | None = None, **fields: Any) -> User:
    return user(email, **{"staff_role": "admin", **fields})


def customer(name: str | None = None) -> Customer:
    return Customer.objects.create(name=name or f"Customer {next(_numbers)}")


def host(**fields: Any) -> Host:
    """An active host with a pinned key."""
    number = next(_numbers)
    defaults = {
        "name": f"host{number}",
        "address": "127.0.0.1",
        "state": "active",
        "machine_id": f"{number:032x}",
        "host_key": HOST_KEY,
    }
    return Host.objects.create(**{**defaults, **fields})


def activity(of: Host, **fields: Any) -> HostActivity:
    """What the host did in its last round of samples."""
    return HostActivity.objects.create(host=of, **{"at": timezone.now(), **fields})


def physical_disk(of: Host, **fields: Any) -> PhysicalDisk:
    """A disk that was read a moment ago, with what its `health` says."""
    now, serial = timezone.now(), f"S{next(_numbers)}"
    DiskRound.objects.get_or_create(
        host=of, defaults={"tried_at": now, "answered_at": now, "complete_at": now}
    )
    health = {"protocol": "ATA", "model": "ST8000NM000A", "serial": serial, "passed": True}
    defaults = {
        "identity": f"ST8000NM000A {serial}",
        "device": "/dev/sda",
        "name": "sda",
        "state": "read",
        "asked_at": now,
        "read_at": now,
        "health": health,
    }
    return PhysicalDisk.objects.create(host=of, **{**defaults, **fields})


def volume(**fields: Any) -> Volume:
    """A volume that lies nowhere yet; see `placement`."""
    defaults = {"label": f"volume {next(_numbers)}", "size_bytes": 8 * GIB}
    return Volume.objects.create(**{**defaults, **fields})


def placement(volume: Volume, host: Host, **fields: Any) -> Placement:
    """Where `volume` lies now; `lv_uuid=None` means that its LV is still to be made."""
    defaults = {
        "vg_name": "vg0",
        "vg_uuid": VG_UUID,
        "lv_name": volume_name(volume.key),
        "lv_uuid": lvm_uuid(),
    }
    return Placement.objects.create(volume=volume, host=host, **{**defaults, **fields})


# Facts


def slow(volume: Volume, host: Host, read_ms: float = 24.0, minutes: int = 7) -> CacheCondition:
    """The judge's note that the volume is slow."""
    now = timezone.now()
    time = SlowTime(now - timedelta(minutes=minutes), now, read_ms, 20, is_now=True)
    finding = {"code": VOLUME_SLOW, "severity": "warning", "message": "Slow.", "correction": ""}
    finding |= {"subject": f"vg0/{volume.label}", "since": time.begun.isoformat()}
    return CacheCondition.objects.create(
        host=host, volume=volume, findings=[finding], noted={NOTED_AS: time.to_json()}
    )


def disk(name: str = "sda", **fields: Any) -> Disk:
    defaults = {
        "dev": "8:0",
        "size_bytes": 100 * GIB,
        "rotational": True,
        "model": "LAB-HDD",
        "serial": f"serial-{name}",
        "transport": "sas",
        "logical_sector_bytes": 512,
        "read_only": False,
    }
    return Disk(name=name, **{**defaults, **fields})


def array(**fields: Any) -> Array:
    """A clean mirror `md0` of two disks."""
    defaults = {
        "name": "md0",
        "dev": "9:0",
        "uuid": "76600b8d",
        "level": "raid1",
        "state": "clean",
        "size_bytes": 100 * GIB,
        "degraded_count": 0,
        "sync_action": "idle",
        "members": (ArrayMember("sda2", "in_sync"), ArrayMember("sdb2", "in_sync")),
    }
    return Array(**{**defaults, **fields})


def pv(name: str = "sdc", **fields: Any) -> PhysicalVolume:
    """A healthy physical volume with 40 GiB free; slow and alone by default."""
    defaults = {
        "uuid": lvm_uuid(),
        "vg_uuid": VG_UUID,
        "vg_name": "vg0",
        "size_bytes": 100 * GIB,
        "free_bytes": 40 * GIB,
        "missing": False,
        "duplicate": False,
        "tier": "slow",
        "redundant": False,
        "healthy": True,
        "logical_sector_bytes": 512,
    }
    return PhysicalVolume(name=name, **{**defaults, **fields})


def fast_pv(name: str = "md0", **fields: Any) -> PhysicalVolume:
    """A redundant SSD (an md RAID1)."""
    return pv(name, **{"tier": "fast", "redundant": True, **fields})


def vg(**fields: Any) -> VolumeGroup:
    defaults = {
        "uuid": VG_UUID,
        "name": "vg0",
        "size_bytes": 200 * GIB,
        "free_bytes": 80 * GIB,
        "extent_bytes": EXTENT_BYTES,
        "seqno": 1,
        "tags": (),
        "missing_pv_count": 0,
        "allowed": True,
        "sharing": (),
        "metadata_bytes": 522240,
        "metadata_free_bytes": 517632,
        "clears_freed": True,
        "zeroes_pools": True,
    }
    return VolumeGroup(**{**defaults, **fields})


def segment(*pvs: str, **fields: Any) -> Segment:
    defaults = {"type": "linear", "start_bytes": 0, "size_bytes": 8 * GIB}
    return Segment(pvs=pvs, **{**defaults, **fields})


def lv(name: str = "web12", **fields: Any) -> LogicalVolume:
    """A linear, public, untagged LV of 8 GiB on `sdc`. `pvs` is short for its one segment."""
    pvs, size_bytes = fields.pop("pvs", ("sdc",)), fields.pop("size_bytes", 8 * GIB)
    defaults = {
        "uuid": lvm_uuid(),
        "vg_uuid": VG_UUID,
        "vg_name": "vg0",
        "size_bytes": size_bytes,
        "layout": ("linear",),
        "role": ("public",),
        "tags": (),
        "active": True,
        "suspended": False,
        "open_count": 1,
        "dev": "253:4",
        "kname": "dm-4",
        "health": "",
        "segments": (segment(*pvs, size_bytes=size_bytes),),
        "cache": None,
        "bcache": None,
        "users": (),
    }
    return LogicalVolume(name=name, **{**defaults, **fields})


def dm_cache(pool: str, **fields: Any) -> DmCache:
    """An attached, clean writethrough cache of 2 GiB on `md0`."""
    defaults = {
        "pool_uuid": lvm_uuid(),
        "mode": "writethrough",
        "policy": "smq",
        "chunk_bytes": 64 * 1024,
        "size_bytes": 2 * GIB,
        "used_bytes": 0,
        "dirty_bytes": 0,
        "needs_check": False,
        "failed": False,
        "migration_threshold_sectors": MIGRATION_THRESHOLD_SECTORS,
        "pvs": ("md0",),
    }
    return DmCache(pool=pool, **{**defaults, **fields})


def pool(name: str, **fields: Any) -> LogicalVolume:
    """A cache pool of 2 GiB on `md0` that no volume uses."""
    defaults = {
        "layout": ("cache", "pool"),
        "role": ("private",),
        "size_bytes": 2 * GIB,
        "pvs": ("md0",),
        "open_count": 0,
    }
    return lv(name, **{**defaults, **fields})


def bcache(**fields: Any) -> BcacheBacking:
    """A formatted backing device without a cache."""
    defaults = {
        "uuid": "0d5b7d1c-6f7f-4a55-9a35-3f8d6f0c0001",
        "device": "bcache0",
        "cset_uuid": None,
        "state": "no cache",
        "cache_mode": "writethrough",
        "sequential_cutoff_bytes": SEQUENTIAL_CUTOFF_BYTES,
        "writeback_percent": 10,
        "dirty_bytes": 0,
        "size_bytes": 8 * GIB,
    }
    return BcacheBacking(**{**defaults, **fields})


def cset(lv_uuid: str | None, **fields: Any) -> CacheSet:
    defaults = {
        "uuid": CSET_UUID,
        "device": "dm-7",
        "size_bytes": 2 * GIB,
        "bucket_bytes": 512 * 1024,
        "available_percent": 100,
        "unused_percent": 100,
        "backing_count": 0,
    }
    return CacheSet(lv_uuid=lv_uuid, **{**defaults, **fields})


def facts(*lvs: LogicalVolume, **fields: Any) -> HostFacts:
    """One group with a slow disk and a redundant SSD, and these LVs."""
    defaults = {
        "consistent": True,
        "stale": False,
        "disks": (),
        "arrays": (),
        "csets": (),
        "pvs": (pv(), fast_pv()),
        "vgs": (vg(),),
        "lvs": lvs,
        "lvm_version": "2.03.16",
        "kernel": KernelIdentity("6.1.0-37-amd64", "#1 SMP Debian 6.1.140-1 (2025-05-22)"),
    }
    return HostFacts(**{**defaults, **fields})


def inventory(facts: HostFacts) -> dict[str, Any]:
    """`facts` as the data of the agent's `inventory` reply: what JSON gives back."""
    data: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(facts)))
    return data


def target(lv: LogicalVolume | None = None, *, volume_key: str | None = None) -> Target:
    """What a plan is about: that LV, or one that is still to be made."""
    key = volume_key or new_key()
    name = lv.name if lv is not None else volume_name(key)
    return Target(key, VG_UUID, "vg0", name, lv.uuid if lv is not None else None)


def columns(
    rows: Sequence[Mapping[str, float | None]],
) -> dict[str, npt.NDArray[np.float64]]:
    """The columns of a `storage.metrics.series.Series` with one of these mappings a bucket."""
    names = rows[0] if rows else ()
    return {name: np.array([row[name] for row in rows], np.float64) for name in names}
