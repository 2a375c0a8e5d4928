"""What is summed up of a volume: the time since it got the cache that it has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from storage.analysis.forecast import Stretch, use
from storage.byte_sizes import GIB
from storage.metrics.rates import CachedBy, Sums

START = datetime(2026, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)


def stretch(hour: int, size_gib: int = 0, *, used_gib: int = 0, **sums: int) -> Stretch:
    """An hour, fully measured; `size_gib` 0 is no cache."""
    whole = {"intervals": 60, "dt_ms": 3_600_000, "reads": 1000, "read_sectors": 8000}
    return Stretch(
        START + hour * HOUR,
        START + (hour + 1) * HOUR,
        CachedBy.DM_CACHE if size_gib else CachedBy.NONE,
        size_gib * GIB or None,
        used_gib * GIB or None,
        Sums(**{**whole, **sums}),
    )


def test_without_figures_nothing_is_known() -> None:
    found = use(GIB, [], START)
    assert (found.seconds, found.reads, found.hit_rate, found.has_cache) == (0, 0, None, False)


def test_hours_of_one_state_are_added_up() -> None:
    hours = [stretch(hour, 4, read_hits=300, read_misses=700) for hour in (0, 1, 3)]
    found = use(100 * GIB, reversed(hours), START + 4 * HOUR)
    assert found.hit_rate == pytest.approx(0.3)
    assert (found.days, found.covered) == (pytest.approx(4 / 24), pytest.approx(0.75))
    assert found.read_iops == pytest.approx(1000 / 3600)
    assert not found.is_since_change


def test_a_cache_that_has_warmed_up_is_known_by_the_later_half_of_its_time() -> None:
    rates = (0, 100, 600, 700)
    hours = [stretch(n, 4, read_hits=r, read_misses=1000 - r) for n, r in enumerate(rates)]
    found = use(100 * GIB, hours, START + 4 * HOUR)
    assert (found.hit_rate, found.latest_hit_rate) == (pytest.approx(0.35), pytest.approx(0.65))
    assert found.best_hit_rate == found.latest_hit_rate
    assert use(GIB, [stretch(0)], START + HOUR).best_hit_rate is None


def test_what_another_cache_did_is_not_counted() -> None:
    before, between, now = stretch(0, 4, read_hits=999), stretch(1), stretch(2, 8, read_misses=999)
    found = use(100 * GIB, [before, between, now], START + 3 * HOUR)
    assert (found.hit_rate, found.reads, found.is_since_change) == (0, 1000, True)
    assert found.cache_size_bytes == 8 * GIB


def test_a_cache_of_nearly_the_same_size_is_the_same() -> None:
    found = use(GIB, [stretch(0, 100), stretch(1, 99)], START + 2 * HOUR)
    assert (found.reads, found.is_since_change) == (2000, False)


def test_the_time_before_the_first_cache_is_of_no_cache() -> None:
    found = use(GIB, [stretch(0, 4), stretch(1, read_ms=36_000, busy_ms=36_000)], START + 2 * HOUR)
    assert not found.has_cache
    assert found.waited_seconds_per_day == pytest.approx(36 * 24)
    assert found.waited_seconds == pytest.approx(36)


def test_a_cache_that_took_in_more_has_grown() -> None:
    found = use(GIB, [stretch(0, 8, used_gib=2), stretch(1, 8, used_gib=5)], START + 2 * HOUR)
    assert (found.grew_bytes, found.used_bytes) == (3 * GIB, 5 * GIB)


def test_only_what_missed_warms_a_cache_up() -> None:
    found = use(GIB, [stretch(0, 8, read_hits=750, read_misses=250)], START + 2 * HOUR)
    assert found.missed_bytes_per_second == pytest.approx(8000 * 512 / 3600 / 4)


def test_an_hour_that_waited_lends_nothing_to_one_that_did_not() -> None:
    """Eight reads at once in one hour, one after the other in the next."""
    first = stretch(0, read_ms=80_000, busy_ms=10_000)
    second = stretch(1, read_ms=20_000, busy_ms=20_000)
    assert use(GIB, [first, second], START + 2 * HOUR).waited_seconds == pytest.approx(30)


def test_what_is_missing_at_the_end_is_time_without_figures() -> None:
    found = use(GIB, [stretch(0), stretch(1)], START + 8 * HOUR)
    assert (found.days, found.covered) == (pytest.approx(8 / 24), pytest.approx(0.25))


def test_a_volume_that_lost_its_cache_remembers_what_that_did() -> None:
    warm = [
        stretch(n, 4, read_hits=1000 - misses, read_misses=misses, read_ms=1100)
        for n, misses in enumerate((15, 5))
    ]
    found = use(100 * GIB, [*warm, stretch(2, read_ms=26_000)], START + 3 * HOUR)
    assert found.former is not None
    assert (found.former.size_bytes, found.former.hit_rate) == (4 * GIB, pytest.approx(0.99))
    assert found.former.hit_rate_low == pytest.approx(0.985)
    assert found.former.hit_rate_high == pytest.approx(0.995)
    assert (found.former.read_ms, found.read_ms) == (pytest.approx(1.1), 26)
    assert use(100 * GIB, [stretch(0), stretch(1)], START + 2 * HOUR).former is None
    assert use(100 * GIB, warm, START + 2 * HOUR).former is None
