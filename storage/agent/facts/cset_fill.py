"""How much of each bcache cache set is unused: the kernel's only figure of its fill.

`cache_available_percent` counts clean cached data as available, from the next garbage collection
on. `priority_stats` counts buckets
that hold nothing, but looks at all of them under a lock and sorts them, so it is read seldom, the
more seldom the more buckets there are. Between two readings the last one is reported again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..kernel import bcache_sysfs
from ..kernel.local_host import LocalHost

PATH = "/run/tiercel/fill.json"
BUCKETS_PER_SECOND = 300
SHORTEST_SECONDS, LONGEST_SECONDS = 60, 900
OLD_SECONDS = 3600

Readings = Mapping[str, "tuple[int, int]"]


def measure(host: LocalHost) -> dict[str, int]:
    """Unused percent by uuid of the cache set, read where that is due. A set that does not report
    it is missing. Raises OSError where the readings cannot be kept: before the first one is
    made."""
    csets = bcache_sysfs.cache_sets(host)
    if not csets:
        return {}
    before, now_ns = _kept(host), host.boottime_ns()
    due = [cset for cset in csets if _is_due(before.get(cset.uuid), cset.bucket_count, now_ns)]
    if due:
        # Noted first: a host that cannot keep the time would pay for a reading with each sample.
        _keep(host, {**before, **{cset.uuid: (now_ns, -1) for cset in due}})
        fresh = {cset.uuid: (now_ns, _read(host, cset.uuid)) for cset in due}
        there = {cset.uuid for cset in csets}
        before = {uuid: each for uuid, each in {**before, **fresh}.items() if uuid in there}
        _keep(host, before)
    return {uuid: percent for uuid, (_, percent) in before.items() if percent >= 0}


def last(host: LocalHost) -> dict[str, int]:
    """The last readings, without those that are old."""
    now_ns = host.boottime_ns()
    return {
        uuid: percent
        for uuid, (at_ns, percent) in _kept(host).items()
        if percent >= 0 and 0 <= now_ns - at_ns < OLD_SECONDS * 1_000_000_000
    }


def pause_seconds(bucket_count: int) -> float:
    """How long a reading of so many buckets is good for."""
    return min(LONGEST_SECONDS, max(SHORTEST_SECONDS, bucket_count / BUCKETS_PER_SECOND))


def _is_due(reading: tuple[int, int] | None, bucket_count: int, now_ns: int) -> bool:
    """The clock of the host begins anew at a start, and the file is gone then; one that is there
    all the same counts for nothing."""
    if reading is None or reading[0] > now_ns:
        return True
    return now_ns - reading[0] >= pause_seconds(bucket_count) * 1_000_000_000


def _read(host: LocalHost, uuid: str) -> int:
    percent = bcache_sysfs.unused_percent(host, uuid)
    return -1 if percent is None else percent


def _kept(host: LocalHost) -> Readings:
    """{} where there is none, or nothing that this agent wrote."""
    try:
        document = json.loads((host.read(PATH) or b"{}").decode("utf-8"))
        return {
            str(uuid): (int(at_ns), int(percent)) for uuid, (at_ns, percent) in document.items()
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _keep(host: LocalHost, readings: Readings) -> None:
    host.save(PATH, json.dumps(readings).encode())
