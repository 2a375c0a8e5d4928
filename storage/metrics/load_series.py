"""The figures of a host or of the whole fleet over a time in buckets of one length, from the loads
of five minutes (`storage.metrics.samples.load_rollup`).

Under the names of `storage.metrics.series.UNITS`, with the space on SSD beside them. Rates are of
all volumes together; a latency and a hit rate are of all I/O, whichever volume did it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Final

from storage.metrics.samples.aggregate import Aggregate, aggregate
from storage.metrics.samples.chunk_store import FLEET, HOSTS, SampleKind
from storage.metrics.samples.load_rollup import BUCKET
from storage.metrics.series import (
    BANDED,
    UNITS,
    Bucket,
    Series,
    Values,
    in_buckets,
    step_seconds,
)
from storage.models import Host

BUCKET_SECONDS: Final = BUCKET.seconds
SPACE_UNITS: Final = {
    "ssd_total_bytes": "B",
    "ssd_used_bytes": "B",
    "ssd_sold_bytes": "B",
    "ssd_free_bytes": "B",
}
LOAD_UNITS: Final = UNITS | SPACE_UNITS


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBucket(Bucket):
    """`space` has the names of `SPACE_UNITS`."""

    space: Values

    def values(self) -> Values:
        """The bucket's figures under the names of `LOAD_UNITS`; None = unknown."""
        return {**Bucket.values(self), **self.space}


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
    buckets = {
        each.n: _bucket(each, step)
        for each in aggregate([subject_id], start, end, kind=kind, step=step)
    }
    return in_buckets(buckets, start=start, end=end, step=step, count=count, units=LOAD_UNITS)


def _bucket(of: Aggregate, step: int) -> LoadBucket:
    sums = of.sums
    total, unused = of.last["fast_total_bytes"], of.last["fast_free_bytes"]
    return LoadBucket(
        began=of.n * step,
        ended=(of.n + 1) * step,
        cache_ms=sums.dt_ms,
        moves_ms=sums.dt_ms,
        ssd_ms=sums.dt_ms,
        ssd_write_sectors=of.counts["ssd_write_sectors"],
        sums=sums,
        cache_size_bytes=of.last["cache_size_bytes"],
        used_bytes=of.last["used_bytes"],
        dirty_bytes=of.last["dirty_bytes"],
        least={name: of.least[name] for name in BANDED},
        most={name: of.most[name] for name in BANDED},
        space={
            "ssd_total_bytes": total,
            "ssd_used_bytes": None if total is None or unused is None else total - unused,
            "ssd_sold_bytes": of.last["sold_bytes"],
            "ssd_free_bytes": unused,
        },
    )
