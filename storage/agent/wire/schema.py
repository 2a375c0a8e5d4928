"""Which arguments each verb takes, and how each is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from ..calls import names

Check = Callable[[Any], Any]

CACHE_MODES = ("writethrough", "writeback")
# By how many percent a person may let the p95 of the other volumes rise for one operation.
RISES = (20, 50, 100, 200, 500)
BCACHE_MODES = ("writethrough", "writeback", "writearound", "none")

_mode = names.choice(*CACHE_MODES)
_bcache_mode = names.choice(*BCACHE_MODES)
_chunk_kib = names.integer(32, 1 << 20, 32)
_threshold = names.integer(0, 1 << 31)
_cutoff = names.cutoff_bytes
# What LVM may be left to flush under the lock of the whole VG: never more than this.
DIRTY_LIMIT_MAX_BYTES = 1 << 30
_dirty_limit = names.integer(0, DIRTY_LIMIT_MAX_BYTES)
# The kernel takes 0 to 40 (bch_cutoff_writeback).
_writeback_percent = names.integer(0, 40)


@dataclass(frozen=True)
class Shape:
    """`required` and `optional` arguments; `expects` = keys `expect` must have outside a dry run;
    `any_of` = at least one of these optional arguments must be there."""

    required: Mapping[str, Check]
    optional: Mapping[str, Check]
    expects: frozenset[str]
    any_of: tuple[str, ...] = ()


def _shape(
    required: Mapping[str, Check],
    optional: Mapping[str, Check] = {},
    expects: str = "",
    any_of: tuple[str, ...] = (),
) -> Shape:
    return Shape(
        {"vg": names.vg_name, **required},
        optional,
        frozenset(["vg_uuid", *expects.split()]),
        any_of,
    )


EXPECT: Mapping[str, Check] = {
    "vg_uuid": names.lvm_uuid,
    "lv_uuid": names.lvm_uuid,
    "lv_name": names.lv_name,
    "size_bytes": names.size_bytes,
}

_NAMES_OF_LIFE: Mapping[str, Check] = {
    "lv": names.lv_name,
    "retired_name": names.made("del"),
    "volume_key": names.volume_key,
    "layout": names.choice("plain", "bcache", "cset"),
}

MUTATING: Mapping[str, Shape] = {
    "volume.create": _shape(
        {
            "name": names.made("v"),
            "size_bytes": names.size_bytes,
            "pvs": names.devices,
            "volume_key": names.volume_key,
            "layout": names.choice("plain", "bcache"),
        }
    ),
    "volume.tag": _shape(
        {"lv": names.lv_name, "volume_key": names.volume_key}, expects="lv_uuid lv_name size_bytes"
    ),
    "volume.retire": _shape(_NAMES_OF_LIFE, expects="lv_uuid"),
    "volume.restore": _shape(
        {**_NAMES_OF_LIFE, "retired_at": names.integer(0, 1 << 40)}, expects="lv_uuid"
    ),
    "volume.destroy": _shape(
        {
            "lv": names.made("del"),
            "lv_uuid": names.lvm_uuid,
            "size_bytes": names.size_bytes,
            "volume_key": names.volume_key,
            "layout": names.choice("plain", "bcache", "cset"),
        },
        expects="lv_uuid",
    ),
    "volume.extend": _shape(
        {
            "lv": names.lv_name,
            "from_bytes": names.size_bytes,
            "size_bytes": names.size_bytes,
            "pvs": names.devices,
            "volume_key": names.volume_key,
        },
        expects="lv_uuid",
    ),
    "guest.resize": _shape(
        {"lv": names.lv_name, "size_bytes": names.size_bytes},
        {
            "from_bytes": names.size_bytes,
            "guests": names.guests,
            "domains": names.domains,
        },
        expects="lv_uuid",
    ),
    "volume.move": _shape(
        {"lv": names.lv_name, "from_pvs": names.devices, "to_pvs": names.devices},
        expects="lv_uuid",
    ),
    "volume.clear": _shape(
        {"lv": names.lv_name, "volume_key": names.volume_key}, expects="lv_uuid"
    ),
    "move.abort": _shape({"lv": names.lv_name, "pv": names.device}, expects="lv_uuid"),
    "pool.create": _shape(
        {
            "name": names.made("c"),
            "size_bytes": names.size_bytes,
            "pvs": names.devices,
            "chunk_kib": _chunk_kib,
            "volume_key": names.volume_key,
        }
    ),
    # `lv`: the volume it was made for, which what it held is noted on.
    "pool.remove": _shape({"pool": names.made("c")}, {"lv": names.lv_name}, expects="lv_uuid"),
    "cache.attach": _shape(
        {"lv": names.lv_name, "pool": names.made("c"), "mode": _mode},
        {"migration_threshold": _threshold},
        expects="lv_uuid",
    ),
    "cache.set": _shape(
        {"lv": names.lv_name},
        {"mode": _mode, "policy": names.choice("smq"), "migration_threshold": _threshold},
        expects="lv_uuid",
        any_of=("mode", "policy", "migration_threshold"),
    ),
    "cache.flush": _shape(
        {"lv": names.lv_name, "dirty_limit_bytes": _dirty_limit},
        {"migration_threshold": _threshold},
        expects="lv_uuid",
    ),
    "cache.detach": _shape(
        {"lv": names.lv_name, "pool": names.made("c"), "dirty_limit_bytes": _dirty_limit},
        expects="lv_uuid",
    ),
    "cache.drop": _shape({"lv": names.lv_name, "pool": names.made("c")}, expects="lv_uuid"),
    "ssd.prepare": _shape({"device": names.kernel_name, "serial": names.serial}),
    "cset.create": _shape(
        {
            "name": names.made("s"),
            "size_bytes": names.size_bytes,
            "pvs": names.devices,
            "cset_uuid": names.uuid,
            "bucket_kib": names.bucket_kib,
            "volume_key": names.volume_key,
        }
    ),
    # Without the uuid: a cache device whose cache set is not registered.
    "cset.remove": _shape({"name": names.made("s")}, {"cset_uuid": names.uuid}, expects="lv_uuid"),
    "bcache.format": _shape({"lv": names.lv_name}, expects="lv_uuid"),
    "bcache.attach": _shape(
        {
            "lv": names.lv_name,
            "cset_uuid": names.uuid,
            "cache_mode": _bcache_mode,
            "sequential_cutoff_bytes": _cutoff,
        },
        expects="lv_uuid",
    ),
    "bcache.detach": _shape({"lv": names.lv_name, "cset_uuid": names.uuid}, expects="lv_uuid"),
    "bcache.set": _shape(
        {"lv": names.lv_name},
        {
            "cache_mode": _bcache_mode,
            "sequential_cutoff_bytes": _cutoff,
            "writeback_percent": _writeback_percent,
        },
        expects="lv_uuid",
        any_of=("cache_mode", "sequential_cutoff_bytes", "writeback_percent"),
    ),
    "bcache.flush": _shape(
        {
            "lv": names.lv_name,
            "dirty_limit_bytes": _dirty_limit,
            "writeback_percent": _writeback_percent,
        },
        expects="lv_uuid",
    ),
    "bcache.stop": _shape({"lv": names.lv_name}, expects="lv_uuid"),
}

READING: Mapping[str, Mapping[str, Check]] = {
    "hello": {},
    "inventory": {},
    "sample": {},
    "op.get": {"op": names.request_id, "after": names.integer(0, 1 << 53)},
    "op.list": {},
    "op.abort": {"op": names.request_id},
    "op.pace": {"op": names.request_id, "rise_percent": names.number_of(*RISES)},
}
