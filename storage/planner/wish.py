"""The wish: what a volume should be. A wish is a value and does not say how to get there."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal
from uuid import NAMESPACE_OID, uuid5

from storage.byte_sizes import MIB
from storage.naming import cache_device_name, pool_name

Tier = Literal["hdd", "ssd"]
TechnologyName = Literal["lvmcache", "bcache"]
Layout = Literal["plain", "bcache"]
"""What a volume is created as: each technology needs one of them."""


# bcache refuses 512 buckets or fewer (roundup_pow_of_two(nbuckets) >> 10 must be > 0); with its
# default bucket of 512 KiB that is 256 MiB. Twice that leaves room for metadata and journal.
BCACHE_MIN_BYTES = 512 * MIB
BUCKET_KIB = 512
LVMCACHE_MIN_BYTES = 64 * MIB
DEFAULT_CHUNK_KIB = 64
MIGRATION_THRESHOLD_SECTORS = 16384
"""Data on the move at once, 8 MiB. With dm-cache's default of 1 MiB a new cache warms slowly."""
SEQUENTIAL_CUTOFF_BYTES = 0
"""Cache everything. The kernel's 4 MiB takes a guest's interleaved reads for sequential ones and
sends them past the cache (published: 97.6 % hits and 12.7k IOPS with it, 99.6 % and 68.8k
without)."""
WRITEBACK_PERCENT = 10
"""The kernel's own: writeback slows down while less than this share of the cache is dirty."""
WRITEBACK_PERCENT_MAX = 40
MAX_CHUNKS = 1_000_000
"""`allocation/cache_pool_max_chunks`: LVM refuses a pool with more chunks than this."""
MAX_CHUNK_KIB = 1024**2
MAX_BYTES = 2**60
NAME_LIMIT = 127


def smallest_chunk_kib(size_bytes: int) -> int:
    """The smallest chunk (power of two, at least 64 KiB) LVM admits for a pool of this size.

    64 KiB up to 61 GiB, 128 KiB up to 122 GiB, and so on; smaller than that, lvcreate fails with
    "less than required minimal chunk size".
    """
    chunk_kib = DEFAULT_CHUNK_KIB
    while size_bytes > MAX_CHUNKS * chunk_kib * 1024:
        chunk_kib *= 2
    return chunk_kib


class BadWish(ValueError):
    """The wish contradicts itself or a limit of the technology; the text says what to change."""


class CacheTooSmall(BadWish):
    """The technology needs a larger cache."""


def _whole(what: str, value: object, low: int, high: int = MAX_BYTES) -> None:
    """Refuse what is no int (bool is one to Python) or out of range."""
    if type(value) is not int or not low <= value <= high:
        raise BadWish(f"{what} is a whole number from {low} to {high}.")


def _choice(what: str, value: object, *allowed: str) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise BadWish(f"{what} is {' or '.join(allowed)}.")


def _name(what: str, value: object) -> None:
    """Only a bound on the text: whether a cache is one of ours is for the plan to decide."""
    if not isinstance(value, str) or len(value) > NAME_LIMIT or not _plain(value):
        raise BadWish(f"{what} is plain text of at most {NAME_LIMIT} characters.")


def _plain(value: str) -> bool:
    return value.isascii() and value.isprintable()


