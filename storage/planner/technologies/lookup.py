"""The one place that decides which technology a volume's cache has."""

from __future__ import annotations

from dataclasses import replace

from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner.draft import Draft
from storage.planner.lvm_sizes import round_up
from storage.planner.technologies.bcache import BcacheTechnology
from storage.planner.technologies.lvmcache import LvmCacheTechnology
from storage.planner.technologies.technology import Cache, Technology
from storage.planner.wish import CacheWish, Layout, Tier, Wish

TECHNOLOGIES: tuple[Technology, ...] = (LvmCacheTechnology(), BcacheTechnology())
PLAIN: Layout = "plain"
SETTINGS: dict[str, tuple[str, ...]] = {
    each.name: tuple(setting.name for setting in each.settings) for each in TECHNOLOGIES
}
"""Names of the settings of each technology, as in its wish."""


def of_layout(layout: str) -> Technology:
    """The technology that a volume of this layout takes."""
    return next((each for each in TECHNOLOGIES if each.layout == layout), TECHNOLOGIES[0])


def of_cache(cache: CacheWish | Cache) -> Technology:
    return next(each for each in TECHNOLOGIES if each.name == cache.technology)


def on(lv: LogicalVolume) -> Technology | None:
    """The technology that has the volume now; None where there is none."""
    return next((each for each in TECHNOLOGIES if each.is_there(lv)), None)


def layout_of(text: str) -> Layout:
    """A layout as the database has it."""
    return of_layout(text).layout


def layout_seen(lv: LogicalVolume) -> Layout:
    """The layout that the host shows of a volume."""
    return next((each.layout for each in TECHNOLOGIES if each.is_born_for(lv)), PLAIN)


def is_cached(lv: LogicalVolume) -> bool:
    return any(each.has_cache(lv) for each in TECHNOLOGIES)


def cache_of(facts: HostFacts, lv: LogicalVolume) -> Cache | None:
    """The cache on a logical volume, None when it has none."""
    caches = (each.cache_of(facts, lv) for each in TECHNOLOGIES)
    return next((cache for cache in caches if cache is not None), None)


def cache_wish_of(facts: HostFacts, lv: LogicalVolume) -> CacheWish | None:
    """The same as a wish; raises `BadWish` for a cache that Tiercel would never make."""
    caches = (each.wish_of(facts, lv) for each in TECHNOLOGIES)
    return next((cache for cache in caches if cache is not None), None)


def dirty_bytes(lv: LogicalVolume) -> int:
    """What the caches of the volume hold that the slow disk does not have."""
    return sum(each.dirty_bytes(lv) for each in TECHNOLOGIES)


def hides_volume(lv: LogicalVolume) -> bool:
    """Whether the guest uses another device than the logical volume."""
    return any(each.hides_volume(lv) for each in TECHNOLOGIES)


def device_of(lv: LogicalVolume) -> str | None:
    """The device that the guest uses instead of the logical volume; None for the volume."""
    devices = (each.device_of(lv) for each in TECHNOLOGIES)
    return next((device for device in devices if device is not None), None)


def is_only_writing_back(lv: LogicalVolume) -> bool:
    """Whether its cache empties itself and caches nothing new."""
    return any(each.is_only_writing_back(lv) for each in TECHNOLOGIES)


def is_lost(facts: HostFacts, lv: LogicalVolume) -> bool:
    """Whether LVM misses a disk below the cache of the volume."""
    return any(each.is_lost(facts, lv) for each in TECHNOLOGIES)


def is_part(facts: HostFacts, lv: LogicalVolume, other: LogicalVolume) -> bool:
    """Whether `other` is the cache of the volume, or lies below it."""
    technology = on(lv)
    return technology is not None and technology.is_part(facts, lv, other)


def held_as(draft: Draft, lv: LogicalVolume) -> str:
    """As what the kernel may hold the volume, in the agent's word."""
    held = (each.held_as(draft, lv) for each in TECHNOLOGIES)
    return next((layout for layout in held if layout is not None), PLAIN)


def refuse_growth(draft: Draft, lv: LogicalVolume, size_bytes: int, tier: Tier) -> None:
    """Raise `Refused` where the volume cannot grow to `size_bytes` online."""
    for technology in TECHNOLOGIES:
        technology.refuse_growth(draft, lv, size_bytes, tier)


def with_flush(facts: HostFacts | None, wish: Wish) -> Wish:
    """`wish` with its cache flushed, as that can end."""
    cache = wish.cache
    if facts is not None and cache is not None:
        cache = of_cache(cache).flushed(facts, cache)
    return replace(wish, cache=cache, flushed=True)


def volume_bytes(size_bytes: int, layout: str, extent_bytes: int) -> int:
    """The LV size for a volume whose guest sees at least `size_bytes`."""
    return round_up(size_bytes + of_layout(layout).header_bytes, extent_bytes)


def guest_bytes(lv_bytes: int, layout: str) -> int:
    """What a guest sees of an LV, once it is formatted where it is to be."""
    return lv_bytes - of_layout(layout).header_bytes
