"""The figures of a host or of the whole fleet over a time in buckets of one length, from the loads
of five minutes (`storage.metrics.samples.load_rollup`).

Under the names of `storage.metrics.series.UNITS`, with the space on SSD beside them. Rates are of
all volumes together; a latency and a hit rate are of all I/O, whichever volume did it.
"""

from __future__ import annotations

from datetime import datetime
from math import ceil
from typing import Final

import numpy as np

from storage.metrics.buckets import SIZES, Buckets
from storage.metrics.samples.aggregate import AggregateColumns, columns_of, intervals
from storage.metrics.samples.chunk_store import FLEET, HOSTS, SampleKind
from storage.metrics.samples.codec import NULL
from storage.metrics.samples.load_rollup import BUCKET
from storage.metrics.series import UNITS, Series, in_buckets, step_seconds
from storage.models import Host

BUCKET_SECONDS: Final = BUCKET.seconds
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
