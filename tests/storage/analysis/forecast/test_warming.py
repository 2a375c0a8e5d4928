"""How long a cache takes to fill."""

from __future__ import annotations

from storage.analysis.forecast.expectation import warming
from storage.byte_sizes import GIB


def test_it_cannot_be_full_before_as_much_was_missed() -> None:
    found = warming(10 * GIB, 10 * GIB / 7200)
    assert (found.low_seconds, found.high_seconds) == (7200, 21_600)
    assert found.text == "Warm-up: about 2 to 6 hours."


def test_without_reads_it_is_unknown() -> None:
    found = warming(GIB, 0)
    assert (found.low_seconds, found.high_seconds) == (None, None)
    assert "not known" in found.text


def test_a_cache_that_is_too_large_for_its_reads_is_said_to_be() -> None:
    assert "more than a month" in warming(1000 * GIB, 10).text
