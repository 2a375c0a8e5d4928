"""What SSD of each size would bring to the invented volumes, as workers found by their heat."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from random import Random

from storage.analysis.size_forecasts import SizePoint
from storage.byte_sizes import GIB
from storage.models import SizeForecast, Volume
from storage.volumes.cache_sizes import SIZES_BYTES
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests.foreseen import foreseen

UNKNOWN = 9
"""One of so many volumes was not observed for long enough."""


def foresee(volumes: Iterable[Volume], now: datetime, seed: int) -> None:
    """For each volume a curve with a knee of its own: many wait little, some nearly all day."""
    random = Random(seed)
    rows = snapshots_of(Volume.objects.filter(pk__in=[each.pk for each in volumes]))
    SizeForecast.objects.bulk_create(_foreseen(row, n, random, now) for n, row in enumerate(rows))


def _foreseen(row: VolumeSnapshot, n: int, random: Random, now: datetime) -> SizeForecast:
    cached = (row.cache.size_bytes or 0) if row.cache is not None else 0
    if n % UNKNOWN == UNKNOWN - 1:
        reason = "Counted so far: 2 h. A forecast needs 6 h."
        return SizeForecast(volume=row.volume, made_at=now, cache_bytes=cached, reason=reason)
    waited, knee = 40_000 * random.random() ** 4, random.uniform(0.5, 12) * GIB
    sizes = sorted({0, cached, *(size for size in SIZES_BYTES if size < row.volume.size_bytes)})
    rates = {size: 0.98 * size / (size + knee) for size in sizes}
    points = {}
    for size, rate in rates.items():
        low, high = sorted(waited * (rate - rates[cached]) * part for part in (0.85, 1.1))
        written = 0.02 * waited * GIB / 100 * (1 - rate) + 0.1 * GIB
        points[size] = SizePoint(size, rate, low, high, written)
    return foreseen(row.volume, points, cached, now)
