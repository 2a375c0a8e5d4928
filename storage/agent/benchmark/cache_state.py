"""What a cache holds before the run: said by the kernel, and checked."""

from __future__ import annotations

from typing import Any

from ..calls.refusals import Refusal
from ..kernel import bcache_sysfs, dm
from ..kernel.local_host import LocalHost
from . import cache_legs, scratch
from .profiles import BCACHE, JUNK, LVMCACHE, NEW
from .scratch import Args

# Of a cache full of junk. bcache keeps some of its buckets free, and has its metadata in others.
JUNK_PERCENT = {LVMCACHE: 95, BCACHE: 90}
# bcache writes its own metadata into a new set. udev looks what is on a volume that has just got a
# cache, and smq takes what it reads into an empty one: 21 chunks on Debian 12.
NEW_PERCENT, NEW_CHUNKS = 5, 64


def cache_fill(host: LocalHost, args: Args) -> dict[str, Any]:
    """How full the cache is, in percent and in its own units; {} where the run has no cache. Raises
    Refusal(degraded) where the kernel does not report it."""
    if args["target"] == LVMCACHE:
        status = cache_legs.dm_cache(host, args)
        if status is None or not status.total:
            raise _unknown()
        counts = cache_legs.dm_cache_counts(status)
        return {
            "used_percent": 100 * status.used // status.total,
            "used_chunks": status.used,
            "total_chunks": status.total,
            "chunk_bytes": counts["chunk_bytes"],
            "dirty_chunks": status.dirty,
            "promotions": status.promotions,
            "mode": status.mode,
            "policy": status.policy,
            "migration_threshold_sectors": status.migration_threshold,
        }
    if args["target"] == BCACHE:
        return _of_bcache(host, args)
    return {}


def _of_bcache(host: LocalHost, args: Args) -> dict[str, Any]:
    uuid = scratch.cset_uuid(args["key"])
    unused = bcache_sysfs.unused_percent(host, uuid)
    data = dm.kname(host, args["vg"], scratch.data_name(args["key"]))
    backing = bcache_sysfs.backing(host, data) if data else None
    if unused is None or backing is None or backing.cset_uuid != uuid:
        raise _unknown()
    cset = bcache_sysfs.cache_set(host, uuid)
    return {
        "used_percent": 100 - unused,
        "buckets": cset.bucket_count,
        "bucket_bytes": cset.bucket_bytes,
        "dirty_bytes": backing.dirty_bytes,
        "mode": backing.cache_mode,
        "sequential_cutoff_bytes": backing.sequential_cutoff_bytes,
        "writeback_percent": backing.writeback_percent,
    }


def is_full_of_junk(state: dict[str, Any], args: Args) -> bool:
    return bool(state["used_percent"] >= JUNK_PERCENT[args["target"]])


def _is_new(state: dict[str, Any]) -> bool:
    if "used_chunks" in state:
        return bool(state["used_chunks"] <= NEW_CHUNKS)
    return bool(state["used_percent"] <= NEW_PERCENT)


def demand_state(state: dict[str, Any], args: Args) -> None:
    """Raises Refusal(cmd_failed) unless the cache is as the run wants it."""
    if not state:
        return
    wanted, used = args["state"], state["used_percent"]
    if wanted == NEW and not _is_new(state):
        raise _differs(f"The new cache is not empty: {used} % of it is used")
    if wanted == JUNK and not is_full_of_junk(state, args):
        raise _differs(f"The cache could not be filled with junk: {used} % of it is used")
    if args["target"] in JUNK_PERCENT and state["mode"] != args["mode"]:
        raise _differs(f"The cache is in the mode {state['mode']}, not {args['mode']}")


def _differs(message: str) -> Refusal:
    return Refusal(
        "cmd_failed",
        f"{message}. Nothing was measured.",
        "Order the run once more; look at the host's `dmesg` if that ends in the same way.",
    )


def _unknown() -> Refusal:
    return Refusal(
        "degraded",
        "The kernel does not say what the run's cache holds.",
        "Look at `dmsetup status` and the last lines of `dmesg` on the host.",
    )
