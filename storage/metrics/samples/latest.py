"""Current figures of volumes: those of their last interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from django.utils import timezone

from storage.metrics.rates import CachedBy, Figures, GapReason, Sums, figures
from storage.metrics.rates.figures import STORED_SUMS
from storage.models import LatestSample, Volume
from storage.models.key_sets import any_of

FIGURES: Final = tuple(field.name for field in fields(Figures))
GAUGES: Final = (
    "at",
    "gap",
    "cache_gap",
    "technology",
    "cache_mode",
    "cache_state",
    "cache_size_bytes",
    "used_bytes",
    "dirty_bytes",
    "suspended",
)
SUMMED: Final = (*STORED_SUMS, "latency_counts", "slow_read_sectors")
"""The columns that figures are made of, a third of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latest(Figures):
    """The last sample of a volume, taken at `at`, `age_seconds` ago.

    `gap` says why there are no figures at all, `cache_gap` why only those of the cache are
    missing; both have a `sentence`. The gauges are of the moment of the sample. `busy` is the share
    of the interval in which the volume had I/O under way, 0 to 1.
    `suspended`: I/O of the device is frozen. `cache_state`: what is wrong with the cache, "" when
    nothing is.
    """

    at: datetime
    age_seconds: float
    gap: GapReason | None
    cache_gap: GapReason | None
    technology: CachedBy
    cache_mode: str
    cache_state: str
    cache_size_bytes: int | None
    used_bytes: int | None
    dirty_bytes: int | None
    suspended: bool
    busy: float | None = None


def latest(volume: Volume) -> Latest | None:
    """None when the volume was never sampled."""
    return latest_of([volume]).get(volume.pk)


def latest_of(volumes: Iterable[Volume]) -> dict[int, Latest]:
    """By primary key of the volume; those that were never sampled are missing. One query."""
    rows = LatestSample.objects.filter(volume_id__in=any_of(volume.pk for volume in volumes))
    rows = rows.values("volume_id", *GAUGES, *SUMMED)
    now = timezone.now()
    return {row["volume_id"]: _latest(row, now) for row in rows}


def _latest(row: Mapping[str, Any], now: datetime) -> Latest:
    rates = figures(Sums() if row["gap"] else Sums.of(row))
    return Latest(
        **{name: getattr(rates, name) for name in FIGURES},
        at=row["at"],
        age_seconds=max(0.0, (now - row["at"]).total_seconds()),
        gap=GapReason(row["gap"]) if row["gap"] else None,
        cache_gap=GapReason(row["cache_gap"]) if row["cache_gap"] else None,
        technology=CachedBy(row["technology"]),
        cache_mode=row["cache_mode"],
        cache_state=row["cache_state"],
        cache_size_bytes=row["cache_size_bytes"],
        used_bytes=row["used_bytes"],
        dirty_bytes=row["dirty_bytes"],
        suspended=row["suspended"],
        busy=None if row["gap"] else _busy(row),
    )


def _busy(row: Mapping[str, Any]) -> float | None:
    busy_ms, dt_ms = row["busy_ms"], row["dt_ms"]
    return min(1.0, busy_ms / dt_ms) if dt_ms and busy_ms is not None else None
