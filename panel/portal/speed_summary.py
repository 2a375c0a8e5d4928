"""The speed of a volume now, for its customer: one word and a sentence or two. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from django.utils.html import format_html
from django.utils.translation import gettext

from panel.languages.local_times import time_tag
from panel.portal.last_hour import Hour
from panel.proofs.proof_texts import share_of_reads
from storage.analysis.forecast.words import capital
from storage.analysis.slowness.customer_words import slow_words
from storage.formatting import ms, seconds
from storage.language import figure
from storage.metrics.compare import times_as_much
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.metrics.samples import Latest
from storage.models.host import FAST_READ_MS
from storage.planner.technologies.technology import Cache
from storage.volumes.slow_volumes import SlowTime

Tone = Literal["ok", "warning", "error", "busy", "quiet"]

FAST: Final = 0.8
MOSTLY: Final = 0.7
PATIENCE_SECONDS: Final = 1800


@dataclass(frozen=True, slots=True)
class SpeedSummary:
    """`word` is the answer, `text` why. `icon` is a name of `templates/icons`. `figure` is what a
    read takes, "" where it is unknown; `why_none` then gives the reason in a few words, for a list.
    `waits_for_disk`: it has no cache, and its reads wait for a slow disk. `is_slow`: the judge that
    staff's alerts have calls it slow, and `figure` is of that time: `figure_span`, "" for the
    hour."""

    tone: Tone
    icon: str
    word: str
    text: str
    figure: str = ""
    why_none: str = ""
    waits_for_disk: bool = False
    is_slow: bool = False
    figure_span: str = ""


def summarise_speed(
    latest: Latest | None,
    hour: Hour | None,
    cache: Cache | None,
    *,
    on_ssd: bool,
    is_stale: bool,
    age_seconds: float,
    first_seconds: int,
    slow: SlowTime | None,
) -> SpeedSummary:
    """The answer for one volume. `on_ssd`: all of it lies on SSD. `age_seconds` is how long the
    volume is known, `first_seconds` after how long the first figures come. `slow` is None where it
    is not slow."""
    if latest is None and hour is not None:
        return _silent(hour)
    if latest is None:
        return _unknown(age_seconds, first_seconds)
    if cache is not None and (cache.trouble or latest.cache_state):
        text = gettext("Your cache has a fault. Contact support.")
        return SpeedSummary("error", "error", gettext("Needs support"), text, why_none=text)
    if is_stale:
        text = gettext(
            "The last data is {age} old. This does not mean that your volume has a problem. New "
            "data appears automatically."
        ).format(age=roughly(latest.age_seconds))
        brief = gettext("The last data is {age} old.").format(age=roughly(latest.age_seconds))
        return SpeedSummary("warning", "warning", gettext("No current data"), text, why_none=brief)
    if slow is not None:
        return _slow(slow, waits_for_disk=cache is None and not on_ssd)
    if hour is None or hour.reads < MIN_ACCESSES:
        text = gettext("Too few reads in the last hour to measure the speed.")
        if hour is not None and hour.is_since_change:
            text = gettext("Too few reads since your cache was changed to measure the speed.")
        return SpeedSummary("quiet", "wait", gettext("Hardly used"), text)
    return _measured(hour, hour.whole.read_ms or 0.0, cache, on_ssd=on_ssd)


def _slow(slow: SlowTime, *, waits_for_disk: bool) -> SpeedSummary:
    text = slow_words(slow.average_ms, slow.limit_ms, slow.seconds, is_now=slow.is_now)
    return SpeedSummary(
        "warning",
        "warning",
        gettext("Slow"),
        text,
        ms(slow.average_ms),
        waits_for_disk=waits_for_disk,
        is_slow=True,
        figure_span=gettext("over {span}").format(span=seconds(slow.seconds)),
    )


def _measured(hour: Hour, read_ms: float, cache: Cache | None, *, on_ssd: bool) -> SpeedSummary:
    a_read = gettext("A read takes {time} on average.").format(time=ms(read_ms))
    if cache is None:
        tone, icon, word, text = _uncached(read_ms, on_ssd=on_ssd)
    elif hour.whole.hit_rate is None:
        tone, icon, word = "busy", "run", gettext("Warming up")
        text = gettext("Your cache has served too few reads to measure its effect.")
    else:
        tone, icon, word, text = _cached(hour, hour.whole.hit_rate, read_ms)
    waits = cache is None and not on_ssd and read_ms >= FAST_READ_MS
    text = f"{a_read} {text}".strip()
    return SpeedSummary(tone, icon, word, text, ms(read_ms), waits_for_disk=waits)


def _uncached(read_ms: float, *, on_ssd: bool) -> tuple[Tone, str, str, str]:
    if on_ssd:
        return "ok", "ok", gettext("Fast"), gettext("Your volume is on SSD.")
    if read_ms < FAST_READ_MS:
        return "ok", "ok", gettext("Fast"), gettext("Your slow disks are keeping up.")
    text = gettext("All reads go to the disk.")
    return "quiet", "wait", gettext("Medium"), text


def roughly(duration_seconds: float) -> str:
    """A duration in its largest unit alone: "47 min"."""
    return " ".join(seconds(duration_seconds).split(" ")[:2])


def change_in_words(before_ms: float | None, after_ms: float | None) -> str:
    """How much faster a read is than before, "" where unknown; a small difference is none."""
    factor = times_as_much(before_ms, after_ms)
    if factor is None:
        return ""
    if factor == 1:
        return gettext("Reads are about as fast as before.")
    if factor < 1:
        times = figure(f"{1 / factor:.1f}")
        return gettext("A read is {n} times as fast as before.").format(n=times)
    longer = figure(f"{factor:.1f}")
    return gettext("A read takes {n} times as long as before.").format(n=longer)


def _cached(hour: Hour, rate: float, read_ms: float) -> tuple[Tone, str, str, str]:
    came = gettext("{share} came from SSD in the last hour.")
    if hour.is_since_change:
        came = gettext("{share} came from SSD since the last change.")
    text = came.format(share=capital(share_of_reads(rate)))
    is_warm = hour.learning.is_warm
    if hour.is_since_change and not is_warm:
        more = gettext("Your cache is new, so this may still change.")
        return "busy", "run", gettext("Warming up"), f"{text} {more}"
    if rate >= FAST and read_ms < FAST_READ_MS:
        return "ok", "ok", gettext("Fast"), text
    if rate >= FAST:
        return "quiet", "wait", gettext("Medium"), text
    if is_warm is False:
        more = gettext("The cache is still warming up.")
        return "busy", "run", gettext("Warming up"), f"{text} {more}"
    if rate >= MOSTLY and read_ms < FAST_READ_MS:
        return "ok", "ok", gettext("Mostly fast"), text
    # Plans say whether there is a larger cache, and what it would bring.
    return "warning", "warning", gettext("Partly fast"), text


def _silent(hour: Hour) -> SpeedSummary:
    """Its samples end, and nothing is known of now."""
    text = format_html(gettext("No new data since {time}."), time=time_tag(hour.ended, "short"))
    return SpeedSummary("warning", "warning", gettext("No current data"), text, why_none=text)


def _unknown(age_seconds: float, first_seconds: int) -> SpeedSummary:
    text = gettext("No data yet. Contact support if this persists.")
    if age_seconds <= PATIENCE_SECONDS:
        text = gettext("The first data appears about {time} after the volume was added.").format(
            time=roughly(first_seconds)
        )
    return SpeedSummary("quiet", "wait", gettext("No data yet"), text, why_none=text)
