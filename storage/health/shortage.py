"""Hosts that are short of space: no fault, but soon nothing can be sold or grown there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from django.db.models import Count, F, Q, Window

from storage.formatting import percent, size
from storage.models import HostOutline

Tier = Literal["ssd", "hdd"]
FIELDS: Final[Mapping[Tier, tuple[str, str]]] = {
    "ssd": ("fast_free_bytes", "fast_total_bytes"),
    "hdd": ("slow_free_bytes", "slow_total_bytes"),
}
TIERS: Final[tuple[Tier, ...]] = ("ssd", "hdd")
LEAST_FREE: Final = 0.1
"""Less than this share free is soon too little to sell; bars of space warn there too."""


def is_short(outline: HostOutline | None, tier: Tier) -> bool:
    """Whether a host is short of a tier that it has."""
    if outline is None:
        return False
    free, total = (getattr(outline, field) for field in FIELDS[tier])
    return bool(total) and free < total * LEAST_FREE


def short_of(tier: Tier, prefix: str = "outline__") -> Q:
    """The same as a filter: of hosts, or with the prefix "" of outlines."""
    free, total = (f"{prefix}{field}" for field in FIELDS[tier])
    return Q(**{f"{total}__gt": 0, f"{free}__lt": F(total) * LEAST_FREE})


@dataclass(frozen=True, slots=True)
class Shortage:
    """Hosts with little free space of a tier: how many, and the fullest of them as `(key, name,
    free share)`."""

    tier: Tier
    count: int
    fullest: tuple[tuple[str, str, float], ...]
    message: str


def shortages(shown: int) -> tuple[Shortage, ...]:
    """Of each tier that runs short somewhere, with the `shown` fullest hosts: one query for each
    tier, however many hosts are short."""
    shortages = []
    for tier in TIERS:
        free, total = FIELDS[tier]
        hosts = HostOutline.objects.filter(short_of(tier, ""))
        ordered = hosts.order_by(F(free) * 1.0 / F(total), "host__name")
        counted = ordered.annotate(count=Window(Count("pk")))
        rows = list(counted.values_list("host__key", "host__name", free, total, "count")[:shown])
        if not rows:
            continue
        first = rows[0]
        count = first[4]
        message = (
            f"{size(first[2])} of {size(first[3])} {tier.upper()} are free."
            if count == 1
            else f"{count:,} hosts have less than {percent(LEAST_FREE)} of their {tier.upper()} "
            "free"
        )
        fullest = tuple((key, name, left / whole) for key, name, left, whole, _ in rows)
        shortages.append(Shortage(tier, count, fullest, message))
    return tuple(shortages)
