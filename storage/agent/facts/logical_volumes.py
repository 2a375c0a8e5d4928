"""Facts of logical volumes, decoded from LVM's rows: their kind, extents and cache. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Callable

from ..calls.names import printable
from ..commands.command import MADE_POOL
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


MISSING = "[unknown]"
"""LVM's name for a physical volume that it does not find."""


@dataclass(frozen=True)
class Standing:
    """What the disks below a volume mean for its data. `lost`: some of it cannot be read any more.
    `degraded`: all of it can, and a copy is missing or old. `redundant`: it is laid out so that any
    one disk may die, whether by LVM's own RAID or by arrays below its physical volumes."""

    lost: bool
    degraded: bool
    redundant: bool

    def to_json(self) -> dict[str, bool]:
        return asdict(self)


UNKNOWN = Standing(lost=False, degraded=False, redundant=False)
GONE = Standing(lost=True, degraded=True, redundant=False)


@dataclass
class Standings:
    """The standing of volumes, through all hidden layers. `pvs` are the facts of the physical
    volumes by name, `disks_under` returns the disks below one."""

    layout: Layout
    pvs: Mapping[str, Mapping[str, Any]]
    disks_under: Callable[[str], frozenset[str]]
    _known: dict[str, Standing] = field(default_factory=dict)

    def of(self, lv_uuid: str) -> Standing:
        """Of a cached volume that of what lies below the cache; of a pool that of its data and
        its metadata."""
        if lv_uuid not in self._known:
            # A volume that lies on itself, which only forged metadata has, is unknown.
            self._known[lv_uuid] = UNKNOWN
            self._known[lv_uuid] = self._of(lv_uuid)
        return self._known[lv_uuid]

    def _of(self, lv_uuid: str) -> Standing:
        row = self.layout.by_uuid.get(lv_uuid)
        segments = self.layout.segments.get(lv_uuid, ())
        if row is None or not segments:
            return UNKNOWN
        whole = _all_of([self._segment(row, segment) for segment in segments])
        is_sick = row["lv_health_status"] in SICK_RAID and is_raid(split_list(row["lv_layout"]))
        return Standing(whole.lost, whole.degraded or is_sick, whole.redundant)

    def _segment(self, row: Row, segment: Row) -> Standing:
        kind = segment["segtype"].split("_", 1)[0]
        if kind == "error":
            return GONE
        images = [self._named(row, name) for name in device_names(segment["devices"])]
        others = [self._named(row, name) for name in device_names(segment["metadata_devices"])]
        if kind in LOSABLE:
            return self._raid(row, segment, kind, images, others)
        # A thin volume stands on its pool alone; what a dm-writecache holds is nowhere else.
        if row["pool_lv_uuid"] and (kind == "writecache" or not images):
            images.append(self.of(row["pool_lv_uuid"]))
        return _all_of([*images, *others])

    def _raid(
        self,
        row: Row,
        segment: Row,
        kind: str,
        images: Sequence[Standing],
        others: Sequence[Standing],
    ) -> Standing:
        """An image whose metadata is lost is as lost."""
        pairs = itertools.zip_longest(images, others[: len(images)], fillvalue=UNKNOWN)
        lost = [image.lost or metadata.lost for image, metadata in pairs]
        may_lose = LOSABLE[kind] if LOSABLE[kind] is not None else len(images) - 1
        is_lost = sum(lost) > (may_lose or 0)
        if kind == "raid10":
            # Each block is on two neighbours.
            is_lost = any(map(all, zip(lost[::2], lost[1::2])))
        return Standing(
            is_lost,
            any(lost) or any(image.degraded for image in images),
            self._apart(row, segment, kind) or all(image.redundant for image in images),
        )

    def _apart(self, row: Row, segment: Row, kind: str) -> bool:
        """Whether the images survive the loss of any one disk. A disk that is missing now was
        another one than those that are there."""
        under = [
            frozenset(disk for pv in self._pvs(row, name) for disk in self._disks(pv, name))
            for name in device_names(segment["devices"])
        ]
        pairs = [not (one & two) for one, two in itertools.combinations(under, 2)]
        return any(pairs) if kind in ("raid1", "mirror") else bool(pairs) and all(pairs)

    def _pvs(self, row: Row, name: str) -> list[str]:
        inner = self.layout.by_name.get((row["vg_uuid"], name))
        return [pv_name(name)] if inner is None else self.layout.pvs(inner["lv_uuid"])

    def _disks(self, pv: str, image: str) -> frozenset[str]:
        return frozenset([f"{MISSING} {image}"]) if pv == MISSING else self.disks_under(pv)

    def _with_cache(self, part: Row) -> Standing:
        """Of a part of a volume: where it has a cache (the data of a thin pool), what stands on it
        reads through that."""
        own = self.of(part["lv_uuid"])
        if "cache" not in split_list(part["lv_layout"]) or not part["pool_lv_uuid"]:
            return own
        return _all_of([own, self.of(part["pool_lv_uuid"])])

    def _named(self, row: Row, name: str) -> Standing:
        inner = self.layout.by_name.get((row["vg_uuid"], name))
        if inner is not None:
            return self._with_cache(inner)
        pv = self.pvs.get(pv_name(name))
        if pv_name(name) == MISSING or (pv is not None and pv["missing"]):
            return GONE
        if pv is None:
            return UNKNOWN
        return Standing(False, not pv["healthy"], pv["redundant"])


