"""A volume's last hour: the data behind the customer's one sentence and its sparkline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final

from storage.metrics.rates import CachedBy, Figures, Sums, figures
from storage.metrics.rates.warming import NOTHING_LEARNT, CachePart, Learning, learning
from storage.metrics.samples.aggregate import FIGURES, Aggregate, aggregate
from storage.models import Volume
from storage.volumes.ownership import owned_since_by_volume

LENGTH: Final = timedelta(hours=1)
PARTS: Final = 24
PART_SECONDS: Final = int(LENGTH.total_seconds()) // PARTS


@dataclass(frozen=True, slots=True)
class Hour:
    """`whole` is over the hour, or since the cache changed in it; `parts` are
    the `PARTS` parts of the whole hour, oldest first, None = not known. `learning` is of the cache
    that there is now. `ended` is when the last sample was taken, `changed_part` the first part with
    that cache where it is not that of the whole hour."""

    whole: Figures
    parts: tuple[Figures | None, ...]
    ended: datetime
    changed_part: int | None = None
    learning: Learning = NOTHING_LEARNT

    @property
    def is_since_change(self) -> bool:
        """Whether the cache changed within the hour."""
        return self.changed_part is not None

    @property
    def reads(self) -> int:
        """How many reads the hour had."""
        return round((self.whole.read_iops or 0) * self.whole.seconds)

    @property
    def hit_rates(self) -> list[float | None]:
        """The share of reads served by the cache (0 to 1) in each part."""
        return [part.hit_rate if part is not None else None for part in self.parts]

    @property
    def read_times(self) -> list[float | None]:
        """What a read took on average in each part, in milliseconds."""
        return [part.read_ms if part is not None else None for part in self.parts]


def hours_of(volumes: Iterable[Volume], now: datetime) -> dict[int, Hour]:
    """The hour up to `now` of each volume, by primary key; those without a sample in it are
    missing. Two queries for all. It ends with the part that still lasts, so that parts keep their
    borders from one request to the next, and what a former customer did is not in it."""
    end = datetime.fromtimestamp(ceil(now.timestamp() / PART_SECONDS) * PART_SECONDS, now.tzinfo)
    start = end - LENGTH
    volumes = list(volumes)
    keys = [volume.pk for volume in volumes]
    parts: dict[int, list[Aggregate]] = {}
    for each in aggregate(
        keys,
        start,
        end,
        kind=FIGURES,
        step=PART_SECONDS,
        since=owned_since_by_volume(volumes),
        apart=True,
    ):
        parts.setdefault(each.subject_id, []).append(each)
    return {key: _hour(of_volume) for key, of_volume in parts.items()}


def _cache(part: Aggregate) -> tuple[int | None, int | None]:
    return part.last["technology"], part.last["cache_size_bytes"]


def _hour(parts: list[Aggregate]) -> Hour:
    latest = max(parts, key=lambda part: part.ended)
    of_latest = [part for part in parts if _cache(part) == _cache(latest)]
    whole = sum((part.sums for part in of_latest), Sums())
    by_part: dict[int, Sums] = {}
    for part in parts:
        by_part[part.n] = by_part.get(part.n, Sums()) + part.sums
    return Hour(
        figures(whole),
        tuple(figures(by_part[n]) if n in by_part else None for n in range(PARTS)),
        datetime.fromtimestamp(latest.ended, UTC),
        min(part.n for part in of_latest) if len(of_latest) < len(parts) else None,
        _learning(of_latest),
    )


def _learning(parts: list[Aggregate]) -> Learning:
    """As long as staff look at it: bcache reports its fill rarely, so this takes the hour."""
    is_seldom = parts[-1].last["technology"] == CachedBy.BCACHE
    first = 0 if is_seldom else PARTS // 2
    return learning([_cache_part(part) for part in parts if part.n >= first])


def _cache_part(part: Aggregate) -> CachePart:
    of_cache = figures(part.sums, least=1)
    hits = (of_cache.hit_rate or 0.0) * of_cache.accesses
    used, size = part.last["used_bytes"], part.last["cache_size_bytes"]
    return CachePart(part.n, of_cache.accesses, hits, used, size)
