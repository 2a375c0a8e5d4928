"""What a host's rate is taken for, by how much was measured where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.analysis.priors import LEAST_RATE, Measured, learned

PUBLISHED, ENOUGH = 335.0, 10_000.0
RATES = st.floats(1, 1e5)


def others(*rates: float) -> list[Measured]:
    return [Measured(rate, ENOUGH) for rate in rates]


def test_where_nothing_was_measured_the_published_rate_holds() -> None:
    found = learned(None, [], PUBLISHED, ENOUGH)
    assert found.rate == pytest.approx(PUBLISHED)
    assert (found.source, found.weight, found.hosts) == ("published", 0, 0)


def test_a_host_that_measured_much_is_taken_for_itself() -> None:
    found = learned(Measured(150.0, 100 * ENOUGH), others(400, 410, 420), PUBLISHED, ENOUGH)
    assert found.rate == pytest.approx(150, rel=0.01)
    assert (found.source, found.hosts) == ("own", 3)


def test_a_new_host_is_taken_for_hosts_with_the_same_disks() -> None:
    found = learned(None, others(148, 150, 152, 151, 149), PUBLISHED, ENOUGH)
    assert found.source == "same_disks"
    assert found.rate == pytest.approx(150, rel=0.2)


def test_the_more_hosts_agree_the_less_the_published_rate_counts() -> None:
    rates = [learned(None, others(*[150.0] * n), PUBLISHED, ENOUGH).rate for n in (0, 1, 5, 20)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(150, rel=0.05)


def test_a_host_comes_into_its_own_by_and_by() -> None:
    rates = [
        learned(Measured(100.0, weight), others(200, 200, 200), PUBLISHED, ENOUGH).rate
        for weight in (1, 500, 5_000, 50_000)
    ]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 200
    assert rates[-1] == pytest.approx(100, rel=0.03)


def test_one_wild_host_does_not_move_the_others() -> None:
    usual = learned(None, others(148, 150, 152), PUBLISHED, ENOUGH).rate
    wild = learned(None, others(148, 150, 1e9), PUBLISHED, ENOUGH).rate
    assert wild == pytest.approx(usual, rel=0.01)


def test_hosts_that_measured_too_little_say_nothing_of_others() -> None:
    assert learned(None, [Measured(1.0, ENOUGH - 1)], PUBLISHED, ENOUGH).hosts == 0


def test_what_was_never_counted_is_rare_and_not_impossible() -> None:
    found = learned(Measured(0.0, 1e9), [], 1.0, ENOUGH)
    assert found.rate == pytest.approx(LEAST_RATE, rel=0.1)


@given(own=RATES, weight=st.floats(0, 1e9), rates=st.lists(RATES, max_size=5))
def test_a_rate_lies_between_those_it_is_made_of(
    own: float, weight: float, rates: list[float]
) -> None:
    found = learned(Measured(own, weight), others(*rates), PUBLISHED, ENOUGH)
    every = [own, PUBLISHED, *rates]
    assert min(every) * 0.999 <= found.rate <= max(every) * 1.001
