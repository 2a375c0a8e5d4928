"""The one sentence: what it says, and when it says less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storage.analysis.forecast import Use, today
from tests.storage.analysis.forecast.uses import cached, uncached


def short(use: Use, hours: float, **fields: object) -> Use:
    """The same use, watched for some hours only."""
    return replace(use, days=hours / 24, seconds=hours * 3600, **fields)  # type: ignore[arg-type]


def test_a_volume_with_a_cache() -> None:
    found = today(cached(0.41))
    assert found.sentence == (
        "41 % of your reads came from SSD last week; "
        "your volume waited 18 minutes a day for the slow disk."
    )
    assert (found.hit_rate, found.waited_seconds_per_day, found.days) == (0.41, 1080, 7)


def test_a_volume_without_a_cache() -> None:
    assert today(uncached()).sentence == (
        "None of your reads came from SSD last week; "
        "your volume waited 18 minutes a day for the slow disk."
    )


def test_a_guest_that_hardly_waits_is_called_so() -> None:
    assert today(cached(0.99, waited_seconds_per_day=20)).sentence == (
        "99 % of your reads came from SSD last week; "
        "your volume waited less than a minute a day for the slow disk."
    )


def test_a_guest_that_always_waits_is_called_so() -> None:
    assert (
        "your volume waited nearly all day"
        in today(uncached(waited_seconds_per_day=86_400)).sentence
    )


def test_a_volume_on_ssd_waits_for_nothing() -> None:
    found = today(uncached(on_ssd=True))
    assert found.sentence == (
        "All of your reads came from SSD last week; nothing waits for a slow disk."
    )
    assert found.waited_seconds_per_day is None


def test_a_short_time_is_shown_as_it_was_and_not_made_a_day_of() -> None:
    assert today(short(cached(), 3)).sentence == (
        "41 % of your reads came from SSD; your volume waited 2 minutes for the slow disk. "
        "Based on 3 hours of data."
    )
    assert "a day" not in today(short(uncached(), 3)).sentence


def test_after_a_change_it_is_said_that_there_was_one() -> None:
    sentence = today(short(cached(), 3, is_since_change=True)).sentence
    assert sentence.endswith("Based on 3 hours of data since your cache was changed.")


@pytest.mark.parametrize(
    ("hours", "when"),
    [(24, "in the last 24 hours"), (72, "in the last 3 days"), (168, "last week")],
)
def test_the_time_it_speaks_of_is_the_time_there_is(hours: float, when: str) -> None:
    assert when in today(short(cached(), hours)).sentence


def test_without_figures_it_says_so() -> None:
    found = today(Use(volume_bytes=1))
    assert found.sentence.startswith("No data of your volume yet")
    assert (found.hit_rate, found.waited_seconds_per_day) == (None, None)


def test_a_minute_of_figures_is_too_short_to_say_anything() -> None:
    assert today(short(cached(), 1 / 60)).sentence == (
        "Not enough data to measure the speed. Based on 1 minute of data."
    )


def test_a_volume_that_is_hardly_read_has_no_figures_of_speed() -> None:
    found = today(cached(reads=7))
    assert found.sentence == (
        "Your volume had only 7 reads last week, too few to measure its speed."
    )
    assert found.hit_rate is None
    assert "had no reads last week," in today(cached(reads=0)).sentence


def test_a_cache_with_too_few_reads_is_not_judged() -> None:
    assert today(cached(None)).sentence.startswith("Your cache has served too few reads last week")


def test_a_sentence_begins_as_one() -> None:
    assert today(cached(0.004)).sentence.startswith("Less than 1 % of your reads")


def test_gaps_are_reported() -> None:
    assert "(Only 40 % of that time was measured.)" in today(cached(covered=0.4)).sentence
    assert "measured" not in today(cached(covered=0.9)).sentence
