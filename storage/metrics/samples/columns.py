"""Columns of an interval of a volume or device, name -> PostgreSQL type, in the order of COPY, and
what becomes of each when intervals are added up.

The model says which there are and of what type; the dataclasses say which part fills each. A new
column needs a number here, which no other one ever had: under it, chunks hold the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from django.contrib.postgres.fields import ArrayField
from django.db import models

from storage.inventory.cache_counts import COLUMNS
from storage.metrics.counters import BUCKETS
from storage.metrics.rates import Gauges
from storage.models.device import DeviceInterval
from storage.models.outline import Load
from storage.models.sample import Interval

TYPES: Final[dict[type[models.Field[Any, Any]], str]] = {
    models.SmallIntegerField: "int2",
    models.IntegerField: "int4",
    models.BigIntegerField: "int8",
    ArrayField: "int8[]",
}


INTERVAL: Final = {column.name: TYPES[type(column)] for column in Interval._meta.local_fields}
GAUGES: Final = tuple(each.name for each in fields(Gauges) if each.name in INTERVAL)
DEVICE: Final = {column.name: TYPES[type(column)] for column in DeviceInterval._meta.local_fields}
"""Of a disk, array or partition."""

NUMBERS: Final = {
    "dt_ms": 1,
    "reads": 2,
    "writes": 3,
    "read_sectors": 4,
    "write_sectors": 5,
    "read_ms": 6,
    "write_ms": 7,
    "busy_ms": 8,
    "weighted_ms": 9,
    "slow_read_sectors": 16,
    "slow_write_sectors": 17,
    "fast_read_sectors": 18,
    "fast_write_sectors": 19,
    "latency_counts": 20,
    "technology": 21,
    "cache_size_bytes": 22,
    "used_bytes": 23,
    "dirty_bytes": 24,
    "discards": 25,
    "discard_sectors": 26,
    "discard_ms": 27,
    "read_us": 28,
    "write_us": 29,
    "flushes": 30,
    "flush_ms": 31,
    "suspended_ms": 32,
    "slow_reads": 33,
    "slow_writes": 34,
    "slow_read_ms": 35,
    "slow_write_ms": 36,
    "slow_busy_ms": 37,
    "slow_weighted_ms": 38,
    "fast_reads": 39,
    "fast_writes": 40,
    "fast_read_ms": 41,
    "fast_write_ms": 42,
    "fast_busy_ms": 43,
    "fast_weighted_ms": 44,
    "slow_latency_counts": 45,
    "fast_latency_counts": 46,
    "metadata_used_bytes": 51,
    "metadata_total_bytes": 52,
    "reads_merged": 53,
    "writes_merged": 54,
    "discards_merged": 55,
    "in_flight": 56,
    "bcache_reads": 57,
    "bcache_read_sectors": 58,
    "backing_read_sectors": 59,
    "ssd_write_sectors": 60,
    "sold_bytes": 61,
    "fast_total_bytes": 62,
    "fast_free_bytes": 63,
    **{name: each.number for name, each in COLUMNS.items()},
}
"""Never changed, never given to another column: chunks of years ago have them."""
KEYS: Final = ("technology", "cache_size_bytes")
"""Intervals of different caches are not added up."""
RAW_ONLY: Final = ("read_us", "write_us", "slow_latency_counts", "fast_latency_counts")
"""Kept in intervals as they were measured, not in buckets of them: the times are in `read_ms` and
`write_ms` too, and the histograms of the legs would be a sixth of what buckets take."""
BAND: Final = {"read_iops": 240, "write_iops": 241, "read_ms": 242, "write_ms": 243}
"""Rates of which a bucket keeps the least and the most of its intervals, with their numbers."""
LAST, LEAST, MOST = 0, 1, 2
"""Parts of a gauge."""
# Parts of column 0: when an interval ended, or which bucket it is; of a bucket also how many
# intervals it has, when the first began and ended, and when the last ended.
AT, INTERVALS, BEGAN, FIRST_ENDED, ENDED = range(5)


def code(name: str, part: int = 0) -> int:
    """The number of a column in a chunk: `part` is the bucket of a histogram or one of `LAST`,
    `LEAST` and `MOST` of a gauge."""
    return (BAND[name] if name in BAND else NUMBERS[name]) << 8 | part


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """What the intervals of one kind of subject have. `counters` and `histograms` (name -> number
    of buckets) are summed, each over the intervals in which it is known; of `gauges` a bucket keeps
    the last, the least and the most. Intervals that differ in `keys` are not added up."""

    counters: tuple[str, ...]
    histograms: Mapping[str, int]
    gauges: tuple[str, ...]
    keys: tuple[str, ...] = ()

    @property
    def summed(self) -> list[int]:
        """The codes of counters and histograms."""
        buckets = ((name, n) for name, count in self.histograms.items() for n in range(count))
        return [*(code(name) for name in self.counters), *(code(*each) for each in buckets)]

    @property
    def heads(self) -> list[int]:
        """The codes that say whether a counter or histogram of a bucket is known."""
        names = (*self.counters, *self.histograms)
        return [code(name) for name in names if name not in RAW_ONLY]

    @property
    def raw_only(self) -> list[int]:
        """The codes of what buckets do not have."""
        numbers = {NUMBERS[name] for name in RAW_ONLY}
        return [each for each in self.summed if each >> 8 in numbers]

    @property
    def lasting(self) -> list[int]:
        """The codes of keys, and of gauges at the end of an interval."""
        return [code(name, LAST) for name in (*self.keys, *self.gauges)]


VOLUME_LAYOUT: Final = ColumnLayout(
    counters=tuple(
        name for name, kind in INTERVAL.items() if name not in GAUGES and not kind.endswith("[]")
    ),
    histograms={name: BUCKETS for name, kind in INTERVAL.items() if kind.endswith("[]")},
    gauges=tuple(name for name in GAUGES if name not in KEYS),
    keys=KEYS,
)
DEVICE_LAYOUT: Final = ColumnLayout(
    counters=tuple(name for name in DEVICE if name != "in_flight"),
    histograms={},
    gauges=("in_flight",),
)
LOAD: Final = {column.name: TYPES[type(column)] for column in Load._meta.local_fields}
"""Of all volumes of a host, or of the fleet."""
LOAD_GAUGES: Final = (
    "cache_size_bytes",
    "used_bytes",
    "dirty_bytes",
    "sold_bytes",
    "fast_total_bytes",
    "fast_free_bytes",
)
LOAD_LAYOUT: Final = ColumnLayout(
    counters=tuple(
        name for name, kind in LOAD.items() if name not in LOAD_GAUGES and not kind.endswith("[]")
    ),
    histograms={"latency_counts": BUCKETS},
    gauges=LOAD_GAUGES,
)
