"""Of many sums at once the same is said as of each by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.metrics.counters import BUCKETS
from storage.metrics.rates import Sums, figures, percentile_ms, read_hit_rate
from storage.metrics.rates.figure_columns import (
    Line,
    Rates,
    accesses,
    hit_rates,
    percentiles_ms,
    rates,
)

NAMES = tuple(name for name in Sums.__slots__ if name != "latency_counts")
QUANTILES = (0.5, 0.95, 0.99)
counts = st.one_of(st.just(0), st.integers(0, 200), st.integers(0, 10**12))
sums = st.builds(
    Sums,
    **dict.fromkeys(NAMES, counts),
    latency_counts=st.lists(counts, min_size=BUCKETS, max_size=BUCKETS).map(tuple),
)


def optional(values: Rates) -> list[float | None]:
    return [None if np.isnan(each) else each for each in values.tolist()]


def columns(of: list[Sums]) -> dict[str, Line]:
    return {name: np.array([getattr(each, name) for each in of], np.int64) for name in NAMES}


@given(st.lists(sums, min_size=1, max_size=6))
def test_rates_and_hit_rates_are_those_of_each(several: list[Sums]) -> None:
    expected = [figures(each) for each in several]
    found = rates(columns(several))
    known, faint = hit_rates(columns(several))
    for name, its_name in {
        "read_iops": "read_iops",
        "write_iops": "write_iops",
        "read_ms": "read_ms",
        "write_ms": "write_ms",
        "read_bytes_per_s": "read_bytes_per_s",
        "write_bytes_per_s": "write_bytes_per_s",
    }.items():
        assert optional(found[name]) == [getattr(each, its_name) for each in expected], name
    for name in ("hit_rate", "write_hit_rate"):
        assert optional(known[name]) == [getattr(each, name) for each in expected], name
        faintly = [figures(each, least=1) for each in several]
        assert optional(faint[name]) == [
            getattr(one, name) if getattr(other, name) is None else None
            for one, other in zip(faintly, expected, strict=True)
        ]
    assert accesses(columns(several)).tolist() == [each.accesses for each in expected]
    assert optional(known["hit_rate"]) == [read_hit_rate(each) for each in several]


@given(st.lists(sums, min_size=1, max_size=6))
def test_percentiles_are_those_of_each_histogram(several: list[Sums]) -> None:
    histograms = np.array([each.latency_counts for each in several], np.int64).T
    for quantile, found in zip(QUANTILES, percentiles_ms(histograms, QUANTILES), strict=True):
        expected = [percentile_ms(each.latency_counts, quantile) for each in several]
        assert optional(found) == [
            None if each is None else pytest.approx(each, rel=1e-12) for each in expected
        ]


def test_nothing_is_known_of_nothing() -> None:
    assert all(optional(each) == [None] for each in rates(columns([Sums()])).values())