@dataclass(frozen=True, slots=True)
class LvmCache:
    """A cache pool of `size_bytes` on the fast physical volumes of the volume's own group."""

    technology: ClassVar[TechnologyName] = "lvmcache"
    layout: ClassVar[Layout] = "plain"
    modes: ClassVar[tuple[str, ...]] = ("writethrough", "writeback")
    misfit: ClassVar[str] = "This volume was created bcache-ready: give it a bcache cache."

    name: str
    size_bytes: int
    mode: Literal["writethrough", "writeback"] = "writethrough"
    chunk_kib: int = DEFAULT_CHUNK_KIB
    migration_threshold_sectors: int = MIGRATION_THRESHOLD_SECTORS

    @classmethod
    def new(cls, key: str, size_bytes: int, mode: Any = "writethrough") -> LvmCache:
        """A cache under a name made of `key`; raises `BadWish`."""
        return cls(pool_name(key), size_bytes, mode, smallest_chunk_kib(size_bytes))

    def with_mode(self, mode: Any) -> LvmCache:
        return dataclasses.replace(self, mode=mode)

    def another(self, key: str, size_bytes: int, mode: Any) -> LvmCache:
        """A fresh cache with the settings of this one; raises `BadWish`."""
        threshold = self.migration_threshold_sectors
        return dataclasses.replace(
            self.new(key, size_bytes, mode), migration_threshold_sectors=threshold
        )

    def __post_init__(self) -> None:
        _name("A cache pool's name", self.name)
        _choice("The mode of lvmcache", self.mode, *self.modes)
        _whole("A cache's size in bytes", self.size_bytes, 1, MAX_CHUNKS * MAX_CHUNK_KIB * 1024)
        _whole("The chunk size in KiB", self.chunk_kib, 32, MAX_CHUNK_KIB)
        _whole("The migration threshold", self.migration_threshold_sectors, 0, 2**31)
        if self.size_bytes < LVMCACHE_MIN_BYTES:
            raise CacheTooSmall(f"A cache pool needs at least {LVMCACHE_MIN_BYTES // MIB} MiB.")
        if self.chunk_kib % 32:
            raise BadWish("The chunk size is a multiple of 32 KiB, from 32 KiB to 1 GiB.")
        if self.size_bytes > MAX_CHUNKS * self.chunk_kib * 1024:
            raise BadWish(
                f"A cache of this size needs chunks of at least "
                f"{smallest_chunk_kib(self.size_bytes)} KiB."
            )


@dataclass(frozen=True, slots=True)
class Bcache:
    """A cache set of its own on an SSD logical volume, so that a sold size is a kept size."""

    technology: ClassVar[TechnologyName] = "bcache"
    layout: ClassVar[Layout] = "bcache"
    modes: ClassVar[tuple[str, ...]] = ("writethrough", "writeback", "writearound")
    misfit: ClassVar[str] = (
        "Only a volume created bcache-ready can take a bcache cache: "
        "choose lvmcache, which works on any volume online."
    )

    name: str
    cset_uuid: str
    size_bytes: int
    cache_mode: Literal["writethrough", "writeback", "writearound"] = "writethrough"
    sequential_cutoff_bytes: int = SEQUENTIAL_CUTOFF_BYTES
    writeback_percent: int = WRITEBACK_PERCENT

    @classmethod
    def new(cls, key: str, size_bytes: int, mode: Any = "writethrough") -> Bcache:
        """A cache under a name and a UUID made of `key`; raises `BadWish`."""
        return cls(cache_device_name(key), str(uuid5(NAMESPACE_OID, key)), size_bytes, mode)

    @property
    def mode(self) -> str:
        return self.cache_mode

    def with_mode(self, mode: Any) -> Bcache:
        return dataclasses.replace(self, cache_mode=mode)

    def another(self, key: str, size_bytes: int, mode: Any) -> Bcache:
        """A fresh cache with the settings of this one; raises `BadWish`."""
        fresh = self.new(key, size_bytes, mode)
        return dataclasses.replace(
            self,
            name=fresh.name,
            cset_uuid=fresh.cset_uuid,
            size_bytes=size_bytes,
            cache_mode=fresh.cache_mode,
        )

    def __post_init__(self) -> None:
        _name("A cache device's name", self.name)
        _name("A cache set's UUID", self.cset_uuid)
        _choice("The mode of bcache", self.cache_mode, *self.modes)
        _whole("A cache's size in bytes", self.size_bytes, 1)
        _whole("The sequential cutoff in bytes", self.sequential_cutoff_bytes, 0, 2**32)
        _whole("The writeback percent", self.writeback_percent, 0, WRITEBACK_PERCENT_MAX)
        if self.size_bytes < BCACHE_MIN_BYTES:
            raise CacheTooSmall(
                f"A bcache cache needs at least {BCACHE_MIN_BYTES // MIB} MiB "
                "(more than 512 buckets)."
            )


