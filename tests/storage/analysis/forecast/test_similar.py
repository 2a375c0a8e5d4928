"""Results of other volumes: only of those alike, only of enough of them."""

from __future__ import annotations

from typing import Any

import pytest

from storage.analysis.forecast.firstcache import alike, quartiles_of
from storage.byte_sizes import GIB
from tests.storage.analysis.forecast.uses import result

LIKE: dict[str, Any] = {"volume_bytes": 100 * GIB, "cache_bytes": 10 * GIB, "read_iops": 2.0}


@pytest.mark.parametrize(
    "other",
    [
        {"volume_bytes": 500 * GIB, "cache_bytes": 50 * GIB},
        {"cache_bytes": 21 * GIB},
        {"cache_bytes": 4 * GIB},
        {"read_iops": 9.0},
        {"read_iops": 0.4},
        {"read_iops": 0.0},
    ],
)
def test_another_size_another_ratio_or_another_use_is_not_alike(other: dict[str, Any]) -> None:
    assert alike([result(1, **other)], **LIKE) == []
    assert alike([result(1)], **LIKE) == [result(1)]


def test_a_customer_counts_once_with_the_newest_result() -> None:
    newest, older = result(1, hit_rate_after=0.9), result(1, hit_rate_after=0.1)
    assert alike([newest, older, result(2)], **LIKE) == [newest, result(2)]


def test_four_results_say_nothing() -> None:
    assert quartiles_of([result(n) for n in range(4)]) is None


def test_the_middle_half_of_five_is_given() -> None:
    found = quartiles_of(
        result(n, hit_rate_after=rate) for n, rate in enumerate((0.1, 0.6, 0.7, 0.8, 0.99))
    )
    assert found is not None
    assert (found.count, found.hit_rate_low, found.hit_rate_high) == (5, 0.6, 0.8)
    assert (found.saved_low, found.saved_high) == (0.6, 0.8)


def test_no_customers_own_figure_is_among_the_quartiles() -> None:
    """Of five, the quartiles are the second and the fourth value themselves."""
    rates = (0.11, 0.23, 0.47, 0.81, 0.93)
    found = quartiles_of(result(n, hit_rate_after=rate) for n, rate in enumerate(rates))
    assert found is not None
    assert (found.hit_rate_low, found.hit_rate_high) == (0.2, 0.85)
    assert (found.saved_low, found.saved_high) == (0.2, 0.85)


def test_what_was_saved_is_computed_from_times_where_they_are_known() -> None:
    assert result(1, read_ms_before=10, read_ms_after=2).saved_share == 0.8
    assert result(1, read_ms_before=10, read_ms_after=20).saved_share == 0
