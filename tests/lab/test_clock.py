"""Whether the lab's clock goes right; that a real one is mended is in tests/contract."""

import pytest

from tests.lab.clock import Reading, strays

BEGAN = Reading(before=100.0, uptime=20.0, after=100.1)


@pytest.mark.parametrize("went", [2.0, 2.1, 2.2])
def test_one_that_went_as_long_as_ours_may_have_does_not_stray(went: float) -> None:
    assert not strays(BEGAN, Reading(before=102.1, uptime=20.0 + went, after=102.2))


@pytest.mark.parametrize("went", [1.9, 2.3, 24.0, 500.0])
def test_one_that_went_faster_or_slower_than_asking_explains_strays(went: float) -> None:
    assert strays(BEGAN, Reading(before=102.1, uptime=20.0 + went, after=102.2))


def test_two_readings_of_one_moment_say_nothing_against_it() -> None:
    assert not strays(BEGAN, BEGAN)
