"""Maps of what is read most of volumes that are about to get a cache: for whom each is made, and
what the service has counted so far. In memory only (/run), readable by root alone.

A job begins one, and forgets it once the cache is filled. Whatever becomes of the job: a map ends
after a day, with the service, with its volume, and when the panel does not name the volume any
more (`heat.observe`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..calls import names
from ..kernel.local_host import LocalHost

FOLDER = "/run/tiercel/hot"
# No VG has such a name. Held while files are written or removed: what was removed stays so.
LOCK, LOCK_SECONDS = "@hot-maps", 10.0
KEPT_NS = 24 * 3600 * 1_000_000_000
MAPS_LIMIT = 4
OF_ROOT = 0o600


@dataclass(frozen=True)
class CountedFor:
    """`cache` is the name of the cache that is to be filled; `seconds` is for how long its volume's
    reads have been counted, 0 before the service has looked."""

    cache: str
    begun_ns: int
    seconds: int = 0
    reads: int = 0

    def to_json(self) -> dict[str, object]:
        return dict(vars(self))


def listed(host: LocalHost) -> dict[str, CountedFor]:
    """By uuid of the LV."""
    stems = (name[: -len(".json")] for name in host.list(FOLDER) if name.endswith(".json"))
    found = {uuid: counted_for(host, uuid) for uuid in stems}
    return {uuid: each for uuid, each in found.items() if each is not None}


def counted_for(host: LocalHost, lv_uuid: str) -> CountedFor | None:
    """None where none is made."""
    try:
        document = json.loads((host.read(_path(lv_uuid, "json")) or b"").decode("utf-8"))
        begun_ns, seconds, reads = (
            names.integer(0, 1 << 63)(document[key]) for key in ("begun_ns", "seconds", "reads")
        )
        return CountedFor(names.lv_name(document["cache"]), begun_ns, seconds, reads)
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def counted(host: LocalHost, lv_uuid: str) -> bytes:
    """What `HotMap.to_bytes` gave; b"" where nothing was counted yet."""
    return host.read(_path(lv_uuid, "map")) or b""


def begin(host: LocalHost, lv_uuid: str, cache: str) -> bool:
    """Have the reads of a volume counted; the map that goes on where it is for the same cache.
    False where as many are made as a host makes at once. Raises LockBusy or OSError."""
    with host.lock(LOCK, LOCK_SECONDS):
        others = listed(host)
        mine = others.pop(lv_uuid, None)
        if mine is not None and mine.cache == cache:
            return True
        if len(others) >= MAPS_LIMIT:
            return False
        _remove(host, lv_uuid)
        _save(host, lv_uuid, CountedFor(cache, host.boottime_ns()))
    return True


def update(host: LocalHost, lv_uuid: str, now: CountedFor, data: bytes) -> None:
    """What was counted of a map, unless it was forgotten meanwhile. Raises LockBusy or OSError."""
    with host.lock(LOCK, LOCK_SECONDS):
        before = counted_for(host, lv_uuid)
        if before is not None and before.cache == now.cache:
            host.save(_path(lv_uuid, "map"), data, OF_ROOT)
            _save(host, lv_uuid, now)


def begin_warming(host: LocalHost, lv_uuid: str) -> None:
    """From now on the agent itself reads the volume: its reads are not to be counted. Raises
    LockBusy or OSError."""
    with host.lock(LOCK, LOCK_SECONDS):
        host.save(_path(lv_uuid, "warming"), b"", OF_ROOT)


def is_warming(host: LocalHost, lv_uuid: str) -> bool:
    return host.exists(_path(lv_uuid, "warming"))


def forget(host: LocalHost, *lv_uuids: str) -> None:
    """Raises LockBusy or OSError."""
    if lv_uuids:
        with host.lock(LOCK, LOCK_SECONDS):
            for lv_uuid in lv_uuids:
                _remove(host, lv_uuid)


def forget_all(host: LocalHost) -> None:
    """Also what cannot be understood. Raises LockBusy or OSError."""
    with host.lock(LOCK, LOCK_SECONDS):
        for name in host.list(FOLDER):
            host.remove(f"{FOLDER}/{name}")


def _path(lv_uuid: str, kind: str) -> str:
    return f"{FOLDER}/{lv_uuid}.{kind}"


def _save(host: LocalHost, lv_uuid: str, document: CountedFor) -> None:
    host.save(_path(lv_uuid, "json"), json.dumps(document.to_json()).encode() + b"\n", OF_ROOT)


def _remove(host: LocalHost, lv_uuid: str) -> None:
    for kind in ("json", "map", "warming"):
        host.remove(_path(lv_uuid, kind))
