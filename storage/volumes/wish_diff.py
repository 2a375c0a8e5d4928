"""The changes that a wish would make, in words: the table a person reads before confirming.
Pure."""

from __future__ import annotations

from dataclasses import dataclass

from storage.formatting import counted, size
from storage.inventory.facts import HostFacts
from storage.planner.benchmark_wish import BenchmarkWish, scratch_space
from storage.planner.host_wish import HostWish
from storage.planner.member_wish import Replacement
from storage.planner.ssd_wish import spares_of
from storage.planner.technologies.lookup import PLAIN, of_cache, of_layout
from storage.planner.wish import CacheWish, Wish

STATES = {
    "live": "in service",
    "retired": "inactive, can be restored",
    "gone": "wiped and removed permanently",
}


@dataclass(frozen=True, slots=True)
class WishChange:
    what: str
    before: str
    after: str


def changes(before: Wish | None, after: Wish) -> tuple[WishChange, ...]:
    """The differences, `before` None for a volume that does not exist yet."""
    old = _described(before) if before is not None else {}
    return tuple(
        WishChange(what, old.get(what, "-"), now)
        for what, now in _described(after).items()
        if old.get(what) != now
    )


def gains(facts: HostFacts, wanted: HostWish) -> tuple[WishChange, ...]:
    """What the group or the array would have of it; none where the device is not spare (any
    more). Of a benchmark's run, what it takes for a time."""
    if isinstance(wanted, Replacement):
        return _exchanged(facts, wanted)
    if isinstance(wanted, BenchmarkWish):
        return _scratch(facts, wanted)
    spare = next((each for each in spares_of(facts) if each.name == wanted.device), None)
    if spare is None:
        return ()
    has_bytes = sum(pv.size_bytes for pv in facts.pvs_of(wanted.vg_uuid, "fast"))
    more = WishChange(
        f"SSD of {wanted.vg_name}", size(has_bytes), f"about {size(has_bytes + spare.size_bytes)}"
    )
    use = WishChange(f"{spare.name} ({spare.serial})", "not used", f"part of {wanted.vg_name}")
    return (more, use)


def _exchanged(facts: HostFacts, wanted: Replacement) -> tuple[WishChange, ...]:
    array = next((each for each in facts.arrays if each.uuid == wanted.array_uuid), None)
    if array is None or any(member.name == wanted.device for member in array.members):
        return ()
    new = WishChange(f"{wanted.device} ({wanted.serial})", "not used", f"part of {array.name}")
    if not wanted.member:
        missing = counted(array.degraded_count or 0, "disk")
        return (new, WishChange(array.name, f"missing {missing}", "rebuilt"))
    return (new, WishChange(wanted.member, f"part of {array.name}", "not used"))


def _scratch(facts: HostFacts, wanted: BenchmarkWish) -> tuple[WishChange, ...]:
    """What its scratch volumes take while it runs."""
    vg = facts.vg(wanted.vg_uuid)
    if vg is None:
        return ()
    space = scratch_space(vg, wanted.args)
    return tuple(
        WishChange(f"{tier} of {vg.name} while it runs", "-", f"{size(taken)} of scratch volumes")
        for tier, taken in (("HDD", space.slow), ("SSD", space.fast))
        if taken
    )


def _described(wish: Wish) -> dict[str, str]:
    cache = wish.cache
    return {
        "State": STATES[wish.life],
        "Size": size(wish.size_bytes),
        "Tier": wish.tier.upper(),
        "Layout": "linear" if wish.layout == PLAIN else of_layout(wish.layout).layout_label,
        "Cache": cache.technology if cache is not None else "none",
        "Cache size": size(cache.size_bytes) if cache is not None else "-",
        "Cache mode": cache.mode if cache is not None else "-",
        **_settings(cache),
        **({"Dirty data": "written to the HDD"} if wish.flushed else {}),
    }


def _settings(cache: CacheWish | None) -> dict[str, str]:
    if cache is None:
        return {}
    settings = of_cache(cache).settings
    return {setting.label: setting.text(getattr(cache, setting.name)) for setting in settings}
