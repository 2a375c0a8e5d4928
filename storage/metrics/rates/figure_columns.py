"""The figures of many sums of deltas at once: what `storage.metrics.rates.figures` says of one, of
each of a column. Pure; NaN = not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.byte_sizes import SECTOR_BYTES
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates.figures import MIN_ACCESSES

Line = npt.NDArray[np.int64]
Rates = npt.NDArray[np.float64]

QUANTILES: Final = {"latency_p50_ms": 0.50, "latency_p95_ms": 0.95, "latency_p99_ms": 0.99}
HIT_RATES: Final = ("hit_rate", "write_hit_rate")


def ratio(above: npt.NDArray[np.number], below: npt.NDArray[np.number]) -> Rates:
    """NaN where there is nothing to divide by."""
    quotient: Rates = np.full(len(below), np.nan)
    np.divide(above, below, out=quotient, where=below != 0)
    return quotient


def accesses(sums: Mapping[str, Line]) -> Line:
    """As `Figures.accesses`."""
    total: Line = sums["read_hits"] + sums["read_misses"] + sums["bcache_reads"]
    return total


def rates(sums: Mapping[str, Line]) -> dict[str, Rates]:
    """Rates and averages of columns of `Sums`."""
    seconds = sums["dt_ms"] / 1000
    return {
        "read_iops": ratio(sums["reads"], seconds),
        "write_iops": ratio(sums["writes"], seconds),
        "read_ms": ratio(sums["read_ms"], sums["reads"]),
        "write_ms": ratio(sums["write_ms"], sums["writes"]),
        "read_bytes_per_s": ratio(sums["read_sectors"] * SECTOR_BYTES, seconds),
        "write_bytes_per_s": ratio(sums["write_sectors"] * SECTOR_BYTES, seconds),
    }


def hit_rates(sums: Mapping[str, Line]) -> tuple[dict[str, Rates], dict[str, Rates]]:
    """The hit rates to show, and those of too few accesses to mean anything."""
    slow = ratio(sums["backing_read_sectors"], sums["bcache_read_sectors"])
    # Reads in flight at the ends of an interval can push the share out of bounds.
    share = np.where(np.isnan(slow), 0.0, np.clip(1 - slow, 0.0, 1.0))
    hits = sums["read_hits"] + sums["bcache_reads"] * share
    write_accesses = sums["write_hits"] + sums["write_misses"]
    known, faint = {}, {}
    for name, some, whole in (
        (HIT_RATES[0], hits, accesses(sums)),
        (HIT_RATES[1], sums["write_hits"], write_accesses),
    ):
        rate = ratio(some, whole)
        known[name] = np.where(whole >= MIN_ACCESSES, rate, np.nan)
        faint[name] = np.where(whole < MIN_ACCESSES, rate, np.nan)
    return known, faint


def percentiles_ms(counts: Line, quantiles: Sequence[float]) -> list[Rates]:
    """As `percentile_ms`, of histograms that stand side by side."""
    cumulative = np.cumsum(counts, axis=0)
    bounds = np.array(LATENCY_BOUNDS_NS, np.float64)
    latencies = []
    for quantile in quantiles:
        rank = quantile * cumulative[-1]
        n = np.minimum((cumulative < rank).sum(axis=0), len(bounds))
        there = np.arange(counts.shape[1])
        part = 1 - ratio(cumulative[n, there] - rank, counts[n, there])
        high = bounds[np.minimum(n, len(bounds) - 1)]
        low = bounds[np.maximum(n - 1, 0)]
        within = np.where(n == 0, high * part, low * (high / low) ** part)
        each = np.where(n == len(bounds), bounds[-1], within) / 1e6
        latencies.append(np.where(rank > 0, each, np.nan))
    return latencies
