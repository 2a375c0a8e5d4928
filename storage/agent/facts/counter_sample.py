"""One round of counters: /proc/diskstats once, sysfs, one `dmsetup status`, dm-stats.

Never a report of LVM: those take VG locks and scan disks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..calls.refusals import Refusal
from ..kernel import bcache_sysfs, disks, dm, stats
from ..kernel.diskstats import diskstats
from ..kernel.local_host import LocalHost
from . import cset_fill, inventory

WRITES, WRITE_MS, DISCARDS, DISCARD_MS = 4, 7, 11, 14
MS_LIMIT = 1 << 32
PARTITIONS_LIMIT = 512


def sample(
    host: LocalHost, lv_uuids: Collection[str] | None = None
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """(data, warnings), of some volumes alone where `lv_uuids` names them. Without dmsetup the
    dm-cache figures are null and a warning says so."""
    devices = dm.dm_devices(host)
    warnings = []
    statuses: Mapping[str, dm.CacheStatus] = {}
    try:
        statuses = inventory.cache_statuses(host, devices)
    except Refusal as refusal:
        warnings.append({"code": refusal.code, "message": refusal.message})
    counters = diskstats(dm.text(host, "/proc/diskstats"))
    by_kname = {device.kname: device for device in devices}
    try:
        unused = cset_fill.measure(host)
    except OSError as error:
        unused = {}
        message = f"{cset_fill.PATH} cannot be written, so the fill of no cache set is read: "
        warnings.append({"code": "internal", "message": f"{message}{error.strerror}."})
    volumes = [
        _volume(host, device, statuses.get(device.lv_uuid), counters, by_kname, unused)
        for device in devices
        if dm.visible(device) and device.kname in counters
        if lv_uuids is None or device.lv_uuid in lv_uuids
    ]
    if lv_uuids is not None:
        return {"volumes": volumes}, warnings
    names = frozenset(host.list("/sys/block"))
    data = {
        "volumes": volumes,
        "disks": [
            {"name": name, "disk": counters[name], "seq": _sequence(host, name)}
            for name in disks.disk_names(host)
            if name in counters
        ],
        "arrays": [_array(host, each, counters) for each in disks.arrays(host)],
        "partitions": [
            {"name": name, "disk": counters[name]}
            for name in counters
            if name not in names and not name.startswith(disks.VIRTUAL)
        ][:PARTITIONS_LIMIT],
    }
    return data, warnings


def _array(
    host: LocalHost, facts: Mapping[str, Any], counters: Mapping[str, list[int]]
) -> dict[str, Any]:
    """Its counters, and the signs that it lost or gained a disk: the panel then reads the
    inventory."""
    return {
        **{name: facts[name] for name in ("name", "degraded_count", "sync_action", "members")},
        "disk": counters.get(facts["name"]),
        "seq": _sequence(host, facts["name"]),
    }


def _sequence(host: LocalHost, kname: str) -> int | None:
    """The number that the kernel gives each block device within one boot, so that another disk of
    the same name is known; None before Linux 5.15."""
    value = dm.text(host, f"/sys/block/{kname}/diskseq")
    return int(value) if value.isdecimal() else None


def _volume(
    host: LocalHost,
    device: dm.DmDevice,
    status: dm.CacheStatus | None,
    counters: Mapping[str, list[int]],
    by_kname: Mapping[str, dm.DmDevice],
    unused: Mapping[str, int],
) -> dict[str, Any]:
    backing = _backing(host, device, counters, by_kname, unused)
    measured = _latency(host, device) if backing is None else None
    return {
        "lv_uuid": device.lv_uuid,
        "vg_uuid": device.vg_uuid,
        "name": device.name,
        "kname": device.kname,
        "suspended": device.suspended,
        "disk": counters[device.kname],
        "cache": None if status is None else _cache(host, device, status, counters, by_kname),
        "bcache": backing,
        "latency": measured,
    }


def _cache(
    host: LocalHost,
    device: dm.DmDevice,
    status: dm.CacheStatus,
    counters: Mapping[str, list[int]],
    by_kname: Mapping[str, dm.DmDevice],
) -> dict[str, Any]:
    legs = _legs(host, device.kname, by_kname)
    return {
        **{name: getattr(status, name) for name in dm.STATUS_COUNTERS},
        "origin": counters.get(legs.get("real", "")),
        "cdata": counters.get(legs.get("cdata", "")),
        "cmeta": counters.get(legs.get("cmeta", "")),
        "origin_counts": _counts(host, by_kname.get(legs.get("real", ""))),
        "cdata_counts": _counts(host, by_kname.get(legs.get("cdata", ""))),
    }


def _latency(host: LocalHost, device: dm.DmDevice) -> dict[str, Any] | None:
    """What dm-stats count of a device, and how many flushes it had: writes that diskstats count
    and dm-stats do not. Both are read in the same moment; only the difference of two such numbers
    means something."""
    size = dm.text(host, f"/sys/block/{device.kname}/size")
    if device.suspended or not size.isdecimal():
        return None
    words = dm.text(host, f"/sys/block/{device.kname}/stat").split()
    measured = stats.latency(host, device.name, int(size))
    if measured is None:
        return None
    flushes = flush_ms = None
    if len(words) > DISCARD_MS and all(word.isdecimal() for word in words):
        fields = [int(word) for word in words]
        flushes = max(0, fields[WRITES] + fields[DISCARDS] - measured["writes"])
        write_ms = fields[WRITE_MS] + fields[DISCARD_MS]
        flush_ms = (write_ms - measured["write_ns"] // 1_000_000) % MS_LIMIT
    return {**measured, "flushes": flushes, "flush_ms": flush_ms}


def _counts(host: LocalHost, device: dm.DmDevice | None) -> list[int] | None:
    """The histogram of a leg of a cache, of what the cache itself does: a read that misses is one
    of the slow leg, and what is promoted for it is a write of the fast one."""
    measured = None if device is None else _latency(host, device)
    return None if measured is None else list(measured["counts"])


def _legs(host: LocalHost, kname: str, by_kname: Mapping[str, dm.DmDevice]) -> dict[str, str]:
    """Layer -> kname of what a cached LV stands on; under a snapshot one level deeper."""
    parts = [by_kname[part] for part in host.list(f"/sys/block/{kname}/slaves") if part in by_kname]
    by_layer = {part.layer: part.kname for part in parts}
    if "cdata" not in by_layer and "real" in by_layer:
        return _legs(host, by_layer["real"], by_kname)
    return by_layer


def _backing(
    host: LocalHost,
    device: dm.DmDevice,
    counters: Mapping[str, list[int]],
    by_kname: Mapping[str, dm.DmDevice],
    unused: Mapping[str, int],
) -> dict[str, Any] | None:
    backing = bcache_sysfs.backing(host, device.kname)
    if backing is None or backing.device is None or backing.device not in counters:
        return None
    cset = None if backing.cset_uuid is None else bcache_sysfs.cache_set(host, backing.cset_uuid)
    fast = None if cset is None else cset.kname
    return {
        "device": backing.device,
        "uuid": backing.uuid,
        "cset_uuid": backing.cset_uuid,
        "state": backing.state,
        "cache_mode": backing.cache_mode,
        "dirty_bytes": backing.dirty_bytes,
        "disk": counters[backing.device],
        **{name: _total(host, device.kname, name) for name in _TOTALS},
        "available_percent": None if cset is None else cset.available_percent,
        "unused_percent": None if cset is None else unused.get(cset.uuid),
        "cset_size_bytes": None if cset is None else cset.bucket_bytes * cset.bucket_count,
        "cset_disk": None if fast is None else counters.get(fast),
        # bcacheN is not of device-mapper: what dm-stats see is the logical volumes below it.
        "backing_counts": _counts(host, device) if fast is not None else None,
        "cset_counts": _counts(host, by_kname.get(fast)) if fast is not None else None,
    }


_TOTALS = ("hits", "misses", "bypass_hits", "bypass_misses")


def _total(host: LocalHost, kname: str, name: str) -> int:
    value = dm.text(host, f"{bcache_sysfs.folder(kname)}/stats_total/cache_{name}")
    return int(value) if value.isdecimal() else 0
