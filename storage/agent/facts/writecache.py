"""dm-writecache: a write cache in front of a volume, made by hand. Its contents are not yet on the
slow disk. Tiercel creates none and changes none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..kernel.dm import SECTOR
from ..kernel.local_host import LocalHost, MissingTool, TimedOut
from ..kernel.lvm import listed, number
from .logical_volumes import Layout

STATUS = ("dmsetup", "status", "--noflush", "--target", "writecache")
TABLE = ("dmsetup", "table", "--target", "writecache")
# Errors, blocks in all, blocks free (kernel: Documentation/admin-guide/device-mapper/writecache).
_STATUS = re.compile(r"(?P<name>[^:]+): \d+ \d+ writecache (\d+) (?P<total>\d+) (?P<free>\d+)\b.*")
_TABLE = re.compile(r"(?P<name>[^:]+): \d+ \d+ writecache [sp] \S+ \S+ (?P<block>\d+)\b.*")


def of_volumes(host: LocalHost, layout: Layout) -> dict[str, dict[str, Any]]:
    """By LV uuid. Unless `dirty_known` the kernel told nothing, and `dirty_bytes` 0 does not mean
    clean."""
    rows = [row for row in layout.by_uuid.values() if listed(row["lv_layout"]) == ["writecache"]]
    dirty = _dirty(host) if rows else {}
    caches = {}
    for row in rows:
        name = "-".join(row[key].replace("-", "--") for key in ("vg_name", "lv_name"))
        pool = layout.by_uuid.get(row["pool_lv_uuid"])
        caches[row["lv_uuid"]] = {
            "name": row["pool_lv"],
            "size_bytes": 0 if pool is None else number(pool["lv_size"]),
            "dirty_bytes": dirty.get(name, 0),
            "dirty_known": name in dirty,
            "pvs": [] if pool is None else layout.pvs(pool["lv_uuid"]),
        }
    return caches


def _dirty(host: LocalHost) -> Mapping[str, int]:
    """By name in device-mapper: what is not free is not on the slow disk yet."""
    try:
        status, table = (host.run(command, timeout=10.0) for command in (STATUS, TABLE))
    except (MissingTool, TimedOut):
        return {}
    tables = (_TABLE.fullmatch(line.strip()) for line in table.stdout.splitlines())
    blocks = {match.group("name"): int(match.group("block")) for match in tables if match}
    dirty = {}
    for line in status.stdout.splitlines():
        match = _STATUS.fullmatch(line.strip())
        if match is not None and match.group("name") in blocks:
            cached_blocks = int(match.group("total")) - int(match.group("free"))
            dirty[match.group("name")] = max(0, cached_blocks) * max(
                SECTOR, blocks[match.group("name")]
            )
    return dirty
