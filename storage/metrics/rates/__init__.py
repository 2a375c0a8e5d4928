"""What happened between two samples of a volume: deltas, or the reason why there are none.

Rules (from the sources of Linux 6.1 and 6.12):

- A reboot, another host or logical volume, a device made anew, a counter that went back: a gap.
  Never a value since zero: dm-cache rewinds to a large old value and would draw a spike.
- diskstats fields in ms are printed modulo 2^32, so their differences are taken modulo 2^32.
- dm-cache hits and misses are 32-bit. A lower value is a wrap only if it was above 2^31 and the
  accesses that follow could have been made with the disk I/O of the interval; else the cache
  rewound (a table reload restores the counts of the last save).
- The disk's figures outlive what happens to its cache: `Delta.cache_gap` says why only the
  cache's are missing.
- bcache's share of reads comes from the sectors its backing device had to read, never from its
  own hit counters, which lose counts under load.
"""

from storage.metrics.rates.cache_delta import (
    CachedBy,
    CacheDelta,
    CacheInside,
    Gauges,
    gauges,
    inside,
)
from storage.metrics.rates.delta import CounterReading, Delta, Gap, delta
from storage.metrics.rates.figures import (
    Figures,
    FiguresWindow,
    Sums,
    figures,
    percentile_ms,
    read_hit_rate,
)
from storage.metrics.rates.gaps import GapReason

__all__ = [
    "CacheDelta",
    "CacheInside",
    "CachedBy",
    "CounterReading",
    "Delta",
    "Figures",
    "FiguresWindow",
    "Gap",
    "GapReason",
    "Gauges",
    "Sums",
    "delta",
    "figures",
    "gauges",
    "inside",
    "percentile_ms",
    "read_hit_rate",
]
