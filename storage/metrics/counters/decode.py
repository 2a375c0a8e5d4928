"""The agent's `sample` reply, checked and decoded."""

from __future__ import annotations

from typing import Any, Final

from storage.metrics.counters.fields import U64_LIMIT, BadSample, Fields
from storage.metrics.counters.shapes import (
    LATENCY_BOUNDS_NS,
    BcacheCounters,
    DmCacheCounters,
    Latency,
    Stamp,
    VolumeCounters,
)

U32_LIMIT: Final = 2**32 - 1
I64_LIMIT: Final = 2**63 - 1


def decode(data: object) -> tuple[VolumeCounters, ...]:
    """The `data` of a `sample` reply. Raises `BadSample` naming the field that does not fit.

    Unknown keys are ignored, so that a newer agent can say more.
    """
    fields = Fields(data, "sample")
    volumes = fields.get("volumes")
    if not isinstance(volumes, list):
        raise BadSample("sample.volumes: expected a list")
    decoded = tuple(decode_volume(v, f"sample.volumes[{n}]") for n, v in enumerate(volumes))
    if len({volume.lv_uuid for volume in decoded}) != len(decoded):
        raise BadSample("sample.volumes: one logical volume appears twice")
    return decoded


def decode_stamp(host: object) -> Stamp:
    """The `host` block of a reply."""
    fields = Fields(host, "host")
    return Stamp(fields.text("boot_id"), fields.count("boottime_ns", I64_LIMIT))


def decode_volume(data: object, where: str = "volume") -> VolumeCounters:
    fields = Fields(data, where)
    return VolumeCounters(
        lv_uuid=fields.text("lv_uuid"),
        kname=fields.text("kname"),
        suspended=fields.flag("suspended"),
        disk=fields.disk("disk"),
        cache=_cache(fields.object("cache")),
        bcache=_bcache(fields.object("bcache")),
        latency=_latency(fields.object("latency")),
    )


def encode(volume: VolumeCounters) -> dict[str, Any]:
    """Plain data that decodes to the same counters (`asdict` would copy every number: 5 times
    slower)."""
    data = _plain(volume)
    for part in ("cache", "bcache", "latency"):
        if data[part] is not None:
            data[part] = _plain(data[part])
    return data


def _plain(counters: Any) -> dict[str, Any]:
    return {name: getattr(counters, name) for name in counters.__slots__}


def _cache(fields: Fields | None) -> DmCacheCounters | None:
    if fields is None:
        return None
    count = fields.count
    return DmCacheCounters(
        chunk_sectors=count("chunk_sectors", U32_LIMIT),
        used=count("used", U32_LIMIT),
        total=count("total", U32_LIMIT),
        metadata_used=count("metadata_used", U32_LIMIT),
        metadata_total=count("metadata_total", U32_LIMIT),
        read_hits=count("read_hits", U32_LIMIT),
        read_misses=count("read_misses", U32_LIMIT),
        write_hits=count("write_hits", U32_LIMIT),
        write_misses=count("write_misses", U32_LIMIT),
        demotions=count("demotions", U32_LIMIT),
        promotions=count("promotions", U32_LIMIT),
        dirty=count("dirty", U32_LIMIT),
        mode=fields.text_or_empty("mode"),
        policy=fields.text_or_empty("policy"),
        read_only=fields.flag("read_only"),
        needs_check=fields.flag("needs_check"),
        failed=fields.flag("failed"),
        origin=fields.disk_or_none("origin"),
        cdata=fields.disk_or_none("cdata"),
    )


def _bcache(fields: Fields | None) -> BcacheCounters | None:
    if fields is None:
        return None
    return BcacheCounters(
        device=fields.text("device"),
        uuid=fields.text_or_empty("uuid"),
        cset_uuid=None if fields.get("cset_uuid") is None else fields.text("cset_uuid"),
        state=fields.text("state"),
        cache_mode=fields.text_or_empty("cache_mode"),
        dirty_bytes=fields.count("dirty_bytes", I64_LIMIT),
        disk=fields.disk("disk"),
        hits=fields.count("hits", U64_LIMIT),
        misses=fields.count("misses", U64_LIMIT),
        bypass_hits=fields.count("bypass_hits", U64_LIMIT),
        bypass_misses=fields.count("bypass_misses", U64_LIMIT),
        available_percent=fields.count_or_none("available_percent", 100),
        cset_size_bytes=fields.count_or_none("cset_size_bytes", I64_LIMIT),
    )


def _latency(fields: Fields | None) -> Latency | None:
    if fields is None:
        return None
    bounds = fields.counts("bounds_ns", len(LATENCY_BOUNDS_NS))
    if bounds != LATENCY_BOUNDS_NS:
        raise BadSample(f"{fields.where}.bounds_ns: not the agreed buckets")
    return Latency(bounds, fields.counts("counts", len(LATENCY_BOUNDS_NS) + 1))
