"""Volumes as they were used, for the tests of what is said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from storage.analysis.forecast import SimilarVolume, Use
from storage.byte_sizes import GIB

WEEK = Use(
    volume_bytes=100 * GIB,
    days=7,
    covered=1,
    seconds=7 * 86_400,
    reads=1_000_000,
    read_iops=1.7,
    read_ms=12,
    waited_seconds_per_day=18 * 60,
    missed_bytes_per_second=1_000_000,
)
"""A volume of 100 GiB without a cache, whose reads waited 18 minutes a day."""


def uncached(**fields: Any) -> Use:
    return replace(WEEK, **fields)


def cached(hit_rate: float | None = 0.41, **fields: Any) -> Use:
    """The same with a cache of 10 GiB that is full."""
    full = {"cache_size_bytes": 10 * GIB, "used_bytes": 10 * GIB, "hit_rate": hit_rate}
    return replace(WEEK, **{**full, **fields})


def result(customer: int, **fields: Any) -> SimilarVolume:
    """A customer's volume like those above; a cache of 10 GiB brought it a hit rate of 80 %."""
    like = {"volume_bytes": 100 * GIB, "cache_bytes": 10 * GIB, "read_iops": 1.7}
    return SimilarVolume(customer=customer, **{**like, "hit_rate_after": 0.8, **fields})
