"""The speed of a volume now, for its customer: one word and a sentence or two. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from panel.portal.last_hour import Hour
from storage.formatting import ms, seconds
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.metrics.samples import Latest
from storage.planner.technologies.technology import Cache

Tone = Literal["ok", "warning", "error", "busy", "quiet"]

FAST: Final = 0.8
MOSTLY: Final = 0.5
FULL: Final = 0.9
"""A cache with less of its room in use is still filling."""
SLOW_MS: Final = 30
"""Slow disks that are not overloaded take about 10 ms a read; with this the word is "slow",
whatever a cache serves."""
PATIENCE_SECONDS: Final = 1800


@dataclass(frozen=True, slots=True)
class SpeedSummary:
    """`word` is the answer, `text` why. `icon` is a name of `templates/icons`."""

    tone: Tone
    icon: str
    word: str
    text: str


def summarise_speed(
    latest: Latest | None,
    hour: Hour | None,
    cache: Cache | None,
    *,
    on_ssd: bool,
    is_stale: bool,
    age_seconds: float,
    first_seconds: int,
) -> SpeedSummary:
    """The answer for one volume. `on_ssd`: all of it lies on SSD. `age_seconds` is how long the
    volume is known, `first_seconds` after how long the first figures come."""
    if latest is None:
        return _unknown(age_seconds, first_seconds)
    if cache is not None and (cache.trouble or latest.cache_state):
        return SpeedSummary(
            "error", "error", "Needs support", "Your cache has a fault. Contact support."
        )
    if is_stale:
        return SpeedSummary(
            "warning",
            "warning",
            "No current data",
            f"The last data is {roughly(latest.age_seconds)} old. This does not mean that your "
            "volume has a problem. New data appears automatically.",
        )
    if hour is None or hour.reads < MIN_ACCESSES:
        return SpeedSummary(
            "quiet", "wait", "Hardly used", "Too few reads in the last hour to measure the speed."
        )
    took = f"A read took {ms(hour.whole.read_ms)} on average."
    if on_ssd and cache is None:
        return _judged(hour, SpeedSummary("ok", "ok", "Fast", f"Your volume is on SSD. {took}"))
    if cache is None:
        text = f"Every read comes from slow disks. In the last hour {_lower(took)}"
        return _judged(hour, SpeedSummary("quiet", "volume", "Disk speed", text))
    if hour.whole.hit_rate is None:
        text = f"Your cache has served too few reads to measure its effect. {took}"
        return _judged(hour, SpeedSummary("busy", "run", "Warming up", text))
    return _judged(hour, _cached(hour.whole.hit_rate, cache, took))


def of_hundred(rate: float) -> str:
    """A share of reads in words, never more than it was: "96 of 100 reads"."""
    if 0 < rate < 0.01:
        return "fewer than 1 of 100 reads"
    return f"{int(rate * 100 + 1e-9)} of 100 reads"


def roughly(duration_seconds: float) -> str:
    """A duration in its largest unit alone: "47 min"."""
    return " ".join(seconds(duration_seconds).split(" ")[:2])


def is_filling(cache: Cache) -> bool:
    """True while a cache of known use has room left; more of what is read will be in it soon."""
    if cache.used_bytes is None or not cache.size_bytes:
        return False
    return cache.used_bytes < FULL * cache.size_bytes


def _cached(rate: float, cache: Cache, took: str) -> SpeedSummary:
    share = of_hundred(rate)
    text = f"{share[0].upper()}{share[1:]} came from SSD in the last hour. {took}"
    if rate >= FAST:
        return SpeedSummary("ok", "ok", "Fast", text)
    if is_filling(cache):
        return SpeedSummary("busy", "run", "Warming up", f"{text} The cache is still filling.")
    if rate >= MOSTLY:
        return SpeedSummary("ok", "ok", "Mostly fast", text)
    is_full = "Your cache is full. " if cache.used_bytes is not None else ""
    more = f"{is_full}A larger cache may help if you read the same data often."
    return SpeedSummary("warning", "warning", "Partly fast", f"{text} {more}")


def _judged(hour: Hour, speed: SpeedSummary) -> SpeedSummary:
    """The same, unless reads take so long that no other word than slow is honest."""
    if (hour.whole.read_ms or 0) < SLOW_MS:
        return speed
    return SpeedSummary("warning", "warning", "Slow", speed.text)


def _unknown(age_seconds: float, first_seconds: int) -> SpeedSummary:
    if age_seconds > PATIENCE_SECONDS:
        text = "No data yet. Contact support if this persists."
    else:
        text = f"The first data appears about {roughly(first_seconds)} after the volume was added."
    return SpeedSummary("quiet", "wait", "No data yet", text)


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
