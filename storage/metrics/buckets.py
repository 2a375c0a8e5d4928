"""What the samples of the buckets of a series add up to, and the figures that this makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from storage.byte_sizes import SECTOR_BYTES
from storage.metrics.rates.figure_columns import (
    QUANTILES,
    accesses,
    hit_rates,
    percentiles_ms,
    rates,
    ratio,
)
from storage.metrics.samples.aggregate import Column
from storage.metrics.samples.columns import BAND

Figures = Mapping[str, Column]
BANDED: Final = tuple(BAND)
"""Names of which a bucket has the least and the most of its intervals."""
SIZES: Final = ("dirty_bytes", "used_bytes", "cache_size_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """What the samples of each bucket add up to, in columns: `numbers` says which bucket it is. Its
    first interval lasted from `began` to `ended`, in seconds after the start of the series;
    `cache_ms`, `moves_ms` and `ssd_ms` are the times in which the cache's accesses, its moves and
    the writes to its SSD (`ssd_write_sectors`) were counted; `sums` has the names of
    `storage.metrics.rates.Sums`, `sizes` those of the last sample. `least` and `most` are of the
    rates of single intervals, under the names of `BANDED`, to within two percent."""

    numbers: npt.NDArray[np.int64]
    began: npt.NDArray[np.float64]
    ended: npt.NDArray[np.float64]
    cache_ms: npt.NDArray[np.int64]
    moves_ms: npt.NDArray[np.int64]
    ssd_ms: npt.NDArray[np.int64]
    ssd_write_sectors: npt.NDArray[np.int64]
    sums: Mapping[str, npt.NDArray[np.int64]]
    latency_counts: npt.NDArray[np.int64]
    sizes: Mapping[str, npt.NDArray[np.int64]]
    least: Figures
    most: Figures

    def figures(self) -> tuple[Figures, Figures]:
        """The figures under the names of `UNITS` and of `sizes`; and the hit rates that so few
        accesses made that the figures are not shown."""
        known_rates, faint = hit_rates(self.sums)
        writes = self.sums["write_hits"] + self.sums["write_misses"]
        percentiles = percentiles_ms(self.latency_counts, list(QUANTILES.values()))
        return {
            **rates(self.sums),
            **dict(zip(QUANTILES, percentiles, strict=True)),
            **known_rates,
            "accesses_per_s": ratio(accesses(self.sums) * 1000, self.cache_ms),
            "write_accesses_per_s": ratio(writes * 1000, self.moves_ms),
            "promotions_per_s": ratio(self.sums["promotions"] * 1000, self.moves_ms),
            "demotions_per_s": ratio(self.sums["demotions"] * 1000, self.moves_ms),
            "ssd_write_bytes_per_s": ratio(
                self.ssd_write_sectors * SECTOR_BYTES * 1000, self.ssd_ms
            ),
            **self.sizes,
        }, faint

    def total(self) -> Self:
        """All in one; the sizes are the last ones."""

        def whole(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
            summed: npt.NDArray[np.int64] = values.sum(axis=-1, keepdims=True)
            return summed

        return replace(
            self,
            numbers=self.numbers[:1],
            began=self.began[:1],
            ended=self.ended[-1:],
            cache_ms=whole(self.cache_ms),
            moves_ms=whole(self.moves_ms),
            ssd_ms=whole(self.ssd_ms),
            ssd_write_sectors=whole(self.ssd_write_sectors),
            sums={name: whole(each) for name, each in self.sums.items()},
            latency_counts=whole(self.latency_counts),
            sizes={name: each[-1:] for name, each in self.sizes.items()},
        )
