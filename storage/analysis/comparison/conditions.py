"""What must be alike in two runs that are compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import isclose
from typing import Final

RATIO_TOLERANCE: Final = 0.02
"""Caches are rounded to chunks, data to extents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Of one unit; None = not known. `profile` names the load, the same name for the same load
    only. `state_before` is the state of the cache that the run began with, `data_to_cache` the
    bytes of data for one byte of cache. `target` is what was measured: a disk or a technology."""

    target: str | None = None
    profile: str | None = None
    fio_version: str | None = None
    kernel: str | None = None
    lvm2_version: str | None = None
    bcache_tools_version: str | None = None
    is_guest: bool | None = None
    ssd_model: str | None = None
    ssd_firmware: str | None = None
    hdd_model: str | None = None
    hdd_firmware: str | None = None
    raid_level: str | None = None
    stripe_bytes: int | None = None
    drive_write_cache: str | None = None
    io_scheduler: str | None = None
    nr_requests: int | None = None
    read_ahead_kb: int | None = None
    data_to_cache: float | None = None
    cache_mode: str | None = None
    cache_policy: str | None = None
    chunk_bytes: int | None = None
    migration_threshold: int | None = None
    sequential_cutoff_bytes: int | None = None
    state_before: str | None = None
    cpu_governor: str | None = None
    mitigations: str | None = None


NAMES: Final = tuple(each.name for each in fields(Conditions))


def conditions_that_differ(
    a: Sequence[Conditions], b: Sequence[Conditions], varied: Collection[str] = ()
) -> tuple[str, ...]:
    """Sentences, one for each condition that is not the same in all units. Those in `varied` (names
    of fields) are what the comparison is about: they must be the same within each side only.
    Raises ValueError for a name that no condition has."""
    if unknown := set(varied) - set(NAMES):
        raise ValueError(f"no conditions: {', '.join(sorted(unknown))}")
    return tuple(_sentences(a, b, varied))


def _sentences(
    a: Sequence[Conditions], b: Sequence[Conditions], varied: Collection[str]
) -> Iterator[str]:
    for name in NAMES:
        label = name.removeprefix("is_").removesuffix("_bytes").replace("_", " ")
        sides = (("within side A: ", a), ("within side B: ", b))
        for where, units in sides if name in varied else (("", (*a, *b)),):
            values = _distinct(getattr(unit, name) for unit in units)
            if len(values) > 1:
                yield f"differs: {where}{label}, {' and '.join(map(_shown, values))}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)


def _distinct(values: Iterable[object]) -> list[object]:
    """In their order; ratios that are about the same are one."""
    distinct = list[object]()
    for value in values:
        if not any(_is_same(value, other) for other in distinct):
            distinct.append(value)
    return distinct


def _is_same(value: object, other: object) -> bool:
    if isinstance(value, float) and isinstance(other, float):
        return isclose(value, other, rel_tol=RATIO_TOLERANCE)
    return value == other
