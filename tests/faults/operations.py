"""Every operation that the sweep breaks: how its volume comes to be, and what is then wished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from jobs.models import Kind
from storage.byte_sizes import MIB
from storage.naming import cache_device_name, new_key, pool_name
from storage.planner.wish import Bcache, LvmCache, Wish

SIZE = 256 * MIB
CACHE = 64 * MIB
BCACHE = 512 * MIB
CSET, OTHER_CSET = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c0aa", "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c0bb"


@dataclass(frozen=True)
class Names:
    """New names for each volume: LVM's are never used twice."""

    pool: str = field(default_factory=lambda: pool_name(new_key()))
    other_pool: str = field(default_factory=lambda: pool_name(new_key()))
    device: str = field(default_factory=lambda: cache_device_name(new_key()))
    other_device: str = field(default_factory=lambda: cache_device_name(new_key()))

    def lvmcache(self, mode: str = "writethrough") -> Wish:
        return Wish(SIZE, cache=LvmCache(self.pool, CACHE, mode))  # type: ignore[arg-type]

    def bcache(self, mode: str = "writethrough") -> Wish:
        cache = Bcache(self.device, CSET, BCACHE, mode)  # type: ignore[arg-type]
        return Wish(SIZE, layout="bcache", cache=cache)


PLAIN = Wish(SIZE)
READY = Wish(SIZE, layout="bcache")
RETIRED = Wish(SIZE, life="retired")
GONE = Wish(SIZE, life="gone")
Before = Callable[[Names], tuple[Wish, ...]]


@dataclass(frozen=True)
class Operation:
    """`before` are the wishes that come true first; `found`: the volume was made by hand; `held`: a
    guest has it open; `dirty_bytes` of the guest's data are in the cache only; `keeps_data`: what
    the guest wrote must be there afterwards."""

    name: str
    kind: Kind
    before: Before
    wish: Callable[[Names], Wish]
    found: bool = False
    held: bool = True
    dirty_bytes: int = 0
    keeps_data: bool = True


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "create", Kind.CREATE_VOLUME, lambda n: (), lambda n: PLAIN, held=False, keeps_data=False
    ),
    Operation(
        "create bcache-ready", Kind.CREATE_VOLUME, lambda n: (), lambda n: READY,
        held=False, keeps_data=False,
    ),
    Operation("tag", Kind.TAG_VOLUME, lambda n: (), lambda n: PLAIN, found=True),
    Operation(
        "extend", Kind.EXTEND_VOLUME, lambda n: (PLAIN,), lambda n: Wish(2 * SIZE)
    ),
    Operation(
        "move to SSD", Kind.MOVE_VOLUME, lambda n: (PLAIN,), lambda n: Wish(SIZE, tier="ssd")
    ),
    Operation(
        "retire", Kind.RETIRE_VOLUME, lambda n: (PLAIN,), lambda n: RETIRED, held=False
    ),
    Operation(
        "restore", Kind.RESTORE_VOLUME, lambda n: (PLAIN, RETIRED), lambda n: PLAIN, held=False
    ),
    Operation(
        "destroy", Kind.DESTROY_VOLUME, lambda n: (PLAIN, RETIRED), lambda n: GONE,
        held=False, keeps_data=False,
    ),
    Operation("add lvmcache", Kind.ADD_CACHE, lambda n: (PLAIN,), lambda n: n.lvmcache()),
    Operation(
        "set lvmcache mode", Kind.SET_CACHE, lambda n: (PLAIN, n.lvmcache()),
        lambda n: n.lvmcache("writeback"),
    ),
    Operation(
        "flush lvmcache", Kind.FLUSH_CACHE, lambda n: (PLAIN, n.lvmcache("writeback")),
        lambda n: replace(n.lvmcache("writeback"), flushed=True), dirty_bytes=32 * MIB,
    ),
    Operation(
        "replace lvmcache", Kind.REPLACE_CACHE, lambda n: (PLAIN, n.lvmcache("writeback")),
        lambda n: Wish(SIZE, cache=LvmCache(n.other_pool, 2 * CACHE, "writeback")),
        dirty_bytes=32 * MIB,
    ),
    Operation(
        "remove lvmcache", Kind.REMOVE_CACHE, lambda n: (PLAIN, n.lvmcache("writeback")),
        lambda n: PLAIN, dirty_bytes=32 * MIB,
    ),
    Operation("add bcache", Kind.ADD_CACHE, lambda n: (READY,), lambda n: n.bcache()),
    Operation(
        "set bcache mode", Kind.SET_CACHE, lambda n: (READY, n.bcache()),
        lambda n: n.bcache("writeback"),
    ),
    Operation(
        "replace bcache", Kind.REPLACE_CACHE, lambda n: (READY, n.bcache("writeback")),
        lambda n: Wish(
            SIZE, layout="bcache", cache=Bcache(n.other_device, OTHER_CSET, 2 * BCACHE, "writeback")
        ),
        dirty_bytes=32 * MIB,
    ),
    Operation(
        "remove bcache", Kind.REMOVE_CACHE, lambda n: (READY, n.bcache("writeback")),
        lambda n: READY, dirty_bytes=32 * MIB,
    ),
)  # fmt: skip

BY_NAME = {operation.name: operation for operation in OPERATIONS}
