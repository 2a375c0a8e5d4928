"""Student's t distribution."""

from __future__ import annotations

import numpy as np
import pytest

from storage.analysis.comparison.student import cdf, quantile, quantiles


@pytest.mark.parametrize(
    ("probability", "freedom", "value"),
    # From published tables.
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 6, 2.447),
        (0.95, 10, 1.812),
        (0.995, 30, 2.75),
    ],
)
def test_students_quantiles_are_those_of_the_tables(
    probability: float, freedom: float, value: float
) -> None:
    assert quantile(probability, freedom) == pytest.approx(value, abs=0.001)
    assert cdf(value, freedom) == pytest.approx(probability, abs=0.0005)
    assert cdf(-value, freedom) == pytest.approx(1 - probability, abs=0.0005)


@pytest.mark.parametrize("probability", [0.8, 0.975, 0.995])
def test_many_quantiles_at_once_are_those_of_each(probability: float) -> None:
    freedoms = np.array([1.0, 1.3, 2.0, 2.7, 5.5, 17.776, 60.0, 5000.0])
    each = [quantile(probability, freedom) for freedom in freedoms]
    assert quantiles(probability, freedoms) == pytest.approx(each, rel=2e-4)
