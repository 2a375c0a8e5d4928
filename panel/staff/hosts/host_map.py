"""The map of a host: disks and arrays, the volumes and caches on them by tier, and the guests on
those. Pure: from an inventory and the last figures.

Areas compare within one picture: guests by the size of their volumes, volumes and caches by what
they take of their tier, devices by their size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from zlib import crc32

from panel.charts.heat_bands import UNKNOWN, WORSE, Heat, hottest
from panel.charts.tiles import Branch, Frame, Strip, Thing, Tile, TilePicture, sliced, tiled
from panel.staff.hosts.storage_stack import Pillar, StackGroup, Tier, stack_of
from storage.formatting import counted, size
from storage.health.failure_reach import GRAVEST, FailureReach, Level, PartFault, gravest
from storage.inventory.device_tree import Box, Chain, is_part_of
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.planner.technologies.lookup import cache_of

LEVELS: Final[Mapping[Level, str]] = {
    "failed": "failed",
    "at-risk": "at risk",
    "cache-at-risk": "cache at risk",
}
TITLES: Final = {"fast": "SSD", "slow": "HDD"}
WHOLE_PX, SLOW_PX, FAST_PX = 1200, 790, 390
"""Widths on a large screen: of a tier alone in its group, and of two beside each other."""
REST_SHARE: Final = 0.25
"""What is free, and what no volume explains, are never a larger part of the picture each: a new
host would be an empty one."""
REST_SEEN: Final = 0.01
"""Less of a tier that no volume explains is not drawn: LVM keeps some room everywhere."""
CUSTOMERS_NAMED: Final = 3
NOTHING_KNOWN: Final = (("latency", UNKNOWN), ("busy", UNKNOWN))


@dataclass(frozen=True, slots=True)
class VolumeNow:
    """What the panel knows of a volume beside its inventory. Shares are 0 to 1, None where no
    fresh sample tells."""

    name: str
    url: str
    customer: str
    latency: Heat = UNKNOWN
    busy: Heat = UNKNOWN
    hit_rate: float | None = None
    filled: float | None = None
    dirty: float | None = None


@dataclass(frozen=True, slots=True)
class DiskNow:
    """The same of a disk; `url` is "" while its health was not read."""

    url: str = ""
    latency: Heat = UNKNOWN
    busy: Heat = UNKNOWN


@dataclass(frozen=True, slots=True)
class TierMap:
    """Of a group."""

    name: str
    title: str
    words: str
    devices: tuple[Frame, ...]
    volumes: TilePicture


@dataclass(frozen=True, slots=True)
class GroupMap:
    """`trouble` is "" for a whole group; `volumes` are those of the list, with who uses them."""

    key: str
    name: str
    words: str
    trouble: str
    tiers: tuple[TierMap, ...]
    volumes: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class FaultLine:
    """A fault, and what lies on it in words."""

    fault: PartFault
    words: str

    @property
    def tone(self) -> str:
        return "error" if self.fault.has_failed else "warning"

    @property
    def level(self) -> str:
        return LEVELS[self.fault.level]


@dataclass(frozen=True, slots=True)
class HostMap:
    """`loose` are devices that no volume group uses; `guests` is None where there are none.
    `others` are programs, mounts and swap that use volumes, in words."""

    faults: tuple[FaultLine, ...]
    guests: TilePicture | None
    others: tuple[str, ...]
    groups: tuple[GroupMap, ...]
    loose: tuple[Frame, ...]


def host_map(
    facts: HostFacts, volumes: Mapping[str, VolumeNow], disks: Mapping[str, DiskNow]
) -> HostMap:
    """`volumes` by the uuid of their LV, `disks` by their name."""
    return _HostMap(facts, volumes, disks).drawn()


class _HostMap:
    def __init__(
        self, facts: HostFacts, volumes: Mapping[str, VolumeNow], disks: Mapping[str, DiskNow]
    ) -> None:
        self.facts, self.volumes, self.disks = facts, volumes, disks
        self.reach = FailureReach(facts)
        self.things: dict[str, Thing] = {}

    def drawn(self) -> HostMap:
        stack = stack_of(self.facts)
        groups = tuple(self._group(group) for group in stack.groups)
        loose = [(chain, self._loose_fault(chain), _bytes(chain)) for chain in stack.loose]
        pillars = [pillar for group in stack.groups for pillar in group.pillars]
        frames = self._frames("loose", loose)
        guests, others = self._guests(pillars), self._others(pillars)
        return HostMap(self._faults(groups, frames), guests, others, groups, frames)

    # Volumes

    def _group(self, group: StackGroup) -> GroupMap:
        for pillar in group.pillars:
            self.things[pillar.volume.lv_uuid] = self._volume(pillar)
        missing = group.vg.missing_pv_count
        listed = (
            Branch(self.things[pillar.volume.lv_uuid], tuple(_user(user) for user in pillar.users))
            for pillar in group.pillars
        )
        return GroupMap(
            key=group.vg.uuid,
            name=group.vg.name,
            words=size(group.vg.size_bytes),
            trouble=f"{counted(missing, 'device')} missing" if missing else "",
            tiers=tuple(self._tier(group, tier) for tier in group.tiers),
            volumes=tuple(sorted(listed, key=lambda each: _gravity(each.thing), reverse=True)),
        )

    def _volume(self, pillar: Pillar) -> Thing:
        box = pillar.volume
        lv, now = self._lv(box), self.volumes.get(box.lv_uuid)
        named = now.name if now is not None else box.name
        strip = self._strip(pillar, lv, now)
        details = ["" if named == box.name else box.name, box.detail]
        if pillar.cache is not None and strip is None:
            details.append(pillar.cache.detail)
        return Thing(
            key=f"lv-{box.lv_uuid}",
            kind="volume",
            name=named,
            size_bytes=pillar.size_bytes,
            url=now.url if now is not None else "",
            detail=", ".join(each for each in details if each),
            heats=NOTHING_KNOWN if now is None else (("latency", now.latency), ("busy", now.busy)),
            fault=self.reach.of_volume(lv),
            strip=strip,
        )

    def _strip(self, pillar: Pillar, lv: LogicalVolume, now: VolumeNow | None) -> Strip | None:
        cache = cache_of(self.facts, lv)
        if cache is None or pillar.cache is None:
            return None
        filled, dirty = (None, None) if now is None else (now.filled, now.dirty)
        if cache.size_bytes:
            if filled is None and cache.used_bytes is not None:
                filled = cache.used_bytes / cache.size_bytes
            dirty = cache.dirty_bytes / cache.size_bytes if dirty is None else dirty
        return Strip(
            cache.size_bytes,
            None if filled is None else 100 * min(1.0, filled),
            100 * min(1.0, dirty or 0.0),
            None if now is None else now.hit_rate,
            pillar.cache.detail,
        )

    def _lv(self, box: Box) -> LogicalVolume:
        lv = self.facts.lv(box.lv_uuid)
        if lv is None:
            raise ValueError(f"{box.name} is not in its own inventory")
        return lv

    def _tier(self, group: StackGroup, tier: Tier) -> TierMap:
        is_alone = len(group.tiers) == 1
        wide_px = WHOLE_PX if is_alone else FAST_PX if tier.name == "fast" else SLOW_PX
        placed = [
            *self._placed(group.pillars, tier, is_alone=is_alone),
            *(self._caches(group.pillars) if tier.name == "fast" else ()),
        ]
        pvs = self.facts.pvs_of(group.vg.uuid, tier.name)
        chains = [
            (chain, self.reach.of_pv(pv), pv.size_bytes)
            for pv, chain in zip(pvs, tier.devices, strict=True)
        ]
        return TierMap(
            name=tier.name,
            title=TITLES[tier.name],
            words=f"{size(tier.free_bytes)} of {size(tier.size_bytes)} free",
            devices=self._frames(f"{group.vg.uuid}-{tier.name}", chains),
            volumes=tiled(_with_rest(group, tier, placed), wide_px),
        )

    def _placed(
        self, pillars: Iterable[Pillar], tier: Tier, *, is_alone: bool
    ) -> Iterable[tuple[Thing, float]]:
        """The volumes with what of them lies on the tier."""
        for pillar in pillars:
            is_fast = tier.name == "fast"
            here = pillar.fast_bytes if is_fast else pillar.size_bytes - pillar.fast_bytes
            here = pillar.size_bytes if is_alone else here
            if here:
                thing = self.things[pillar.volume.lv_uuid]
                fault = thing.fault
                if fault is not None and fault.level == "cache-at-risk" and not is_fast:
                    fault = None
                yield replace(thing, key=f"{thing.key}-{tier.name}", fault=fault), here

    def _caches(self, pillars: Iterable[Pillar]) -> Iterable[tuple[Thing, float]]:
        """Each cache as its volume looks, with its own fault."""
        for pillar in pillars:
            if pillar.cache is not None and pillar.cache.size_bytes:
                thing = self.things[pillar.volume.lv_uuid]
                cache = replace(
                    thing,
                    key=f"{thing.key}-cache",
                    kind="cache",
                    size_bytes=None,
                    detail="",
                    fault=self.reach.of_cache(self._lv(pillar.volume)),
                )
                yield cache, pillar.cache.size_bytes

    # Devices

    def _frames(
        self, key: str, chains: Sequence[tuple[Chain, PartFault | None, int]]
    ) -> tuple[Frame, ...]:
        parts: dict[str, tuple[Tile, ...]] = {}
        weighed: list[tuple[Thing, float]] = []
        for n, (chain, fault, size_bytes) in enumerate(chains):
            thing = self._device(f"{key}-{n}", chain, fault, size_bytes)
            if len(chain) > 1:
                parts[thing.key] = self._parts(thing.key, chain)
            weighed.append((thing, size_bytes))
        drawn = sliced(weighed)
        return tuple(Frame(tile, parts.get(tile.thing.key, ())) for tile in drawn.tiles)

    def _device(self, key: str, chain: Chain, fault: PartFault | None, size_bytes: int) -> Thing:
        top = chain[-1][-1]
        if len(chain) > 1:
            return Thing(
                key=key, kind="array", name=top.name, size_bytes=size_bytes, detail=_detail(top),
                fault=fault,
            )  # fmt: skip
        if top.trouble == "missing":
            return Thing(
                key=key, kind="missing", name="missing device", size_bytes=size_bytes, fault=fault
            )
        disk = self._disk(key, top)
        return replace(disk, size_bytes=size_bytes, fault=gravest((fault, disk.fault)))

    def _parts(self, key: str, chain: Chain) -> tuple[Tile, ...]:
        """The disks in an array side by side, and those that it misses."""
        things = [self._disk(f"{key}-{n}", box) for n, box in enumerate(chain[0])]
        arrays = {box.name for stage in chain for box in stage if box.kind == "array"}
        for array in self.facts.arrays:
            if array.name in arrays:
                gone = sum(member.has_failed for member in array.members)
                fault = PartFault("failed", "missing disk", f"{array.name} has lost it")
                things += [
                    Thing(key=f"{key}-gone-{n}", kind="missing", name="missing disk", fault=fault)
                    for n in range(max(0, (array.degraded_count or 0) - gone))
                ]
        return sliced([(thing, 1.0) for thing in things]).tiles

    def _disk(self, key: str, box: Box) -> Thing:
        now = next(
            (each for name, each in self.disks.items() if is_part_of(box.name, name)), DiskNow()
        )
        return Thing(
            key=key,
            kind="disk",
            name=box.name,
            size_bytes=box.size_bytes,
            url=now.url,
            detail=_detail(box),
            heats=(("latency", now.latency), ("busy", now.busy)),
            fault=self.reach.of_disk(box.name),
        )

    def _loose_fault(self, chain: Chain) -> PartFault | None:
        name = chain[-1][-1].name
        return self.reach.of_array(name) or self.reach.of_disk(name)

    # Guests

    def _guests(self, pillars: Iterable[Pillar]) -> TilePicture | None:
        """By their names; each looks as the worst of its volumes."""
        used = self._used(pillars, are_guests=True)
        weighed = [
            (_guest(name, things), float(sum(each.size_bytes or 0 for each in things)))
            for name, things in used.items()
        ]
        return tiled(weighed, WHOLE_PX, "guests" if len(weighed) < 80 else "l") if weighed else None

    def _others(self, pillars: Iterable[Pillar]) -> tuple[str, ...]:
        used = self._used(pillars, are_guests=False)
        return tuple(f"{name} ({counted(len(things), 'volume')})" for name, things in used.items())

    def _used(self, pillars: Iterable[Pillar], *, are_guests: bool) -> dict[str, list[Thing]]:
        """The volumes of each user."""
        used: dict[str, list[Thing]] = {}
        for pillar in pillars:
            users = self._lv(pillar.volume).users
            for name in dict.fromkeys(user.name for user in users if user.is_guest == are_guests):
                used.setdefault(name, []).append(self.things[pillar.volume.lv_uuid])
        return used

    # Faults

    def _faults(self, groups: Iterable[GroupMap], loose: Iterable[Frame]) -> tuple[FaultLine, ...]:
        """Each once, the gravest first, with the volumes and customers that it concerns."""
        groups = tuple(groups)
        frames = [each for group in groups for tier in group.tiers for each in tier.devices]
        touched: dict[PartFault, list[str]] = {}
        for frame in (*frames, *loose):
            for tile in (frame.tile, *frame.parts):
                is_leg = tile.thing.kind == "missing" and tile is not frame.tile
                if tile.thing.fault is not None and not is_leg:
                    touched.setdefault(tile.thing.fault, [])
        for uuid, thing in self.things.items():
            if thing.fault is not None:
                touched.setdefault(thing.fault, []).append(uuid)
        lines = [FaultLine(fault, self._on_it(uuids)) for fault, uuids in touched.items()]
        return tuple(sorted(lines, key=lambda line: GRAVEST.index(line.fault.level)))

    def _on_it(self, uuids: Sequence[str]) -> str:
        if not uuids:
            return ""
        known = (self.volumes[uuid] for uuid in uuids if uuid in self.volumes)
        customers = list(dict.fromkeys(now.customer for now in known if now.customer))
        words = counted(len(uuids), "volume")
        if not customers:
            return f"{words}."
        named = ", ".join(customers[:CUSTOMERS_NAMED])
        more = len(customers) - CUSTOMERS_NAMED
        return f"{words} of {named}{f' and {more} more customers' if more > 0 else ''}."


def _with_rest(
    group: StackGroup, tier: Tier, placed: Sequence[tuple[Thing, float]]
) -> list[tuple[Thing, float]]:
    """With what is free, and what of the tier no volume explains."""
    taken = sum(weight for _, weight in placed)
    most = REST_SHARE * taken / (1 - REST_SHARE) if taken else float(tier.size_bytes)
    rest = tier.used_bytes - taken
    key = f"{group.vg.uuid}-{tier.name}"
    found = list(placed)
    if tier.free_bytes:
        free = Thing(key=f"{key}-free", kind="free", name="free", size_bytes=tier.free_bytes)
        found.append((free, min(most, tier.free_bytes)))
    if rest > REST_SEEN * tier.size_bytes:
        other = Thing(
            key=f"{key}-other", kind="other", name="other", size_bytes=int(rest),
            detail="LVM's own data, copies and what is missing",
        )  # fmt: skip
        found.append((other, min(most, rest)))
    return found


def _guest(name: str, things: Sequence[Thing]) -> Thing:
    heats = {kind: [dict(each.heats)[kind] for each in things] for kind, _ in NOTHING_KNOWN}
    return Thing(
        key=f"guest-{crc32(name.encode()):08x}-{len(name)}",
        kind="guest",
        name=name,
        size_bytes=sum(each.size_bytes or 0 for each in things),
        url=things[0].url if len(things) == 1 else "",
        detail=f"uses {', '.join(each.name for each in things)}",
        heats=tuple((kind, hottest(each)) for kind, each in heats.items()),
        fault=gravest(each.fault for each in things),
    )


def _user(box: Box) -> Thing:
    return Thing(key=box.name, kind="guest", name=f"used by {box.name}")


def _gravity(thing: Thing) -> tuple[int, int]:
    """What is to be read first: by its fault, then by how slow and how busy it is."""
    fault = 0 if thing.fault is None else len(GRAVEST) - GRAVEST.index(thing.fault.level)
    return fault, max(WORSE.index(heat.band) for _, heat in thing.heats)


def _detail(box: Box) -> str:
    dirty = f"{size(box.dirty_bytes)} dirty" if box.dirty_bytes else ""
    return ", ".join(each for each in (box.detail, dirty) if each)


def _bytes(chain: Chain) -> int:
    return max((box.size_bytes or 0 for stage in chain for box in stage), default=0)
