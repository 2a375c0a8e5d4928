"""How long a volume's reads waited for the slow disk. Pure.

Reads at once are waited for once: what the reads took, added up (`read_ms`), counts eight reads in
flight eight times. The kernel's busy time (`busy_ms`, io_ticks) counts a moment once, whatever is
in flight, but reads and writes alike. So the busy time is parted between them by what each took,
and the reads' part of it is what is shown; it is never more than the time itself, nor than what
the reads took.

With a cache only the missed reads waited for the slow disk. What they took is measured twice, and
the smaller value counts:

- what the reads took, less `FAST_MS` for each that the cache served;
- the slowest I/Os of the latency histogram, as many as reads were missed, each with the geometric
  mean of its bucket's bounds. The histogram has writes too, so this may be too much, never too
  little by more than the width of the buckets; volumes without a histogram have the first only.

Both assume that a missed read is not faster than a served one. A guest that reads ahead may have
done something else meanwhile, so the figure is the time spent waiting at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates import Sums, read_hit_rate

FAST_MS: Final = 0.2
"""What a read from SSD takes, at most, without a queue (measured: dm-cache hits lie below)."""


def waited_seconds(sums: Sums) -> float:
    """Seconds of the sums' time in which reads waited for the slow disk, 0 to that time.

    The sums must be of one state of the volume: all with a cache, or all without one.
    """
    taken_ms = sums.read_ms + sums.write_ms
    if not taken_ms:
        return 0.0
    slow_ms = min(float(sums.read_ms), _missed_ms(sums))
    once = min(1.0, sums.busy_ms / taken_ms)
    return min(slow_ms * once, float(sums.dt_ms)) / 1000


def waited_write_seconds(sums: Sums) -> float:
    """Seconds of the sums' time in which writes waited for the slow disk, 0 to that time: their
    part of the busy time. Only of a volume that has no writeback cache do all of them."""
    taken_ms = sums.read_ms + sums.write_ms
    if not taken_ms:
        return 0.0
    return min(sums.write_ms * min(1.0, sums.busy_ms / taken_ms), float(sums.dt_ms)) / 1000


def slowest_ms(counts: Sequence[int], number: float) -> float:
    """What the slowest `number` of the I/Os of a histogram took together, in milliseconds."""
    total, left = 0.0, number
    for n in range(len(counts) - 1, -1, -1):
        taken = min(left, counts[n])
        total += taken * _middle_ms(n)
        left -= taken
    return total


def _missed_ms(sums: Sums) -> float:
    """What the reads that the slow disk served took, added up."""
    rate = read_hit_rate(sums, least=1)
    if rate is None:
        return float(sums.read_ms)
    served = sums.reads * rate
    excess_ms = max(0.0, sums.read_ms - served * FAST_MS) if rate < 1 else 0.0
    if not any(sums.latency_counts):
        return excess_ms
    return min(excess_ms, slowest_ms(sums.latency_counts, sums.reads - served))


def _middle_ms(n: int) -> float:
    """The geometric mean of a bucket's bounds; half the bound of the first, the bound of the
    last, which is open."""
    if n == 0:
        return LATENCY_BOUNDS_NS[0] / 2e6
    if n == len(LATENCY_BOUNDS_NS):
        return LATENCY_BOUNDS_NS[-1] / 1e6
    return sqrt(LATENCY_BOUNDS_NS[n - 1] * LATENCY_BOUNDS_NS[n]) / 1e6
