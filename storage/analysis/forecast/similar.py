"""The measured effect of a first cache on similar volumes. Pure.

A volume is similar if its size and its reads per second are within a factor of `SIZE_FACTOR` and
`RATE_FACTOR`, and its cache, as a share of the volume, within `RATIO_FACTOR`. Each customer counts
once, and with fewer than `LEAST_ALIKE` customers there is no forecast: a quartile of fewer, or of
five volumes of one customer, would reveal that customer's data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import quantiles
from typing import Final

LEAST_ALIKE: Final = 5
SIZE_FACTOR: Final = 4
RATE_FACTOR: Final = 4
RATIO_FACTOR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarVolume:
    """What was measured of one order that gave a volume without a cache its first one. `customer`
    is whose it is, only told apart; `read_iops` and `read_ms_before` are of before."""

    customer: int
    volume_bytes: int
    cache_bytes: int
    read_iops: float
    hit_rate_after: float
    read_ms_before: float | None = None
    read_ms_after: float | None = None

    @property
    def saved_share(self) -> float:
        """The part (0 to 1) of the time of reads that the cache saved; where no times are known,
        the part of the reads that it served."""
        before, after = self.read_ms_before, self.read_ms_after
        share = 1 - after / before if before and after is not None else self.hit_rate_after
        return min(1.0, max(0.0, share))


@dataclass(frozen=True, slots=True)
class Quartiles:
    """The middle half of `count` volumes, each of another customer: hit rates, and the part of the
    waiting that was saved; all 0 to 1."""

    count: int
    hit_rate_low: float
    hit_rate_high: float
    saved_low: float
    saved_high: float


def alike(
    results: Iterable[SimilarVolume], *, volume_bytes: int, cache_bytes: int, read_iops: float
) -> list[SimilarVolume]:
    """The results of similar volumes, one of each customer: the first that `results` has."""
    found: dict[int, SimilarVolume] = {}
    for each in results:
        if (
            _within(each.volume_bytes, volume_bytes, SIZE_FACTOR)
            and _within(each.read_iops, read_iops, RATE_FACTOR)
            and _within(
                each.cache_bytes * volume_bytes, cache_bytes * each.volume_bytes, RATIO_FACTOR
            )
        ):
            found.setdefault(each.customer, each)
    return list(found.values())


def quartiles_of(results: Iterable[SimilarVolume]) -> Quartiles | None:
    """The middle half; None of fewer than `LEAST_ALIKE`."""
    results = list(results)
    if len(results) < LEAST_ALIKE:
        return None
    rates = _middle([min(1.0, max(0.0, each.hit_rate_after)) for each in results])
    saved = _middle([each.saved_share for each in results])
    return Quartiles(len(results), *rates, *saved)


def _middle(values: list[float]) -> tuple[float, float]:
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, max(low, high)


def _within(one: float, other: float, factor: float) -> bool:
    return one > 0 and other > 0 and max(one, other) <= factor * min(one, other)