LOSABLE: Mapping[str, int | None] = {
    "mirror": None,
    "raid1": None,
    "raid4": 1,
    "raid5": 1,
    "raid6": 2,
    "raid10": 1,
}
"""By the type of a segment, how many images it may lose: None for all but one."""
SICK_RAID = frozenset(
    ("partial", "refresh needed", "repair needed", "refresh or repair needed", "failed")
)
"""What LVM calls the health of a RAID volume that has lost a copy, for a while or for good."""


def is_raid(layout: Sequence[str]) -> bool:
    """Whether LVM itself keeps several copies of a volume, or parity."""
    return bool(set(LOSABLE).intersection(layout))


def _all_of(parts: Sequence[Standing]) -> Standing:
    return Standing(
        any(part.lost for part in parts),
        any(part.degraded for part in parts),
        bool(parts) and all(part.redundant for part in parts),
    )


def pv_name(path: str) -> str:
    """ "/dev/md0" -> "md0"; "[unknown]" stays."""
    return path[len("/dev/") :] if path.startswith("/dev/") else path


def lv_facts(row: Row, layout: Layout, kname: str | None) -> dict[str, Any]:
    """An LV as the inventory gives it, without what only the kernel knows (cache figures,
    bcache, users)."""
    major, minor = row["lv_kernel_major"], row["lv_kernel_minor"]
    layout_words = split_list(row["lv_layout"])
    if any("+" in segment["segtype"] for segment in layout.segments.get(row["lv_uuid"], ())):
        layout_words = ["unknown"]
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
        "layout": layout_words,
        "role": split_list(row["lv_role"]),
        "tags": _tags(row, layout),
        "active": active,
        "suspended": flag(row["lv_suspended"]),
        "open_count": max(0, number(row["lv_device_open"])),
        "dev": f"{major}:{minor}" if known else None,
        "kname": kname if known else None,
        "health": row["lv_health_status"],
        "segments": segments,
        "parts": layout.parts_below(row["lv_uuid"]) if _owns_parts(row) else [],
        "allocation": printable(row.get("lv_allocation_policy", "")),
        "host_use": "",
        "snapshots": [],
        "work": None,
        "cache": None,
        "writecache": None,
        "bcache": None,
        "users": [],
    }


def _tags(row: Row, layout: Layout) -> list[str]:
    """LVM makes a cache pool of a volume by hiding it below a new one, and leaves its tags there:
    those that we gave to the data part of a pool are the pool's."""
    tags = split_list(row["lv_tags"])
    if split_list(row["lv_layout"])[:2] == ["cache", "pool"]:
        for part in layout.parts(row["lv_uuid"]):
            tags += [tag for tag in _given_to_pool(part) if tag not in tags]
        return tags
    given = _given_to_pool(row)
    return [tag for tag in tags if tag not in given]


def _given_to_pool(row: Row) -> list[str]:
    tags = split_list(row["lv_tags"])
    return tags if MADE_POOL in tags and "private" in split_list(row["lv_role"]) else []


def _owns_parts(row: Row) -> bool:
    """Not a thin volume: its pool has many of them."""
    return "public" in split_list(row["lv_role"]) and "sparse" not in split_list(row["lv_layout"])


def cache_facts(
    row: Row, layout: Layout, statuses: Mapping[str, CacheStatus], standings: Standings
) -> dict[str, Any] | None:
    """The cache of an LV with a cache pool; None for any other LV. `statuses` by LV uuid; for an
    inactive LV the figures are those LVM stores (mode, policy) and zeros. Unless `dirty_known`
    the kernel reported none, and `dirty_bytes` 0 does not mean clean."""
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
        "standing": standings.of(pool_uuid).to_json(),
    }


def pool_pvs(pool_uuid: str, layout: Layout) -> list[str]:
    """PVs of a pool's data and metadata."""
    return layout.pvs(pool_uuid)


def _devices(segment: Row) -> list[str]:
    return device_names(segment["devices"]) + device_names(segment["metadata_devices"])


def device_names(words: str) -> list[str]:
    """ "main_rimage_0(0),/dev/sda(1)" without the numbers of the extents."""
    matches = [_DEVICE.fullmatch(word) for word in split_list(words)]
    return [match.group(1) for match in matches if match is not None]
