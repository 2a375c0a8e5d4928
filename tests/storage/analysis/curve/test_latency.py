"""Percentiles behind a cache, held against the published ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.analysis.curve.latency import EDGE, Latencies, percentile_ms
from storage.metrics.counters import BUCKETS
from storage.metrics.rates import percentile_ms as measured_ms
from tests.storage.analysis.curve.published import RUNS


def published(run: str) -> Latencies:
    taken = RUNS[run]["clat_usec_job1"]
    return Latencies(tuple((float(percent) / 100, us / 1000) for percent, us in taken.items()))


@pytest.mark.parametrize(("percent", "off"), [("50", 0.15), ("90", 0.15), ("95", 0.15)])
def test_percentiles_of_a_full_lvmcache_come_from_both_disks_alone(
    percent: str, off: float
) -> None:
    found = percentile_ms(float(percent) / 100, 0.7364, published("ssd"), published("hdd"))
    assert found == pytest.approx(RUNS["lvmcache-full"]["clat_usec_job1"][percent] / 1000, rel=off)


def test_at_the_edge_of_the_cache_there_is_no_number() -> None:
    ssd, hdd = published("ssd"), published("hdd")
    assert percentile_ms(0.95, 0.976, ssd, hdd) is None
    assert percentile_ms(0.95, 0.95 + EDGE + 0.001, ssd, hdd) is not None


def test_an_hdd_that_is_less_busy_has_a_shorter_tail() -> None:
    ssd, hdd = published("ssd"), published("hdd")
    whole, less = (percentile_ms(0.95, 0.7, ssd, hdd, slow_factor=each) for each in (1, 0.5))
    assert whole is not None
    assert less == pytest.approx(whole / 2)


@given(
    counts=st.lists(st.integers(0, 1000), min_size=BUCKETS, max_size=BUCKETS),
    quantile=st.floats(0.01, 0.99),
)
def test_a_histogram_gives_the_percentiles_that_pages_show(
    counts: list[int], quantile: float
) -> None:
    found, shown = Latencies.of_histogram(counts), measured_ms(counts, quantile)
    assert (found is None) == (shown is None)
    if found is None or shown is None or shown < 0.1 or found.quantile_ms(quantile) < 0.1:
        return
    assert found.quantile_ms(quantile) == pytest.approx(shown, rel=1e-6)


@given(counts=st.lists(st.integers(0, 99), min_size=BUCKETS, max_size=BUCKETS))
def test_shares_above_a_limit_fall_with_it(counts: list[int]) -> None:
    found = Latencies.of_histogram(counts)
    if found is not None:
        shares = [found.share_above(ms) for ms in (0.01, 0.1, 1, 2, 20, 999, 5000)]
        assert shares == sorted(shares, reverse=True)
        assert all(0 <= each <= 1 for each in shares)


def test_the_share_of_slow_reads_is_read_off_the_histogram() -> None:
    counts = [0] * BUCKETS
    counts[1], counts[7] = 61, 39
    found = Latencies.of_histogram(counts)
    assert found is not None
    assert found.share_above(2.0) == pytest.approx(0.39)
