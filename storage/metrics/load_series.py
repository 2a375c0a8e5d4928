"""The figures of a host or of the whole fleet over a time in buckets of one length, from the loads
of five minutes (`storage.metrics.samples.load_rollup`); a short time also in shorter buckets, from
the samples of volumes.

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
from django.db.models import Min, Q, QuerySet

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
"""The most samples that are read for a page of a host: a tenth of a second."""
FINE_FLEET_SAMPLES: Final = 80_000
"""The same for one of the fleet, which is looked at less often."""
LATE_BUCKETS: Final = 3
"""In so many of the last ones hosts may be missing that are about to report."""
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


def fine_time(host: Host | None = None) -> timedelta:
    """How long a time of the host, or of the fleet, can be shown as it was sampled."""
    there = Placement.objects.filter(until=None)
    volumes = (there.filter(host=host) if host is not None else there).count()
    samples = FINE_SAMPLES if host is not None else FINE_FLEET_SAMPLES
    return min(FINE, timedelta(seconds=settings.TIERCEL_SAMPLE_SECONDS) * samples / (volumes or 1))


def fine_host_series(host: Host, start: datetime, end: datetime, step: int) -> Series:
    """The same in buckets of `step` seconds, less than five minutes: what the samples of its
    volumes add up to. The space on SSD is that of the five minutes around each bucket."""
    there = Placement.objects.filter(host=host)
    return _fine_series(there, HOSTS, host.pk, start, end, step)


def fine_fleet_series(start: datetime, end: datetime, step: int) -> Series:
    """The same of all hosts together. They are not sampled at the same moment (`_even`)."""
    return _fine_series(Placement.objects.all(), FLEET, 0, start, end, step)


def _fine_series(
    placements: QuerySet[Placement],
    kind: SampleKind,
    subject_id: int,
    start: datetime,
    end: datetime,
    step: int,
) -> Series:
    count = ceil((end - start).total_seconds() / step)
    there = placements.filter(Q(until=None) | Q(until__gt=start), since__lt=end)
    volume_ids = set(there.values_list("volume_id", flat=True))
    table = intervals(volume_ids, start, end, kind=FIGURES, step=step)
    if not len(table):
        return in_buckets(None, start=start, end=end, step=step, count=count, units=LOAD_UNITS)
    by_volume = columns_of(table, start, step)
    summed = _of_all(_even(by_volume, step) if kind is FLEET else by_volume)
    space = _space(kind, subject_id, start, step, summed)
    buckets = _buckets(replace(summed, last={**summed.last, **space}), step)
    return in_buckets(buckets, start=start, end=end, step=step, count=count, units=LOAD_UNITS)


def _even(of: AggregateColumns, step: int) -> AggregateColumns:
    """As if all volumes had been sampled at the borders of buckets: each does in a bucket what it
    did on average in its intervals that ended there, or where none did, in those that ended in the
    next one and so lie in both. The last buckets, in which hosts are still to report, are left
    out: their sums would fall where nothing fell."""
    follows = (of.subjects[1:] == of.subjects[:-1]) & (of.numbers[1:] - of.numbers[:-1] == 2)
    late = np.flatnonzero(follows) + 1
    rows = np.concatenate([np.arange(len(of.numbers)), late])
    numbers = np.concatenate([of.numbers, of.numbers[late] - 1])
    reported = np.bincount(numbers)
    end = len(reported)
    while end > 1 and len(reported) - end < LATE_BUCKETS and reported[end - 1] < reported[end - 2]:
        end -= 1
    kept = numbers < end
    rows, numbers = rows[kept], numbers[kept]
    dt_ms = of.counts["dt_ms"][rows]
    longest: Line = np.zeros(len(reported), np.int64)
    np.maximum.at(longest, numbers, np.minimum(dt_ms, step * 1000))
    share = longest[numbers] / np.maximum(dt_ms, 1)

    def scaled(column: Line) -> Line:
        values = column[..., rows]
        return np.where(values == NULL, NULL, np.rint(values * share)).astype(np.int64)

    return replace(
        of,
        subjects=of.subjects[rows],
        numbers=numbers,
        counts={name: scaled(each) for name, each in of.counts.items()},
        histograms={name: scaled(each) for name, each in of.histograms.items()},
        last={name: each[rows] for name, each in of.last.items()},
    )


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


def _space(
    kind: SampleKind, subject_id: int, start: datetime, step: int, of: AggregateColumns
) -> dict[str, Line]:
    """The columns of `SPACE` for the buckets of `of`, from the loads of the host or the fleet."""
    ends = start.timestamp() + (of.numbers + 1) * step
    first = datetime.fromtimestamp(start.timestamp() // BUCKET_SECONDS * BUCKET_SECONDS, UTC)
    last = datetime.fromtimestamp(ceil(ends[-1] / BUCKET_SECONDS) * BUCKET_SECONDS, UTC)
    space: dict[str, Line] = dict.fromkeys(SPACE, np.full(len(ends), NULL))
    table = intervals([subject_id], first, last, kind=kind.only(*SPACE), step=BUCKET_SECONDS)
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
