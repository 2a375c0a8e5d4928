"""Which SSD to buy for a host, what it earns, and when it is paid back. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

TB: Final = 10**12


@dataclass(frozen=True, slots=True)
class SoldUnit:
    """What is counted in: the plan that sells best. Its cache takes `cache_bytes` of SSD and earns
    `minor` of `currency` a month."""

    name: str
    key: str
    cache_bytes: int
    minor: int
    currency: str


@dataclass(frozen=True, slots=True)
class SsdCost:
    """What a TB of SSD costs, in minor units."""

    minor: int
    currency: str

    def of(self, ssd_bytes: int) -> int:
        """What so much costs."""
        return round(self.minor * ssd_bytes / TB)


@dataclass(frozen=True, slots=True)
class SsdSize:
    """An SSD that can be bought. `saved_seconds_per_day` is what the allocator says that it saves
    of waiting; None where it does not know."""

    ssd_bytes: int
    saved_seconds_per_day: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """`copies` SSDs of one size, which hold the same data where they are two. They give room for
    `more` units, of which `wanted` are wanted now: these earn `minor` a month. `cost_minor` is the
    price of all copies and `payback_months` when it is earned; both None without a price in the
    currency of the unit."""

    size: SsdSize
    copies: int
    more: int
    wanted: int
    minor: int
    currency: str
    cost_minor: int | None = None
    payback_months: int | None = None


def purchase(
    unit: SoldUnit,
    *,
    free_bytes: int,
    wanted: int,
    sizes: Sequence[SsdSize],
    copies: int = 1,
    rate: SsdCost | None = None,
) -> Purchase | None:
    """For a host with so much SSD free, where `wanted` units are wanted: the smallest SSD with room
    for all that does not fit, else the largest one. None where all fit, or no SSD gives room.

    Boost M takes 64 GiB and earns 4.90 EUR. With 4 GiB free and 14 wanted none fits. An SSD of 480
    GB gives room for 7, one of 960 GB for 14: 14 x 4.90 = 68.60 EUR a month. Two of them at 178 EUR
    a TB cost 341.76 EUR, which 5 months earn.
    """
    room = free_bytes // unit.cache_bytes
    short = wanted - room
    fitting = [
        (each, more)
        for each in sorted(sizes, key=lambda each: each.ssd_bytes)
        if (more := (free_bytes + each.ssd_bytes) // unit.cache_bytes - room) > 0
    ]
    if short <= 0 or not fitting:
        return None
    size, more = next((pair for pair in fitting if pair[1] >= short), fitting[-1])
    sold = min(more, short)
    minor, cost = sold * unit.minor, None
    if rate is not None and rate.minor and rate.currency == unit.currency:
        cost = rate.of(size.ssd_bytes * copies)
    return Purchase(
        size=size,
        copies=copies,
        more=more,
        wanted=sold,
        minor=minor,
        currency=unit.currency,
        cost_minor=cost,
        payback_months=ceil(cost / minor) if cost is not None and minor else None,
    )
