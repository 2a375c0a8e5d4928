"""What the samples of a fleet say of its volumes: what is invented besides them must agree."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.db.models import F, Q, Sum
from django.db.models.functions import Coalesce, NullIf

from storage.models import Sample

DAY: Final = 86_400
IS_CACHED: Final = Q(slow_read_ms__isnull=False)
MISSES_MS: Final = (
    Coalesce("slow_read_ms", "read_ms")
    * 1.0
    * F("busy_ms")
    / NullIf(F("read_ms") + F("write_ms"), 0)
)
"""Reads at once wait once (`storage.metrics.waiting`)."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Reads of a volume wait for its slow disk so many seconds a day, or would without its cache;
    so large a share of them (0 to 1) comes from SSD, None without one."""

    waited_seconds_per_day: float
    hit_rate: float | None


def measured(volume_ids: Collection[int]) -> dict[int, Measured]:
    """By primary key, of those that have samples: of the time with a cache, else of all. One
    query."""
    rows = (
        Sample.objects.filter(volume__in=volume_ids)
        .values_list("volume")
        .annotate(
            lasted=Sum("dt_ms"),
            waited=Sum(MISSES_MS),
            cached=Sum("dt_ms", filter=IS_CACHED),
            missed=Sum(MISSES_MS, filter=IS_CACHED),
            sectors=Sum("read_sectors", filter=IS_CACHED),
            slow_sectors=Sum("slow_read_sectors"),
        )
    )
    found = {}
    for pk, lasted, waited, cached, missed, sectors, slow_sectors in rows:
        rate = 1 - slow_sectors / sectors if sectors else None
        each_day = DAY * (waited or 0) / lasted
        if rate is not None and rate < 1:
            each_day = DAY * missed / cached / (1 - rate)
        found[pk] = Measured(each_day, rate)
    return found
