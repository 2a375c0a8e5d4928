"""What to expect of each choice, and when nothing is claimed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from storage.analysis.forecast import CacheChoice, Expectation, Use, forecast, trial_offered
from storage.analysis.forecast.use import FormerCache
from storage.byte_sizes import GIB
from tests.storage.analysis.forecast.uses import cached, result, uncached

NO_CACHE = CacheChoice(0)


def expected(use: Use, size_gib: int, results: Any = ()) -> Expectation:
    found = forecast(use, CacheChoice(size_gib * GIB), results)
    assert found is not None
    return found


def saved(found: Expectation) -> tuple[float | None, float | None]:
    return found.saved_seconds_per_day_low, found.saved_seconds_per_day_high


def rates(found: Expectation) -> tuple[float | None, float | None]:
    return found.hit_rate_low, found.hit_rate_high


def test_of_what_the_volume_has_nothing_new_is_expected() -> None:
    assert forecast(cached(), CacheChoice(10 * GIB, is_current=True)) is None
    assert forecast(uncached(), NO_CACHE) is None


# A cache that takes writes too


@pytest.mark.parametrize(
    "use",
    [
        uncached(reads=50),
        uncached(waited_seconds_per_day=30),
        cached(0.99),
        cached(used_bytes=2 * GIB),
        cached(waited_seconds_per_day=30),
        cached(reads=7),
    ],
)
def test_by_its_reads_alone_no_cache_for_writes_is_called_useless(use: Use) -> None:
    choice = CacheChoice(20 * GIB, caches_writes=True)
    found, reads_only = forecast(use, choice), forecast(use, CacheChoice(20 * GIB))
    assert found is not None and reads_only is not None
    assert (reads_only.kind, found.kind) == ("no_help", "unknown")
    assert "would not help" not in found.text
    assert "your writes" in found.text
    assert trial_offered(found, choice, 7)


def test_a_cache_of_the_same_size_that_takes_writes_is_not_called_no_change() -> None:
    found = forecast(cached(), CacheChoice(10 * GIB, caches_writes=True))
    assert found is not None
    assert found.text.startswith("Same size as now: no change for your reads.")
    assert "your writes" in found.text


def test_what_is_said_of_waiting_is_said_of_reads() -> None:
    for use in (uncached(waited_seconds_per_day=30), cached(waited_seconds_per_day=30)):
        assert "your reads wait for the slow disk" in expected(use, 20).text


# A first cache


def test_a_first_cache_saves_at_most_what_is_waited() -> None:
    found = expected(uncached(), 10)
    assert (found.kind, saved(found), rates(found)) == ("unknown", (0, 1080), (None, None))
    assert found.text == (
        "Your volume waits 18 minutes a day for the slow disk. A cache can save part of that."
    )
    assert found.basis.startswith("Based on your wait time") and "similar" not in found.basis
    short = expected(uncached(days=0.5, seconds=43_200), 10)
    assert short.text == (
        "Your volume waited 9 minutes for the slow disk in the last 12 hours. A cache can save "
        "part of that."
    )
    assert "in the last 12 hours, projected to 24 h." in short.basis


def test_four_similar_volumes_are_too_few() -> None:
    found = expected(uncached(), 10, [result(n) for n in range(4)])
    assert found.kind == "unknown"
    assert "similar" not in found.basis


def test_five_similar_volumes_tell_what_a_first_cache_did() -> None:
    after = (0.1, 0.6, 0.7, 0.8, 0.99)
    results = [result(n, hit_rate_after=rate) for n, rate in enumerate(after)]
    found = expected(uncached(), 10, results)
    assert (found.kind, rates(found)) == ("similar", (0.6, 0.8))
    assert saved(found) == (pytest.approx(648), pytest.approx(864))
    assert found.text == (
        "With a cache, similar volumes had 60 to 80 % of their reads from SSD. "
        "For your volume, that would save 11 to 14 minutes of waiting a day."
    )
    assert "5 similar volumes" in found.basis


def test_similar_volumes_of_another_cache_size_tell_nothing() -> None:
    assert expected(uncached(), 80, [result(n) for n in range(9)]).kind == "unknown"


def test_who_hardly_waits_needs_no_cache() -> None:
    found = expected(uncached(waited_seconds_per_day=20), 10, [result(n) for n in range(9)])
    assert (found.kind, saved(found)) == ("no_help", (0, 20))


def test_a_quiet_hour_does_not_show_that_a_cache_is_of_no_use() -> None:
    quiet = uncached(waited_seconds_per_day=20, days=1 / 24, seconds=3600)
    found = expected(quiet, 10)
    assert (found.kind, saved(found)) == ("unknown", (0, 20))
    assert "hardly waited for the slow disk in the last 60 minutes" in found.text


def test_a_volume_on_ssd_needs_no_cache() -> None:
    assert expected(uncached(on_ssd=True), 10).kind == "no_help"


# A larger one


def test_twice_the_cache_serves_at_most_twice_the_reads() -> None:
    found = expected(cached(0.4), 20)
    assert (found.kind, rates(found)) == ("own_misses", (0.4, 0.8))
    assert saved(found) == (0, pytest.approx(1080 * 0.4 / 0.6))
    assert found.text == "A larger cache can save up to 12 minutes of waiting a day."
    assert "not a promise" in found.basis


def test_a_much_larger_cache_serves_at_most_all_reads() -> None:
    found = expected(cached(0.4), 90)
    assert (rates(found), saved(found)) == ((0.4, 1), (0, pytest.approx(1080)))


def test_what_a_larger_cache_would_do_is_unknown_where_the_present_one_hardly_serves() -> None:
    found = expected(cached(0.02), 20)
    assert (found.kind, rates(found), saved(found)) == ("unknown", (None, None), (None, None))
    assert found.text == "No forecast: only 2 % of your reads come from your current cache."


def test_the_time_of_warming_up_does_not_lower_what_a_larger_cache_could_do() -> None:
    found = expected(cached(0.4, latest_hit_rate=0.6), 15)
    assert rates(found) == (0.4, pytest.approx(0.9))


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (cached(0.985), "nearly all of your reads already come from SSD"),
        (cached(0.7, latest_hit_rate=0.99), "nearly all of your reads already come from SSD"),
        (cached(reads=7), "your volume had hardly any reads"),
        (cached(used_bytes=4 * GIB), "your cache is only 40 % used"),
        (
            cached(used_bytes=4 * GIB, grew_bytes=GIB),
            "your cache is still filling and is 40 % used",
        ),
        (cached(waited_seconds_per_day=30), "less than a minute a day"),
    ],
)
def test_an_upgrade_that_would_not_help_is_said_not_to(use: Use, words: str) -> None:
    found = expected(use, 20)
    assert found.kind == "no_help"
    assert found.text.startswith("An upgrade would not help: ")
    assert words in found.text


def test_a_hardly_larger_cache_with_few_hits_is_no_help() -> None:
    assert expected(cached(0.06), 10 * 112 // 100).hit_rate_high is not None
    small = replace(cached(0.06), cache_size_bytes=100 * GIB, used_bytes=100 * GIB)
    assert expected(small, 112).kind == "no_help"


def test_a_full_cache_of_unknown_use_is_taken_as_full() -> None:
    assert expected(cached(used_bytes=None), 20).kind == "own_misses"


# Another mode, a smaller one, none


def test_another_cache_of_the_same_size_leaves_reads_as_they_are() -> None:
    found = expected(cached(), 10)
    assert (found.kind, saved(found)) == ("own_misses", (0, 0))
    assert rates(found) == (pytest.approx(0.4), pytest.approx(0.42))


def test_half_the_cache_keeps_at_least_half_of_the_hits() -> None:
    found = expected(cached(0.5), 5)
    assert rates(found) == (0.25, 0.5)
    assert saved(found) == (pytest.approx(-1080 * (0.75 / 0.5 - 1)), 0)
    assert found.text == (
        "25 to 50 % of your reads would come from SSD (now 50 %). "
        "Your volume would wait up to 9 minutes a day longer for the slow disk."
    )


def test_a_smaller_cache_that_holds_all_there_is_loses_nothing() -> None:
    found = expected(cached(used_bytes=2 * GIB), 5)
    assert rates(found) == (pytest.approx(0.4), pytest.approx(0.42))
    assert saved(found) == (0, 0)


def test_without_a_cache_every_read_waits_again() -> None:
    found = forecast(cached(0.5), NO_CACHE)
    assert found is not None
    assert (rates(found), saved(found)) == ((0, 0), (-1080, pytest.approx(0)))
    assert found.warming == ""


def test_what_a_miss_costs_is_unknown_where_next_to_none_missed() -> None:
    found = forecast(cached(0.99), NO_CACHE)
    assert found is not None
    assert saved(found) == (None, None)
    assert "The additional wait time is unknown." in found.text


# Too little to tell


@pytest.mark.parametrize("make", [uncached, cached])
def test_a_volume_watched_for_minutes_is_not_judged(make: Any) -> None:
    found = expected(make(seconds=300, days=300 / 86_400), 20)
    assert (found.kind, saved(found)) == ("unknown", (None, None))
    assert "only 5 minutes of data" in found.text
    assert found.basis == "A forecast is available after 10 minutes of data."
    never = expected(make(seconds=0, days=0), 20)
    assert "no data" in never.text


@pytest.mark.parametrize("make", [uncached, cached])
def test_a_volume_that_is_hardly_used_is_not_judged(make: Any) -> None:
    found = expected(make(reads=7, days=0.5), 20)
    assert found.kind == "unknown"
    assert "Your volume had 7 reads in the last 12 hours." in found.basis


def test_who_hardly_reads_for_days_needs_no_cache() -> None:
    found = expected(uncached(reads=7), 20)
    assert found.kind == "no_help"
    assert found.text == "A cache would not help: your volume had hardly any reads."
    assert expected(cached(reads=7), 5).kind == "unknown"


def test_a_cache_with_too_few_reads_is_not_judged() -> None:
    assert expected(cached(None), 20).kind == "unknown"


# Trials, and what is kept


def test_a_trial_is_offered_where_the_gain_is_unknown_and_the_provider_gives_one() -> None:
    choice = CacheChoice(10 * GIB)
    unknown, known = forecast(uncached(), choice), forecast(cached(), CacheChoice(20 * GIB))
    assert trial_offered(unknown, choice, 7)
    assert not trial_offered(unknown, choice, 0)
    assert not trial_offered(known, choice, 7)
    assert not trial_offered(None, choice, 7)
    assert not trial_offered(unknown, NO_CACHE, 7)


def test_an_expectation_is_kept_as_json() -> None:
    kept = expected(cached(0.4), 20).to_json()
    assert (kept["kind"], kept["hit_rate_high"], kept["curve"]) == ("own_misses", 0.8, ())
    assert kept["warming_seconds_low"] == pytest.approx(20 * GIB / 1_000_000)
    assert not {"text", "basis", "brief", "warming"} & set(kept)


def test_what_a_former_cache_did_is_the_forecast_of_the_same_one() -> None:
    use = uncached(seconds=60.0, read_ms=26.0, former=FormerCache(10 * GIB, 0.99, 0.97, 0.992, 1.1))
    found = forecast(use, CacheChoice(10 * GIB))
    assert found is not None
    assert found.text == "With your former cache, 99 % of your reads came from SSD: 1.10 ms each."
    assert found.brief == (
        "Measured with this size: 99 % of your reads from SSD, 1.10 ms a read (without a cache "
        "26.0 ms)."
    )
    assert found.kind == "own_misses"
    assert (found.hit_rate_low, found.hit_rate_high) == (0.97, pytest.approx(0.995))
    smaller = forecast(use, CacheChoice(5 * GIB))
    assert smaller is not None
    assert (smaller.text, smaller.basis) == (found.text, found.basis)
    assert smaller.brief == "With this size: 48 to 99 % of your reads from SSD."
    assert smaller.hit_rate_low == pytest.approx(0.485)
    assert smaller.hit_rate_high == pytest.approx(0.995)


def test_a_former_cache_that_was_measured_once_has_a_width_all_the_same() -> None:
    use = uncached(read_ms=20.6, former=FormerCache(GIB, 0.991, 0.991, 0.991, 2.12))
    found = forecast(use, CacheChoice(GIB))
    assert found is not None
    assert found.hit_rate_low == pytest.approx(0.982)
    assert found.hit_rate_high == pytest.approx(0.9955)
