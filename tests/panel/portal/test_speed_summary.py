"""Is my disk fast now? One word and why, for each state of a volume."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from panel.portal.last_hour import PARTS, Hour
from panel.portal.speed_summary import SpeedSummary, change_in_words, summarise_speed
from panel.proofs.proof_texts import share_of_reads
from storage.byte_sizes import GIB
from storage.metrics.rates import CachedBy, Sums, figures
from storage.metrics.rates.warming import Learning
from storage.metrics.samples import Latest
from storage.planner.technologies.technology import Cache
from storage.volumes.slow_volumes import SlowTime
from tests.panel.portal.shop import clean

FULL = Cache("lvmcache", "c-x", "writethrough", 2 * GIB, 2 * GIB, 0, "")
LEARNT = Learning(fill=1.0, growth=0.0, growth_parts=6, rise=0.0, hit_rate=0.5)
FILLING = replace(LEARNT, fill=0.92, growth=0.1)


AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def hour(
    *,
    hits: int = 0,
    misses: int = 0,
    reads: int | None = None,
    each_ms: int = 1,
    learning: Learning = LEARNT,
) -> Hour:
    """An hour of so many reads; without `reads` as many as the cache was asked for."""
    count = hits + misses if reads is None else reads
    sums = Sums(
        dt_ms=3_600_000,
        reads=count,
        read_ms=count * each_ms,
        read_hits=hits,
        read_misses=misses,
    )
    return Hour(figures(sums), (None,) * PARTS, AT, learning=learning)


def latest(**fields: Any) -> Latest:
    """A sample that is 5 s old."""
    defaults: dict[str, Any] = {
        **{name: getattr(figures(Sums()), name) for name in figures(Sums()).__slots__},
        "at": datetime(2026, 11, 21, 12, tzinfo=UTC),
        "age_seconds": 5.0,
        "gap": None,
        "cache_gap": None,
        "technology": CachedBy.NONE,
        "cache_mode": "",
        "cache_state": "",
        "cache_size_bytes": None,
        "used_bytes": None,
        "dirty_bytes": None,
        "suspended": False,
    }
    return Latest(**{**defaults, **fields})


def judged(found: Hour | None, cache: Cache | None = None, **fields: Any) -> SpeedSummary:
    defaults: dict[str, Any] = {
        "on_ssd": False,
        "is_stale": False,
        "age_seconds": 86_400.0,
        "first_seconds": 120,
        "slow": None,
    }
    said = summarise_speed(latest(), found, cache, **{**defaults, **fields})
    clean(said.text)
    return said


def test_a_cache_that_serves_nearly_all_reads_is_fast_and_the_text_counts_them() -> None:
    said = judged(hour(hits=9600, misses=400), FULL)
    assert (said.word, said.tone) == ("Fast", "ok")
    assert "96 % of reads came from SSD in the last hour." in said.text
    assert "A read takes 1.00 ms on average." in said.text


@pytest.mark.parametrize(
    ("hits", "word", "tone"),
    [(9000, "Fast", "ok"), (7500, "Mostly fast", "ok"), (5600, "Partly fast", "warning")],
)
def test_the_word_follows_the_share_of_reads_served(hits: int, word: str, tone: str) -> None:
    said = judged(hour(hits=hits, misses=10_000 - hits), FULL)
    assert (said.word, said.tone) == (word, tone)


def test_reads_that_take_long_are_not_fast_whatever_the_cache_serves() -> None:
    said = judged(hour(hits=9600, misses=400, each_ms=9), FULL)
    assert (said.word, said.tone) == ("Medium", "quiet")


def test_what_waits_for_the_disk_is_not_mostly_fast() -> None:
    said = judged(hour(hits=7500, misses=2500, each_ms=5.3), FULL)
    assert (said.word, said.tone) == ("Partly fast", "warning")


def test_a_full_cache_that_serves_little_names_no_larger_one_that_may_not_be_for_sale() -> None:
    said = judged(hour(hits=3000, misses=7000), FULL)
    assert (said.word, said.tone) == ("Partly fast", "warning")
    assert "larger" not in said.text


def test_a_cache_of_unknown_fill_is_not_called_full() -> None:
    unknown = replace(LEARNT, fill=None, growth=None, rise=None)
    said = judged(hour(hits=3000, misses=7000, learning=unknown), FULL)
    assert "is full" not in said.text
    assert "larger" not in said.text


@pytest.mark.parametrize("learning", [FILLING, replace(LEARNT, rise=0.1)])
def test_a_cache_that_fills_or_learns_is_warming_up(learning: Learning) -> None:
    said = judged(hour(hits=3000, misses=7000, learning=learning), FULL)
    assert (said.word, said.tone) == ("Warming up", "busy")
    assert "30 % of reads" in said.text
    assert "may help" not in said.text


def test_a_new_cache_without_enough_reads_does_not_invent_a_share() -> None:
    said = judged(hour(hits=5, misses=5, reads=5000, learning=FILLING), FULL)
    assert said.word == "Warming up"
    assert "% of reads" not in said.text


def test_reads_that_take_too_long_are_slow_whatever_the_cache_serves() -> None:
    ended = datetime(2026, 11, 23, 12, tzinfo=UTC)
    slow = SlowTime(ended - timedelta(minutes=7), ended, 45.0, 20, is_now=True)
    said = judged(hour(hits=9600, misses=400), FULL, slow=slow)
    assert (said.word, said.tone, said.figure) == ("Slow", "warning", "45.0 ms")
    assert said.figure_span == "over 7 min", "a list says that its figures are of an hour"
    assert said.text == (
        "For 7 min, a read has taken 45.0 ms on average. From 20 ms on we call it slow."
    )
    ebbing = judged(hour(hits=9600, misses=400), FULL, slow=replace(slow, is_now=False))
    assert ebbing.word == "Slow" and "Reads are faster now: once that lasts 5 min" in ebbing.text


def test_without_a_cache_the_speed_is_that_of_slow_disks() -> None:
    said = judged(hour(reads=5000, each_ms=8))
    assert (said.word, said.tone, said.waits_for_disk) == ("Medium", "quiet", True)
    assert "All reads go to the disk." in said.text
    assert said.figure == "8.00 ms"


@pytest.mark.parametrize(("each_ms", "word"), [(4, "Fast"), (5, "Medium"), (26, "Medium")])
def test_an_hour_alone_calls_no_volume_slow(each_ms: int, word: str) -> None:
    said = judged(hour(reads=5000, each_ms=each_ms))
    assert (said.word, said.figure) == (
        word,
        f"{each_ms}.00 ms" if each_ms < 10 else f"{each_ms}.0 ms",
    )


def test_a_cache_that_was_just_changed_is_no_verdict_yet() -> None:
    changed = replace(hour(hits=96_000, misses=4_000), changed_part=20)
    said = judged(replace(changed, learning=FILLING), FULL)
    assert (said.word, said.tone) == ("Warming up", "busy")
    assert "since the last change" in said.text
    assert judged(changed, FULL).word == "Fast"


def test_a_volume_that_lies_on_ssd_is_fast_without_a_cache() -> None:
    said = judged(hour(reads=5000), on_ssd=True)
    assert (said.word, said.tone) == ("Fast", "ok")


@pytest.mark.parametrize("found", [None, hour(reads=99)])
def test_an_hour_with_hardly_a_read_says_so(found: Hour | None) -> None:
    assert judged(found, FULL).word == "Hardly used"


def test_old_figures_give_their_age_and_no_verdict() -> None:
    said = summarise_speed(
        latest(age_seconds=840.0),
        hour(hits=9600, misses=400),
        FULL,
        on_ssd=False,
        is_stale=True,
        age_seconds=86_400,
        first_seconds=120,
        slow=None,
    )
    assert (said.word, said.tone) == ("No current data", "warning")
    assert "14 min" in said.text


def test_a_broken_cache_comes_before_every_figure() -> None:
    said = judged(hour(hits=9600, misses=400), replace(FULL, trouble="lvmcache failed on host1"))
    assert (said.word, said.tone) == ("Needs support", "error")


@pytest.mark.parametrize(("age", "words"), [(60, "appears about 2 min"), (7200, "Contact support")])
def test_a_volume_never_sampled_says_when_the_first_figures_come(age: int, words: str) -> None:
    said = summarise_speed(
        None,
        None,
        None,
        on_ssd=False,
        is_stale=False,
        age_seconds=age,
        first_seconds=120,
        slow=None,
    )
    assert said.word == "No data yet"
    assert words in said.text


@pytest.mark.parametrize(
    ("rate", "words"),
    [(1.0, "100 %"), (0.9999, "99 %"), (0.29, "29 %"), (0.001, "less than 1 %")],
)
def test_a_share_in_words_is_never_more_than_it_was(rate: float, words: str) -> None:
    assert words in share_of_reads(rate)


@pytest.mark.parametrize(
    ("after_ms", "words"),
    [
        (5, "2.0 times as fast"),
        (9, "1.1 times as fast"),
        (9.5, "about as fast as before"),
        (20, "2.0 times as long"),
    ],
)
def test_a_change_for_the_worse_is_said_too(after_ms: float, words: str) -> None:
    assert words in change_in_words(10, after_ms)
    assert change_in_words(10, None) == ""
