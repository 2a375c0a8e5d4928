"""The figures of a host or of the whole fleet over a time in buckets of one length, from the loads
of five minutes (`storage.metrics.samples.load_rollup`); a short time of a host also in shorter
buckets, from the samples of its volumes.

Under the names of `storage.metrics.series.UNITS`, with the space on SSD beside them. Rates are of
all volumes together; a latency and a hit rate are of all I/O, whichever volume did it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Final

import numpy as np
from django.conf import settings
from django.db.models import Min, Q

from storage.metrics.buckets import BANDED, SIZES, Buckets
from storage.metrics.rates.figure_columns import Line
from storage.metrics.samples.aggregate import FIGURES, AggregateColumns, columns_of, intervals
from storage.metrics.samples.chunk_store import FLEET, HOSTS, SampleKind
from storage.metrics.samples.codec import NULL
from storage.metrics.samples.load_rollup import BUCKET
from storage.metrics.series import UNITS, Series, in_buckets, step_seconds
from storage.models import FleetLoad, Host, HostLoad, Placement

BUCKET_SECONDS: Final = BUCKET.seconds
FINE: Final = timedelta(hours=3)
FINE_SAMPLES: Final = 40_000
"""So many samples are read for a page of a host: a tenth of a second."""
SPACE: Final = ("sold_bytes", "fast_total_bytes", "fast_free_bytes")
SPACE_UNITS: Final = {
    "ssd_total_bytes": "B",
    "ssd_used_bytes": "B",
    "ssd_sold_bytes": "B",
    "ssd_free_bytes": "B",
}
LOAD_UNITS: Final = UNITS | SPACE_UNITS


def host_series(host: Host, start: datetime, end: datetime, points: int = 600) -> Series:
    """The figures of all volumes of a host from `start` to `end` in at most `points` buckets of
    five minutes or more. Raises ValueError as `storage.metrics.series.series` does."""
    return _series(HOSTS, host.pk, start, end, points)


def fine_time(host: Host) -> timedelta:
    """How long a time of the host can be shown as it was sampled."""
    volumes = Placement.objects.filter(host=host, until=None).count()
    return min(
        FINE, timedelta(seconds=settings.TIERCEL_SAMPLE_SECONDS) * FINE_SAMPLES / (volumes or 1)
    )


def fine_host_series(host: Host, start: datetime, end: datetime, step: int) -> Series:
    """The same in buckets of `step` seconds, less than five minutes: what the samples of its
    volumes add up to. The space on SSD is that of the five minutes around each bucket."""
    count = ceil((end - start).total_seconds() / step)
    there = Placement.objects.filter(Q(until=None) | Q(until__gt=start), host=host, since__lt=end)
    volume_ids = set(there.values_list("volume_id", flat=True))
    table = intervals(volume_ids, start, end, kind=FIGURES, step=step)
    if not len(table):
        return in_buckets(None, start=start, end=end, step=step, count=count, units=LOAD_UNITS)
    summed = _of_all(columns_of(table, start, step))
    buckets = _buckets(
        replace(summed, last={**summed.last, **_space(host, start, step, summed)}), step
    )
    return in_buckets(buckets, start=start, end=end, step=step, count=count, units=LOAD_UNITS)


def _of_all(of: AggregateColumns) -> AggregateColumns:
    """All subjects as one: what they did in each bucket adds up, their time does not."""
    numbers, place = np.unique(of.numbers, return_inverse=True)

    def added(column: Line) -> Line:
        return np.bincount(place, np.where(column == NULL, 0, column), len(numbers)).astype(
            np.int64
        )

    def longest(column: Line) -> Line:
        most: Line = np.zeros(len(numbers), np.int64)
        np.maximum.at(most, place, column)
        return most

    unknown = np.full(len(numbers), np.nan)
    counts = {name: added(each) for name, each in of.counts.items()}
    return AggregateColumns(
        subjects=np.zeros_like(numbers),
        numbers=numbers,
        began=unknown,
        first_ended=unknown,
        ended=unknown,
        counts={
            **counts,
            "dt_ms": longest(of.counts["dt_ms"]),
            "ssd_write_sectors": counts["fast_write_sectors"],
        },
        ms={},
        histograms={
            name: np.vstack([added(line) for line in each]) for name, each in of.histograms.items()
        },
        last={
            name: np.where(added(of.last[name] != NULL) > 0, added(of.last[name]), NULL)
            for name in SIZES
        },
        least=dict.fromkeys(BANDED, unknown),
        most=dict.fromkeys(BANDED, unknown),
    )


def _space(host: Host, start: datetime, step: int, of: AggregateColumns) -> dict[str, Line]:
    """The columns of `SPACE` for the buckets of `of`, from the host's loads."""
    ends = start.timestamp() + (of.numbers + 1) * step
    first = datetime.fromtimestamp(start.timestamp() // BUCKET_SECONDS * BUCKET_SECONDS, UTC)
    last = datetime.fromtimestamp(ceil(ends[-1] / BUCKET_SECONDS) * BUCKET_SECONDS, UTC)
    space: dict[str, Line] = dict.fromkeys(SPACE, np.full(len(ends), NULL))
    table = intervals([host.pk], first, last, kind=HOSTS.only(*SPACE), step=BUCKET_SECONDS)
    if not len(table):
        return space
    loads = columns_of(table, first, BUCKET_SECONDS)
    around = ((ends - first.timestamp() - 1) // BUCKET_SECONDS).astype(np.int64)
    places = np.minimum(np.searchsorted(loads.numbers, around), len(loads.numbers) - 1)
    is_there = loads.numbers[places] == around
    return {name: np.where(is_there, loads.last[name][places], NULL) for name in SPACE}


def known_since(host: Host | None = None) -> datetime | None:
    """Since when the last days have figures of the host, or of the fleet; None without any."""
    loads = HostLoad.objects.filter(host=host) if host is not None else FleetLoad.objects.all()
    first: datetime | None = loads.aggregate(first=Min("bucket"))["first"]
    return first


def fleet_series(start: datetime, end: datetime, points: int = 600) -> Series:
    """The same of all hosts together."""
    return _series(FLEET, 0, start, end, points)


def _series(
    kind: SampleKind, subject_id: int, start: datetime, end: datetime, points: int
) -> Series:
    step = step_seconds(start, end, points, least=BUCKET_SECONDS)
    count = ceil((end - start).total_seconds() / step)
    table = intervals([subject_id], start, end, kind=kind, step=step)
    buckets = _buckets(columns_of(table, start, step), step) if len(table) else None
    return in_buckets(buckets, start=start, end=end, step=step, count=count, units=LOAD_UNITS)


def _buckets(of: AggregateColumns, step: int) -> Buckets:
    dt_ms = of.counts["dt_ms"]
    total, unused = of.last["fast_total_bytes"], of.last["fast_free_bytes"]
    is_known = (total != NULL) & (unused != NULL)
    return Buckets(
        numbers=of.numbers,
        began=(of.numbers * step).astype(np.float64),
        ended=((of.numbers + 1) * step).astype(np.float64),
        cache_ms=dt_ms,
        moves_ms=dt_ms,
        ssd_ms=dt_ms,
        ssd_write_sectors=of.counts["ssd_write_sectors"],
        sums=of.counts,
        latency_counts=of.histograms["latency_counts"],
        sizes={
            **{name: of.last[name] for name in SIZES},
            "ssd_total_bytes": total,
            "ssd_used_bytes": np.where(is_known, total - unused, NULL),
            "ssd_sold_bytes": of.last["sold_bytes"],
            "ssd_free_bytes": unused,
        },
        least=of.least,
        most=of.most,
    )
