"""Which parts of volumes are read most, for the day when one of them gets a cache; and which of
them are about to get one.

Maps lie on the host's own disk, readable by root alone, and leave it never. One ends when the panel
does not name its volume any more (`heat.observe`), asks to forget it (`heat.forget`), or destroys
the volume, and when root forbids heat. Marks lie in memory (/run): a job makes one and takes it off
once the cache is filled; none lasts longer than a day, or than the service.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ..calls import names
from ..kernel.local_host import LocalHost

MAPS, MARKS = "/var/lib/tiercel/heat/hot", "/run/tiercel/hot"
# No VG has such a name. Held while files are written or removed: what was removed stays so.
LOCK, LOCK_SECONDS = "@hot-maps", 10.0
MARKED_NS = 24 * 3600 * 1_000_000_000
MARKS_LIMIT = 4
OF_ROOT = 0o600


@dataclass(frozen=True)
class MapHead:
    """For how many seconds a volume's reads were counted, how many there were, and when the counts
    were last halved (wall clock)."""

    seconds: int
    reads: int
    faded_ns: int


@dataclass(frozen=True)
class Mark:
    """The name of the cache that is to be filled, and when that was asked for (boot clock)."""

    cache: str
    begun_ns: int


def map_heads(host: LocalHost) -> dict[str, MapHead]:
    """By uuid of the LV."""
    by_uuid = {uuid: map_head(host, uuid) for uuid in _stems(host, MAPS)}
    return {uuid: each for uuid, each in by_uuid.items() if each is not None}


def map_head(host: LocalHost, lv_uuid: str) -> MapHead | None:
    document = _read(host, f"{MAPS}/{lv_uuid}.json")
    try:
        return MapHead(*(_number(document[key]) for key in ("seconds", "reads", "faded_ns")))
    except (ValueError, TypeError, LookupError):
        return None


def data(host: LocalHost, lv_uuid: str) -> bytes:
    """What `hot_chunks` understands; b"" where there is none."""
    return host.read(f"{MAPS}/{lv_uuid}.map") or b""


def store(
    host: LocalHost, lv_uuid: str, now: MapHead, counted: bytes, *, is_first: bool = False
) -> bool:
    """False, and nothing is written, where the map was forgotten meanwhile. Raises LockBusy or
    OSError."""
    with host.lock(LOCK, LOCK_SECONDS):
        if not is_first and map_head(host, lv_uuid) is None:
            return False
        host.save(f"{MAPS}/{lv_uuid}.map", counted, OF_ROOT)
        _save(host, f"{MAPS}/{lv_uuid}.json", vars(now))
    return True


def forget_maps(host: LocalHost, lv_uuids: Collection[str]) -> None:
    """Maps and marks of these volumes. Raises LockBusy or OSError."""
    with host.lock(LOCK, LOCK_SECONDS):
        for lv_uuid in lv_uuids:
            # Were this cut short, the head would still name what is to be removed.
            for kind in ("map", "json"):
                host.remove(f"{MAPS}/{lv_uuid}.{kind}")
            _unmark(host, lv_uuid)


def forget_others(host: LocalHost, lv_uuids: Collection[str]) -> None:
    """All but these. Raises LockBusy or OSError."""
    others = {*_stems(host, MAPS), *_stems(host, MARKS)} - set(lv_uuids)
    if others:
        forget_maps(host, others)


def marks(host: LocalHost) -> dict[str, Mark]:
    """By uuid of the LV."""
    by_uuid = {uuid: mark_of(host, uuid) for uuid in _stems(host, MARKS)}
    return {uuid: each for uuid, each in by_uuid.items() if each is not None}


def mark_of(host: LocalHost, lv_uuid: str) -> Mark | None:
    document = _read(host, f"{MARKS}/{lv_uuid}.json")
    try:
        return Mark(names.lv_name(document["cache"]), _number(document["begun_ns"]))
    except (ValueError, TypeError, LookupError):
        return None


def mark(host: LocalHost, lv_uuid: str, cache: str) -> bool:
    """Have every read of a volume counted for this cache. False where that is done for as many as a
    host does it for at once. Raises LockBusy or OSError."""
    with host.lock(LOCK, LOCK_SECONDS):
        if len(marks(host).keys() - {lv_uuid}) >= MARKS_LIMIT:
            return False
        _unmark(host, lv_uuid)
        _save(host, f"{MARKS}/{lv_uuid}.json", vars(Mark(cache, host.boottime_ns())))
    return True


def unmark(host: LocalHost, lv_uuids: Collection[str]) -> None:
    """Raises LockBusy or OSError."""
    if lv_uuids:
        with host.lock(LOCK, LOCK_SECONDS):
            for lv_uuid in lv_uuids:
                _unmark(host, lv_uuid)


def unmark_all(host: LocalHost) -> None:
    """Also what cannot be understood. Raises LockBusy or OSError."""
    with host.lock(LOCK, LOCK_SECONDS):
        for name in host.list(MARKS):
            host.remove(f"{MARKS}/{name}")


def begin_warming(host: LocalHost, lv_uuid: str) -> None:
    """From now on the agent itself reads a marked volume: its reads are not to be counted. Raises
    LockBusy or OSError."""
    with host.lock(LOCK, LOCK_SECONDS):
        host.save(f"{MARKS}/{lv_uuid}.warming", b"", OF_ROOT)


def is_warming(host: LocalHost, lv_uuid: str) -> bool:
    return host.exists(f"{MARKS}/{lv_uuid}.warming")


def _unmark(host: LocalHost, lv_uuid: str) -> None:
    for kind in ("json", "warming"):
        host.remove(f"{MARKS}/{lv_uuid}.{kind}")


def _stems(host: LocalHost, folder: str) -> set[str]:
    return {name[: -len(".json")] for name in host.list(folder) if name.endswith(".json")}


def _read(host: LocalHost, path: str) -> Any:
    try:
        return json.loads((host.read(path) or b"").decode("utf-8"))
    except (ValueError, RecursionError):
        return None


_number = names.integer(0, 1 << 63)


def _save(host: LocalHost, path: str, document: dict[str, Any]) -> None:
    host.save(path, json.dumps(document).encode() + b"\n", OF_ROOT)
