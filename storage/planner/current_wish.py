"""What a volume is now, as a wish."""

from __future__ import annotations

import dataclasses
from typing import Literal

from storage.agent.commands.retirement import retired
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner.allocation import lies_on
from storage.planner.technologies.lookup import cache_wish_of, is_cached
from storage.planner.wish import Layout, Tier, Wish


def wish_now(facts: HostFacts, lv: LogicalVolume, layout: Layout) -> Wish:
    """The wish that would change nothing: what the volume is now.

    Raises `BadWish` where the volume is something Tiercel would never make (a foreign cache in
    passthrough mode, for instance).
    """
    life: Literal["live", "retired"] = "live" if retired(lv.tags) is None else "retired"
    cache = cache_wish_of(facts, lv)
    return Wish(lv.guest_size_bytes, tier_of(facts, lv), layout, cache, life=life)


def tier_of(facts: HostFacts, lv: LogicalVolume) -> Tier:
    """The tier a volume is on: SSD where all of it lies on fast disks and no cache is in front."""
    if "writecache" in lv.layout:
        return "hdd"
    return "hdd" if is_cached(lv) else lies_on(facts, lv)


def uncached(facts: HostFacts | None, lv: LogicalVolume | None, wish: Wish) -> Wish:
    """`wish` without a cache, for a volume that stays where it lies: with one it counted as on HDD,
    and what lies on SSD would be moved once the cache is gone."""
    tier = wish.tier if facts is None or lv is None else lies_on(facts, lv)
    return dataclasses.replace(wish.lasting, tier=tier, cache=None)
