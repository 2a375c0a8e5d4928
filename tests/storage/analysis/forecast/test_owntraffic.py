"""What is said of a cache whose curve is known."""

from __future__ import annotations

import dataclasses

import pytest

from storage.analysis.curve.bands import Bounds
from storage.analysis.curve.prospects import Prospect, Range, Verdict
from storage.analysis.forecast import CacheChoice, Expectation, OwnTraffic, Use, forecast
from storage.analysis.forecast.use import FormerCache
from storage.byte_sizes import GIB

USE = Use(
    volume_bytes=40 * GIB,
    days=7.0,
    seconds=7 * 86_400.0,
    reads=1_000_000,
    read_iops=50.0,
    read_ms=11.0,
    waited_seconds_per_day=7_200.0,
)


def prospect(size_gib: int, verdict: Verdict = "helps", **fields: object) -> Prospect:
    base = Prospect(
        size_bytes=size_gib * GIB,
        hit_rate=Bounds(0.92, 0.95, 0.97),
        first_half_hour=Range(0.3, 0.4),
        first_day=Range(0.6, 0.7),
        read_ms_now=11.0,
        read_ms=Range(0.5, 1.2),
        saved_seconds_per_day=Range(5_400.0, 6_600.0),
        ssd_bytes_per_day=Range(2e9, 3e9),
        verdict=verdict,
    )
    return dataclasses.replace(base, **fields)  # type: ignore[arg-type]


def expected(*prospects: Prospect, size_gib: int = 4, use: Use = USE) -> Expectation:
    vain = len(prospects) > 1 and all(each.verdict == "no_help" for each in prospects)
    traffic = OwnTraffic(3 * 86_400, prospects, best_useless=prospects[-1] if vain else None)
    found = forecast(use, CacheChoice(size_gib * GIB), (), traffic)
    assert found is not None
    return found


def test_the_range_the_time_of_a_read_and_the_waiting_saved_are_said() -> None:
    found = expected(prospect(4))
    assert found.kind == "own_traffic"
    assert found.text == (
        "With this size, 92 to 97 % of your reads would come from SSD. A read would take 0.50 ms "
        "to 1.20 ms, now 11.0 ms. That saves 90 minutes to 1.8 hours of waiting a day."
    )
    assert "observed for 3 days" in found.basis
    assert (found.hit_rate_low, found.hit_rate_high) == (0.92, 0.97)
    assert found.saved_seconds_per_day_low == 5_400.0
    assert (found.read_ms_low, found.read_ms_high) == (0.5, 1.2)


def test_the_curve_has_every_size_that_was_looked_at() -> None:
    found = expected(prospect(2), prospect(4))
    assert found.curve == ((2 * GIB, 0.92, 0.97), (4 * GIB, 0.92, 0.97))


def test_what_would_not_help_says_what_is_left_to_wait() -> None:
    found = expected(
        prospect(
            4,
            "no_help",
            hit_rate=Bounds(0.0, 0.01, 0.04),
            saved_seconds_per_day=Range(-20.0, 300.0),
        )
    )
    assert found.kind == "no_help"
    assert found.text.startswith("A cache of this size would not help: 0 to 4 % of your reads")
    assert "would still wait 1.9 hours a day" in found.text


def test_where_no_plan_would_help_each_says_the_same_and_what_would() -> None:
    vain = [
        prospect(
            n,
            "no_help",
            hit_rate=Bounds(0.0, 0.01, n / 100),
            saved_seconds_per_day=Range(-20.0, 300.0),
        )
        for n in (2, 4)
    ]
    texts = {expected(*vain, size_gib=n).text for n in (2, 4)}
    assert texts == {
        "No cache that you can order would help: at most 4 % of your reads would come from SSD, "
        "and your volume would still wait 1.9 hours a day. Only SSD for the whole volume would "
        "help: ask your provider."
    }
    cached = dataclasses.replace(USE, cache_size_bytes=GIB, hit_rate=0.04)
    assert expected(*vain, use=cached).text.startswith("No other cache that you can order would")
    other = expected(vain[0], prospect(4), size_gib=2)
    assert other.text.startswith("A cache of this size would not help: 0 to 2 %")


def test_of_a_volume_that_hardly_waits_the_forecast_says_so() -> None:
    calm = dataclasses.replace(USE, waited_seconds_per_day=20.0)
    found = expected(prospect(4, "no_help"), use=calm)
    assert found.text.endswith("your reads wait for the slow disk less than a minute a day.")


def test_a_cache_smaller_than_the_present_one_says_what_more_is_waited() -> None:
    cached = dataclasses.replace(USE, cache_size_bytes=16 * GIB, hit_rate=0.97)
    less = prospect(4, "no_help", saved_seconds_per_day=Range(-1_200.0, 20.0))
    text = expected(less, prospect(8, "no_help"), use=cached).text
    assert "92 to 97 % of your reads would come from SSD." in text
    assert text.endswith("would wait up to 20 minutes a day longer for the slow disk.")
    alike = prospect(4, "no_help", saved_seconds_per_day=Range(-20.0, 20.0))
    assert expected(alike, use=cached).text.endswith("The wait time would hardly change.")


def test_what_is_left_of_little_waiting_is_no_reason_for_ssd() -> None:
    calm = dataclasses.replace(USE, waited_seconds_per_day=90.0)
    vain = [prospect(n, "no_help", saved_seconds_per_day=Range(0.0, 50.0)) for n in (2, 4)]
    assert expected(*vain, use=calm).text == (
        "A cache would not help: it would save less than a minute of waiting a day."
    )
    cached = dataclasses.replace(calm, cache_size_bytes=GIB, hit_rate=0.9)
    assert expected(*vain, use=cached).text.startswith("An upgrade would not help: it would")


def test_a_range_that_is_too_wide_promises_nothing_and_leaves_the_trial_open() -> None:
    found = expected(prospect(4, "unknown", saved_seconds_per_day=Range(-50.0, 6_000.0)))
    assert found.kind == "unknown"
    assert "cannot be said yet" in found.text
    assert "saves" not in found.text


def test_a_size_that_the_curve_lacks_is_forecast_as_before() -> None:
    assert expected(prospect(4), size_gib=5).kind == "unknown"


@pytest.mark.parametrize(
    "use",
    [
        dataclasses.replace(USE, former=FormerCache(4 * GIB, 0.9, 0.88, 0.92, 1.0)),
        dataclasses.replace(USE, cache_size_bytes=4 * GIB, hit_rate=0.9),
    ],
    ids=["former", "present"],
)
def test_what_was_measured_with_that_size_goes_before_a_forecast(use: Use) -> None:
    assert expected(prospect(4), use=use).kind == "own_misses"
