"""How forecasts held, and by how much new ones are widened."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from panel.models import Proof
from panel.proofs.calibration import (
    ENOUGH_ORDERS,
    NOMINAL,
    ForecastGroup,
    HeldForecast,
    calibrations,
    held_forecasts,
    judge_forecasts,
    widening,
    wilson,
    worst,
)
from storage.models import ForecastRecord
from tests.panel.proofs.held_orders import AT, held_order


def forecast(
    measured: float, low: float = 0.6, likely: float = 0.7, high: float = 0.8, widened: float = 1.0
) -> HeldForecast:
    return HeldForecast(
        order="o",
        volume="web12 disk",
        customer="Acme",
        ended_at=AT,
        kind="own_traffic",
        technology="lvmcache",
        low=low,
        likely=likely,
        high=high,
        measured=measured,
        read_ms_low=None,
        read_ms_high=None,
        read_ms=None,
        widened=widened,
    )


def test_errors_and_coverage_are_of_what_was_measured() -> None:
    found = ForecastGroup("own_traffic", "bcache", [forecast(0.7), forecast(0.75), forecast(0.9)])
    assert (found.orders, found.within) == (3, 2)
    assert found.coverage == pytest.approx(2 / 3)
    assert found.median_error == pytest.approx(0.05)
    assert found.p90_error == pytest.approx(0.17)
    assert found.median_half_width == pytest.approx(0.1)
    assert not found.is_short, "three orders say little"


def test_the_largest_misses_come_first_and_what_held_is_not_among_them() -> None:
    missed = [forecast(0.85), forecast(0.1), forecast(0.7)]
    assert [each.measured for each in worst(missed)] == [0.1, 0.85]


def test_too_few_orders_widen_nothing_however_bad_they_are() -> None:
    assert widening([forecast(0.0)] * (ENOUGH_ORDERS - 1)) == 1.0


def test_ranges_that_hold_are_not_made_narrower() -> None:
    assert widening([forecast(0.7)] * 50) == 1.0


def test_ranges_are_widened_until_nine_in_ten_of_the_measured_would_have_held() -> None:
    errors = np.linspace(-0.3, 0.3, 60)
    held = [forecast(0.7 + float(error), low=0.6, high=0.8) for error in errors]
    times = widening(held)
    within = sum(abs(error) <= 0.1 * times + 1e-9 for error in errors)
    assert 0.9 * len(errors) <= within <= 0.95 * len(errors)


def test_the_next_orders_lie_in_the_widened_range_nine_times_in_ten() -> None:
    """A model whose ranges are half as wide as they should be; forty orders, then the next one."""
    random, within, times_over = np.random.default_rng(3), 0, 400
    sigma = 2 * 0.1 / NormalDist().inv_cdf((1 + NOMINAL) / 2)
    for _ in range(times_over):
        errors = random.normal(0, sigma, 41)
        times = widening([forecast(0.7 + float(error)) for error in errors[:-1]])
        within += abs(errors[-1]) <= 0.1 * times
    assert within / times_over >= NOMINAL - 0.03


def test_what_was_widened_before_is_judged_by_what_the_model_had() -> None:
    """Else ranges that hold because they are wide would be narrow again, and miss again."""
    wide = [forecast(0.7 + 0.15 * (n % 2), low=0.5, high=0.9, widened=2.0) for n in range(40)]
    assert widening(wide) == pytest.approx(1.5)


@pytest.mark.parametrize(("successes", "of"), [(0, 1), (1, 1), (19, 25), (180, 200)])
def test_a_share_of_few_lies_between_wide_limits(successes: int, of: int) -> None:
    low, high = wilson(successes, of)
    assert 0 <= low <= successes / of <= high <= 1
    assert wilson(19 * 8, 25 * 8)[0] > wilson(19, 25)[0]


@pytest.mark.django_db
def test_an_order_keeps_what_was_forecast_beside_what_was_measured() -> None:
    held_order(0.75)
    (found,) = held_forecasts(Proof.objects.all())
    assert (found.low, found.likely, found.high, found.measured) == (0.6, 0.7, 0.8, 0.75)
    assert (found.kind, found.technology, found.read_ms) == ("own_traffic", "lvmcache", 2.0)


@pytest.mark.django_db
def test_a_cache_that_was_still_cold_is_not_held_against_its_forecast() -> None:
    cold = held_order(0.2)
    Proof.objects.filter(pk=cold.pk).update(was_warm=False)
    held_order(0.2, hit_rate_low=None, hit_rate_high=None, kind="unknown")
    assert held_forecasts(Proof.objects.all()) == []


@pytest.mark.django_db
def test_orders_of_an_earlier_version_are_judged_by_the_middle_of_their_range() -> None:
    held_order(
        0.75, kind="similar", hit_rate=None, technology=None, observed_seconds=None, inputs=None
    )
    (found,) = calibrations(held_forecasts(Proof.objects.all()))
    assert (found.kind, found.technology) == ("similar", "lvmcache")
    assert found.forecasts[0].likely == pytest.approx(0.7)


@pytest.mark.django_db
def test_each_technology_is_judged_by_its_own_orders_from_own_traffic() -> None:
    for n in range(ENOUGH_ORDERS):
        held_order(0.4 if n % 2 else 0.7, days=n)
        held_order(0.7, days=n, technology="bcache")
        held_order(0.0, days=n, kind="similar", observed_seconds=None)
    judge_forecasts(AT)
    judge_forecasts(AT)
    found = {row.technology: row for row in ForecastRecord.objects.all()}
    assert found.keys() == {"lvmcache", "bcache"}
    assert found["lvmcache"].widened == pytest.approx(3.0)
    assert (found["lvmcache"].orders, found["lvmcache"].within) == (ENOUGH_ORDERS, 10)
    assert found["bcache"].widened == 1.0
