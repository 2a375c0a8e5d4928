"""Facts of logical volumes, decoded from LVM's rows: their kind, extents and cache. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..calls.names import printable
from ..kernel.dm import SECTOR, CacheStatus
from ..kernel.lvm import Row, flag, number, split_list

_DEVICE = re.compile(r"(.+)\((\d+)\)")


class Layout:
    """Which LVs stand on which PVs, followed through LVM's hidden sub-volumes."""

    def __init__(self, lvs: Sequence[Row], segments: Sequence[Row]) -> None:
        self.by_uuid: dict[str, Row] = {row["lv_uuid"]: row for row in lvs}
        self.by_name: dict[tuple[str, str], Row] = {
            (row["vg_uuid"], row["lv_name"]): row for row in lvs
        }
        self.segments: dict[str, list[Row]] = {}
        for row in segments:
            self.segments.setdefault(row["lv_uuid"], []).append(row)

    def pvs(self, lv_uuid: str) -> list[str]:
        """Names below /dev of the PVs under an LV ("[unknown]" for a missing one), in order."""
        return list(dict.fromkeys(self._walk(lv_uuid, set())))

    def segment_pvs(self, segment: Row) -> list[str]:
        row = self.by_uuid.get(segment["lv_uuid"])
        vg_uuid = "" if row is None else row["vg_uuid"]
        seen = {segment["lv_uuid"]}
        return list(dict.fromkeys(self._segment(vg_uuid, segment, seen)))

    def parts(self, lv_uuid: str) -> list[Row]:
        """The sub-volumes directly under an LV."""
        row = self.by_uuid.get(lv_uuid)
        if row is None:
            return []
        names = [name for segment in self.segments.get(lv_uuid, ()) for name in _devices(segment)]
        parts = [self.by_name.get((row["vg_uuid"], name)) for name in names]
        return [part for part in parts if part is not None]

    def parts_below(self, lv_uuid: str) -> list[str]:
        """Uuids of all sub-volumes of an LV, its cache pool's too, however deep."""
        sub_volumes: list[str] = []
        pending = [lv_uuid]
        while pending:
            uuid = pending.pop()
            pool = self.by_uuid[uuid]["pool_lv_uuid"]
            below = [part["lv_uuid"] for part in self.parts(uuid)] + [pool] * (pool in self.by_uuid)
            new = [each for each in below if each not in sub_volumes and each != lv_uuid]
            sub_volumes += new
            pending += new
        return sub_volumes

    def _walk(self, lv_uuid: str, seen: set[str]) -> list[str]:
        row = self.by_uuid.get(lv_uuid)
        if row is None or lv_uuid in seen:
            return []
        seen.add(lv_uuid)
        pvs: list[str] = []
        for segment in self.segments.get(lv_uuid, ()):
            pvs += self._segment(row["vg_uuid"], segment, seen)
        return pvs

    def _segment(self, vg_uuid: str, segment: Row, seen: set[str]) -> list[str]:
        pvs: list[str] = []
        for name in _devices(segment):
            inner = self.by_name.get((vg_uuid, name))
            if inner is not None:
                pvs += self._walk(inner["lv_uuid"], seen)
            else:
                pvs.append(pv_name(name))
        return pvs


def pv_name(path: str) -> str:
    """ "/dev/md0" -> "md0"; "[unknown]" stays."""
    return path[len("/dev/") :] if path.startswith("/dev/") else path


