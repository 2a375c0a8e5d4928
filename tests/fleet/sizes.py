"""What SSD of each size would bring to the invented volumes, as workers found by their heat: never
more than the waiting that their samples show."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from random import Random

from storage.analysis.size_forecasts import SizePoint
from storage.byte_sizes import GIB
from storage.models import SizeForecast, Volume
from storage.volumes.cache_sizes import SIZES_BYTES
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests.fleet.measured import Measured, measured
from tests.foreseen import foreseen

MOST = 0.98
"""Of the reads: no cache serves all."""
NOTHING = Measured(0.0, None)
UNKNOWN = 9
"""One of so many volumes was not observed for long enough."""


def foresee(volumes: Iterable[Volume], now: datetime, seed: int) -> None:
    """For each volume a curve with a knee of its own, which the hit rate of its cache lies on."""
    random = Random(seed)
    rows = snapshots_of(Volume.objects.filter(pk__in=[each.pk for each in volumes]))
    known = measured([row.volume.pk for row in rows])
    SizeForecast.objects.bulk_create(
        _foreseen(row, n, known.get(row.volume.pk, NOTHING), random, now)
        for n, row in enumerate(rows)
    )


def _foreseen(
    row: VolumeSnapshot, n: int, known: Measured, random: Random, now: datetime
) -> SizeForecast:
    cached = (row.cache.size_bytes or 0) if row.cache is not None else 0
    if n % UNKNOWN == UNKNOWN - 1:
        reason = "Counted so far: 2 h. A forecast needs 6 h."
        return SizeForecast(volume=row.volume, made_at=now, cache_bytes=cached, reason=reason)
    waited, knee = known.waited_seconds_per_day, random.uniform(0.5, 12) * GIB
    if cached and known.hit_rate:
        knee = cached * (MOST / min(MOST, known.hit_rate) - 1)
    sizes = sorted({0, cached, *(size for size in SIZES_BYTES if size < row.volume.size_bytes)})
    rates = {size: MOST * size / (size + knee) if size else 0.0 for size in sizes}
    points = {}
    for size, rate in rates.items():
        low, high = sorted(waited * (rate - rates[cached]) * part for part in (0.8, 1.0))
        written = 0.02 * waited * GIB / 100 * (1 - rate) + 0.1 * GIB
        points[size] = SizePoint(size, rate, low, high, written)
    return foreseen(row.volume, points, cached, now)
