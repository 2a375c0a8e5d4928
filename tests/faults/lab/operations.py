"""What the faults of the lab break: small volumes, because its disks are slow."""

from __future__ import annotations

from dataclasses import replace

from jobs.models import Kind
from storage.byte_sizes import MIB
from storage.planner.wish import LvmCache, Wish
from tests.faults.operations import CACHE, Names, Operation

SIZE = 64 * MIB
PLAIN = Wish(SIZE)
READY = Wish(SIZE, layout="bcache")
DIRTY = 8 * MIB


def lvmcache(names: Names, mode: str = "writethrough") -> Wish:
    return Wish(SIZE, cache=LvmCache(names.pool, CACHE, mode))  # type: ignore[arg-type]


def bcache(names: Names, mode: str = "writethrough") -> Wish:
    cache = names.bcache(mode).cache
    return Wish(SIZE, layout="bcache", cache=cache)


CREATE = Operation(
    "create", Kind.CREATE_VOLUME, lambda n: (), lambda n: PLAIN, held=False, keeps_data=False
)
CREATE_READY = Operation(
    "create bcache-ready", Kind.CREATE_VOLUME, lambda n: (), lambda n: READY,
    held=False, keeps_data=False,
)  # fmt: skip
ADD_LVMCACHE = Operation("add lvmcache", Kind.ADD_CACHE, lambda n: (PLAIN,), lvmcache)
ADD_BCACHE = Operation("add bcache", Kind.ADD_CACHE, lambda n: (READY,), bcache)
FLUSH_LVMCACHE = Operation(
    "flush lvmcache", Kind.FLUSH_CACHE, lambda n: (PLAIN, lvmcache(n, "writeback")),
    lambda n: replace(lvmcache(n, "writeback"), flushed=True), held=False, dirty_bytes=DIRTY,
)  # fmt: skip
DROP_LVMCACHE = Operation(
    "drop lvmcache", Kind.DROP_CACHE, lambda n: (PLAIN, lvmcache(n)), lambda n: PLAIN
)
DROP_DIRTY_LVMCACHE = replace(
    DROP_LVMCACHE, before=lambda n: (PLAIN, lvmcache(n, "writeback")), dirty_bytes=DIRTY
)
REMOVE_BCACHE = Operation(
    "remove bcache", Kind.REMOVE_CACHE, lambda n: (READY, bcache(n)), lambda n: READY
)
REMOVE_DIRTY_BCACHE = replace(
    REMOVE_BCACHE, before=lambda n: (READY, bcache(n, "writeback")), dirty_bytes=DIRTY
)
