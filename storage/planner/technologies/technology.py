"""What the panel asks of a cache technology. Pure: from facts, wishes and drafts to values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from storage.inventory.facts import HostFacts, LogicalVolume, VolumeGroup
from storage.planner.draft import Draft
from storage.planner.wish import CacheWish, Layout, TechnologyName, Tier


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache as it is now. `used_bytes` is None where it is unknown, `size_bytes` where its
    SSD is not registered. `trouble` is "" or one sentence, `trouble_code` the code of that finding.
    `pvs` are the physical volumes below it; `device_uuid` is the public logical volume that the
    cache lies on, None where LVM hides it."""

    technology: TechnologyName
    name: str
    mode: str
    size_bytes: int | None
    used_bytes: int | None
    dirty_bytes: int
    trouble: str
    trouble_code: str = ""
    pvs: tuple[str, ...] = ()
    device_uuid: str | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a cache beside its size and mode: the field `name` of its wish. `label` and
    `text` show it; `field_label` and `help_text` explain it in a form, `summary` in the API;
    `problem` says why a value in range is refused, "" for none."""

    name: str
    label: str
    text: Callable[[int], str]
    field_label: str
    help_text: str
    summary: str
    max_value: int
    problem: Callable[[int], str] = lambda value: ""


class Risk(NamedTuple):
    """What may go wrong with a cache, and what to do."""

    severity: Literal["error", "warning", "info"]
    text: str
    correction: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What of a volume is `recorded`, and what the host has instead."""

    what: str
    recorded: str
    found: str


class Technology(Protocol):
    """One way to put an SSD in front of a volume."""

    name: TechnologyName
    layout: Layout
    layout_label: str
    layout_promise: str
    about: str
    made_label: str
    """What the logical volume that it makes on SSD is called."""
    wish: type[CacheWish]
    modes: tuple[str, ...]
    settings: tuple[Setting, ...]
    least_bytes: int
    least_offered_bytes: int
    header_bytes: int
    """What it keeps in front of the guest's data on the slow disk."""
    has_latency_histogram: bool
    tells_fill_seldom: bool
    counts_write_hits: bool
    counts_promotions: bool
    unknown_content: Mapping[str, str]
    """What to do, by why the content of a cache is unknown (`why_content_is_unknown`)."""

    def is_there(self, lv: LogicalVolume) -> bool:
        """Whether the kernel has the volume under this technology, with a cache or without."""
        ...

    def has_cache(self, lv: LogicalVolume) -> bool: ...

    def is_born_for(self, lv: LogicalVolume) -> bool:
        """Whether the volume shows that it was created with this technology's own layout."""
        ...

    def device_of(self, lv: LogicalVolume) -> str | None:
        """The device that the guest uses instead of the logical volume; None for the volume."""
        ...

    def hides_volume(self, lv: LogicalVolume) -> bool:
        """Whether a guest is to use another device than the logical volume."""
        ...

    def why_not_running(self, lv: LogicalVolume) -> str:
        """Why a volume of its layout has no device for a guest; "" where it has one."""
        ...

    def cache_of(self, facts: HostFacts, lv: LogicalVolume) -> Cache | None: ...

    def wish_of(self, facts: HostFacts, lv: LogicalVolume) -> CacheWish | None:
        """The cache as a wish; raises `BadWish` for one that Tiercel would never make."""
        ...

    def dirty_bytes(self, lv: LogicalVolume) -> int: ...

    def block_bytes(self, lv: LogicalVolume) -> int:
        """What is written back to the slow disk at once."""
        ...

    def is_lost(self, facts: HostFacts, lv: LogicalVolume) -> bool:
        """Whether LVM misses a disk below the cache."""
        ...

    def why_content_is_unknown(self, lv: LogicalVolume) -> str:
        """A key of `unknown_content` where the cache does not report what it holds; else ""."""
        ...

    def is_part(self, facts: HostFacts, lv: LogicalVolume, other: LogicalVolume) -> bool:
        """Whether `other` is the cache of the volume, or lies below it."""
        ...

    def plan(self, draft: Draft) -> None:
        """Add the steps that bring the volume's cache to the wish."""
        ...

    def release(self, draft: Draft, lv: LogicalVolume) -> None:
        """Add the steps that end its hold on a volume that is retired."""
        ...

    def held_as(self, draft: Draft, lv: LogicalVolume) -> str | None:
        """As what the kernel may hold the volume, in the agent's word; None for not at all."""
        ...

    def refuse_growth(self, draft: Draft, lv: LogicalVolume, size_bytes: int, tier: Tier) -> None:
        """Raise `Refused` where the volume cannot grow to `size_bytes` online."""
        ...

    def unused(self, draft: Draft, caches: Sequence[CacheWish]) -> Iterator[LogicalVolume]:
        """What was made on SSD for the volume and is none of `caches`."""
        ...

    def needed_bytes(self, facts: HostFacts, vg: VolumeGroup, size_bytes: int) -> int:
        """The SSD space a new cache of `size_bytes` takes, with its metadata."""
        ...

    def rounded_bytes(self, cache: Any, size_bytes: int, extent_bytes: int) -> int:
        """The size that `cache` gets where `size_bytes` are asked for."""
        ...

    def flushed(self, facts: HostFacts, cache: Any) -> CacheWish:
        """`cache` as a flush leaves it."""
        ...

    def removal(self, cache: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """The agent's verbs, with their arguments, that take the cache off without a job."""
        ...

    def differences(self, recorded: Any, now: Any, extent_bytes: int) -> Iterator[Difference]:
        """How the cache as it is now differs from the recorded one of the same name."""
        ...

    def is_only_writing_back(self, lv: LogicalVolume) -> bool: ...

    def risks(self, facts: HostFacts, lv: LogicalVolume) -> Iterator[Risk]: ...

    def way_out_of_writeback(self, lv: LogicalVolume, *, on_page: bool) -> str:
        """What a person does about new data that one SSD alone holds."""
        ...