def lv_facts(row: Row, layout: Layout, kname: str | None) -> dict[str, Any]:
    """An LV as the inventory gives it, without what only the kernel knows (cache figures,
    bcache, users)."""
    major, minor = row["lv_kernel_major"], row["lv_kernel_minor"]
    active = row["lv_active"] in ("1", "active")
    known = active and number(minor) >= 0 and minor != ""
    segments = [
        {
            "type": segment["segtype"],
            "start_bytes": number(segment["seg_start"]),
            "size_bytes": number(segment["seg_size"]),
            "pvs": layout.segment_pvs(segment),
        }
        for segment in layout.segments.get(row["lv_uuid"], ())
    ]
    return {
        "uuid": row["lv_uuid"],
        "name": row["lv_name"],
        "vg_uuid": row["vg_uuid"],
        "vg_name": row["vg_name"],
        "size_bytes": number(row["lv_size"]),
        "layout": split_list(row["lv_layout"]),
        "role": split_list(row["lv_role"]),
        "tags": split_list(row["lv_tags"]),
        "active": active,
        "suspended": flag(row["lv_suspended"]),
        "open_count": max(0, number(row["lv_device_open"])),
        "dev": f"{major}:{minor}" if known else None,
        "kname": kname if known else None,
        "health": row["lv_health_status"],
        "segments": segments,
        "allocation": printable(row.get("lv_allocation_policy", "")),
        "host_use": "",
        "snapshots": [],
        "work": None,
        "cache": None,
        "writecache": None,
        "bcache": None,
        "users": [],
    }


def cache_facts(
    row: Row, layout: Layout, statuses: Mapping[str, CacheStatus]
) -> dict[str, Any] | None:
    """The cache of an LV with a cache pool; None for any other LV. `statuses` by LV uuid; for an
    inactive LV the figures are those LVM stores (mode, policy) and zeros. Unless `dirty_known`
    the kernel told nothing, and `dirty_bytes` 0 does not mean clean."""
    if "cache" not in split_list(row["lv_layout"]) or not row["pool_lv"]:
        return None
    pool_uuid = row["pool_lv_uuid"]
    pool = layout.by_uuid.get(pool_uuid)
    stored = next(iter(layout.segments.get(row["lv_uuid"], ())), {})
    pool_segment = next(iter(layout.segments.get(pool_uuid, ())), {})
    status = statuses.get(row["lv_uuid"])
    chunk = number(stored.get("chunk_size", "")) or number(pool_segment.get("chunk_size", ""))
    if status is not None and not status.failed:
        chunk = status.chunk_sectors * SECTOR
    settings = dict(
        item.split("=", 1) for item in split_list(stored.get("cache_settings", "")) if "=" in item
    )  # type: dict[str, str]
    threshold = number(settings.get("migration_threshold", "")) or 2048
    if status is not None and status.migration_threshold is not None:
        threshold = status.migration_threshold
    name = row["pool_lv"]
    dirty_bytes = None if status is None else status.dirty_bytes
    lvm_policy = stored.get("cache_policy", "")
    return {
        "pool": name[: -len("_cpool")] if name.endswith("_cpool") else name,
        "pool_uuid": pool_uuid,
        # Under the cleaner policy the kernel runs writethrough, whatever mode LVM has stored.
        "mode": stored.get("cache_mode", "") or (status.mode if status else ""),
        # They differ while LVM empties the cache, and after that was broken off: it does so by a
        # flag beside its policy.
        "policy": (status.policy if status else "") or lvm_policy,
        "lvm_policy": lvm_policy,
        "chunk_bytes": chunk,
        "size_bytes": 0 if pool is None else number(pool["lv_size"]),
        "used_bytes": 0 if status is None else status.used * chunk,
        "dirty_bytes": dirty_bytes or 0,
        "dirty_known": dirty_bytes is not None,
        "needs_check": status is not None and status.needs_check,
        "failed": status is not None and status.failed,
        "migration_threshold_sectors": threshold,
        "pvs": pool_pvs(pool_uuid, layout),
    }


def pool_pvs(pool_uuid: str, layout: Layout) -> list[str]:
    """PVs of a pool's data and metadata."""
    return layout.pvs(pool_uuid)


def _devices(segment: Row) -> list[str]:
    words = split_list(segment["devices"]) + split_list(segment["metadata_devices"])
    matches = [_DEVICE.fullmatch(word) for word in words]
    return [match.group(1) for match in matches if match is not None]