CacheWish = LvmCache | Bcache
CACHES: dict[str, type[CacheWish]] = {each.technology: each for each in (LvmCache, Bcache)}
"""The caches that a wish can name, by what it calls their technology."""
LAYOUTS: tuple[Layout, ...] = tuple(each.layout for each in CACHES.values())


@dataclass(frozen=True, slots=True)
class Wish:
    """`size_bytes` is what the guest sees. `layout` is fixed at birth: bcache keeps a superblock
    in front of the data, so only a volume created bcache-ready can ever take a bcache cache.
    `flushed`: what is dirty in the cache is to be on the slow disk once. `pace_sectors`: the
    migration threshold while lvmcache flushes, None = as it is. `rise_percent`: by how much the
    p95 of the other volumes on the disks may rise while this is carried out, None = as the host's
    policy says. `lasting` forgets these."""

    size_bytes: int
    tier: Tier = "hdd"
    layout: Layout = "plain"
    cache: CacheWish | None = None
    flushed: bool = False
    pace_sectors: int | None = None
    rise_percent: int | None = None
    life: Literal["live", "retired", "gone"] = "live"

    def __post_init__(self) -> None:
        _whole("A volume's size in bytes", self.size_bytes, 1)
        _choice("The tier", self.tier, "hdd", "ssd")
        _choice("The layout", self.layout, *LAYOUTS)
        if self.cache is not None and self.cache.layout != self.layout:
            raise BadWish(self.cache.misfit)
        if self.cache is not None and self.tier == "ssd":
            raise BadWish("A volume on SSD gains nothing from a cache.")
        _choice("The life", self.life, "live", "retired", "gone")
        if self.cache is not None and self.life != "live":
            raise BadWish("A retired volume has no cache.")
        if type(self.flushed) is not bool:
            raise BadWish("Whether to flush is true or false.")
        if self.flushed and self.cache is None:
            raise BadWish("There is no cache to flush.")
        if self.pace_sectors is not None:
            _whole("The pace of a flush in sectors", self.pace_sectors, 0, 2**31)
        if self.rise_percent is not None:
            _whole("What others may feel, in percent", self.rise_percent, 1, 1000)

    @property
    def lasting(self) -> Wish:
        """What stays true once it is fulfilled: a guest makes new dirty data at once."""
        return dataclasses.replace(self, flushed=False, pace_sectors=None, rise_percent=None)

    def to_json(self) -> dict[str, Any]:
        data = dataclasses.asdict(self)
        if self.cache is not None:
            data["cache"] = {"kind": self.cache.technology, **data["cache"]}
        return data

    @classmethod
    def from_json(cls, data: object) -> Wish:
        """The inverse of `to_json`; raises `BadWish` on anything else."""
        if not isinstance(data, dict):
            raise BadWish("A wish is an object.")
        fields: dict[str, Any] = dict(data)
        cache = fields.pop("cache", None)
        try:
            return cls(**fields, cache=None if cache is None else cache_from_json(cache))
        except TypeError as error:
            raise BadWish(f"Not a wish: {error}") from error


def cache_from_json(data: object) -> CacheWish:
    """A cache as `Wish.to_json` writes it; raises `BadWish` on anything else."""
    if not isinstance(data, dict):
        raise BadWish("A cache is an object, or null for none.")
    fields: dict[str, Any] = dict(data)
    kind = fields.pop("kind", None)
    if not isinstance(kind, str) or kind not in CACHES:
        raise BadWish(f"A cache is of kind {' or '.join(CACHES)}.")
    return CACHES[kind](**fields)
