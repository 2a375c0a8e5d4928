"""In which band of a map a figure is, and that the unknown is never well."""

from __future__ import annotations

import pytest

from panel.charts.heat_bands import (
    NO_READS,
    UNKNOWN,
    WORSE,
    Heat,
    busy_heat,
    busy_legend,
    hottest,
    latency_heat,
    latency_legend,
)


@pytest.mark.parametrize(
    ("read_ms", "band"), [(0.3, "1"), (1, "2"), (4.9, "2"), (5, "3"), (19.9, "3"), (20, "4")]
)
def test_a_latency_is_judged_by_its_limit(read_ms: float, band: str) -> None:
    assert latency_heat(read_ms, 20).band == band


def test_a_strict_limit_comes_before_the_bands() -> None:
    assert latency_heat(0.6, 0.5) == Heat("4", "0.60 ms")


def test_no_reads_are_neither_fast_nor_unknown() -> None:
    assert latency_heat(None, 20) == NO_READS


@pytest.mark.parametrize(
    ("busy", "band"), [(0, "1"), (0.3, "2"), (0.6, "3"), (0.89, "3"), (0.9, "4"), (1, "4")]
)
def test_the_busy_share_is_judged_by_the_hosts_limit(busy: float, band: str) -> None:
    assert busy_heat(busy, 90).band == band


def test_a_share_that_is_not_counted_is_unknown() -> None:
    assert busy_heat(None, 90) == UNKNOWN


def test_of_several_the_worst_counts_and_the_unknown_is_worse_than_all_that_is_well() -> None:
    well = [latency_heat(ms, 20) for ms in (0.3, 2, 9)]
    assert hottest([*well, UNKNOWN]) == UNKNOWN
    assert hottest([UNKNOWN, latency_heat(40, 20)]).band == "4"
    assert hottest([]) == UNKNOWN


def test_legends_name_every_band_with_its_unit() -> None:
    assert {heat.band for heat in latency_legend(20)} == set(WORSE)
    assert "slow: from 20 ms" in [heat.words for heat in latency_legend(20)]
    assert {heat.band for heat in busy_legend(90)} == set(WORSE) - {"none"}
