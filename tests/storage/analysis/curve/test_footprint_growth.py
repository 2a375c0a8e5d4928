"""How a volume's touched chunks grow beyond what was seen."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.analysis.curve.footprint_growth import growths


def power(exponent: float) -> list[tuple[float, float]]:
    return [(n, n**exponent) for n in (10.0**k for k in range(1, 6))]


@given(exponent=st.floats(0.05, 1), volume=st.floats(1e5, 1e12), n=st.floats(1e5, 1e12))
def test_growth_continues_what_was_seen_and_stays_within_the_volume(
    exponent: float, volume: float, n: float
) -> None:
    for growth in growths(power(exponent), volume):
        assert growth.distinct(1e5) == pytest.approx(1e5**exponent, rel=1e-6)
        assert 1e5**exponent * 0.999 <= growth.distinct(n) <= volume
        assert 0 <= growth.rate(n) <= 1.001 * growth.distinct(n) / n


def test_a_power_law_is_found_again() -> None:
    endless, _ = growths(power(0.6), 1e9)
    assert endless.distinct(1e7) == pytest.approx(1e7**0.6, rel=1e-3)
    assert endless.references(1e7**0.6) == pytest.approx(1e7, rel=1e-3)
    assert endless.rate(1e7) == pytest.approx(0.6 * 1e7**-0.4, rel=1e-2)


def test_growth_that_bends_ends_and_the_power_law_does_not() -> None:
    bent = [(n, 1000.0 * n / (n + 1000)) for n in (10.0**k for k in range(1, 5))]
    endless, ending = growths(bent, 1e6)
    assert ending.distinct(1e8) < 1100 < endless.distinct(1e8)
    assert ending.references(1100) == inf


def test_a_volume_of_which_nothing_was_cached_has_no_growth() -> None:
    growth, _ = growths([], 100.0)
    assert (growth.distinct(1e6), growth.rate(1e6), growth.references(1)) == (0, 0, inf)
