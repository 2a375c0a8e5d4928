"""The forecast of a cache from the volume's own reads and writes, as its heat has them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Final

from storage.analysis.curve.prospects import (
    NO_DIFFERENCE,
    Prospect,
    Range,
    Verdict,
    expected_curve,
)
from storage.analysis.forecast.expectation import (
    CacheChoice,
    Expectation,
    Kind,
    rates,
    savings,
    warm_up,
)
from storage.analysis.forecast.othercache import lost_words
from storage.analysis.forecast.today import HARDLY_SECONDS
from storage.analysis.forecast.use import Use
from storage.analysis.forecast.words import a_day, share, shares, span, spans
from storage.analysis.priors import LearnedRate
from storage.formatting import ms
from storage.language import figure, gettext

KINDS: Final[Mapping[Verdict, Kind]] = {
    "helps": "own_traffic",
    "no_help": "no_help",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class PastForecasts:
    """Of `orders` whose forecast of this kind was measured, `within` lay in the range. Ranges are
    `widened` so many times (1: not at all)."""

    orders: int = 0
    within: int = 0
    widened: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastInputs:
    """What a forecast rests on beside the volume's own traffic: the rates of its host, which part
    of the time (0 to 1) its HDDs were busy, and how earlier forecasts held."""

    technology: str
    promotion_share: LearnedRate
    hdd_iops: LearnedRate
    ssd_read_ms: LearnedRate
    hdd_utilisation: float
    past: PastForecasts = PastForecasts()


@dataclass(frozen=True, slots=True)
class OwnTraffic:
    """What heat of `observed_seconds` says of caches: one prospect for each size. `without` is what
    having no cache saves. `best_useless`: of all caches that are offered, in any mode, the one that
    would save most; None where one of them may help. What I/O waits now in a day is known of those
    that were made since it is kept."""

    observed_seconds: int
    prospects: Sequence[Prospect]
    inputs: ForecastInputs | None = None
    without: Range = NO_DIFFERENCE
    best_useless: Prospect | None = None
    waited_seconds_per_day: float = inf

    def of(self, size_bytes: int) -> Prospect | None:
        """That of exactly such a size."""
        return next((each for each in self.prospects if each.size_bytes == size_bytes), None)


def own_traffic(
    use: Use, choice: CacheChoice, prospect: Prospect, traffic: OwnTraffic
) -> Expectation:
    """A cache of a size that the curve has."""
    saved = prospect.saved_seconds_per_day
    low, high = prospect.hit_rate.low, prospect.hit_rate.high
    basis = gettext(
        "Forecast from the reads and writes of your volume, observed for {span}. Nine times in ten "
        "the value lies in the range given."
    ).format(span=span(traffic.observed_seconds))
    inputs = traffic.inputs
    if inputs is not None:
        basis = " ".join((basis, *basis_of(inputs)))
    return Expectation(
        kind=KINDS[prospect.verdict],
        text=_text(use, prospect, traffic),
        basis=basis,
        hit_rate=prospect.hit_rate.likely,
        read_ms_low=prospect.read_ms.low,
        read_ms_high=prospect.read_ms.high,
        observed_seconds=traffic.observed_seconds,
        inputs=asdict(inputs) if inputs is not None else {},
        curve=expected_curve(traffic.prospects),
        **rates(low, high),
        **savings((saved.low, saved.high)),
        **warm_up(use, choice.size_bytes),
    )


def basis_of(inputs: ForecastInputs) -> list[str]:
    """Where the speed of the disks comes from, and how earlier forecasts held, in sentences."""
    disks, past = inputs.hdd_iops, inputs.past
    match disks.source:
        case "own":
            speed = gettext(
                "The speed of the disks was measured on your volume's host, in {span} of work."
            ).format(span=span(disks.weight))
        case "same_disks":
            speed = gettext(
                "The speed of the disks was measured on hosts with the same disks: {hosts}."
            ).format(hosts=disks.hosts)
        case _:
            speed = gettext("The speed of the disks is not measured yet: published figures count.")
    if past.widened <= 1:
        return [speed]
    held = gettext(
        "Of the last {orders} forecasts of this kind that were measured, {within} held as our "
        "model made them: too few for nine times in ten. The range given is {times} times as wide."
    ).format(orders=past.orders, within=past.within, times=figure(f"{past.widened:.1f}"))
    return [speed, held]


def _text(use: Use, prospect: Prospect, traffic: OwnTraffic) -> str:
    saved = prospect.saved_seconds_per_day
    served = shares(prospect.hit_rate.low, prospect.hit_rate.high)
    is_smaller = prospect.size_bytes < (use.cache_size_bytes or 0)
    if prospect.verdict == "no_help" and not is_smaller:
        return _no_help(use, prospect, traffic)
    then = _between(ms(prospect.read_ms.low), ms(prospect.read_ms.high))
    reads = gettext("With this size, {served} of your reads would come from SSD.").format(
        served=served
    )
    times = gettext("A read would take {then}, now {now}.").format(
        then=then, now=ms(prospect.read_ms_now)
    )
    if prospect.verdict == "no_help":
        return f"{reads} {times} {lost_words(-saved.low)}"
    if prospect.verdict == "unknown":
        doubt = gettext("Whether you would notice cannot be said yet.")
        return f"{reads} {times} {doubt}"
    saving = gettext("That saves {saved} of waiting a day.").format(
        saved=spans(max(0.0, saved.low), max(0.0, saved.high))
    )
    return f"{reads} {times} {saving}"


def _no_help(use: Use, prospect: Prospect, traffic: OwnTraffic) -> str:
    """Of this size; where none that is offered helps, the same of all."""
    waited = use.waited_seconds_per_day
    best = traffic.best_useless or prospect
    left = waited - max(0.0, best.saved_seconds_per_day.high)
    if left < HARDLY_SECONDS:
        why = gettext("it would save less than a minute of waiting a day.")
        if waited < HARDLY_SECONDS:
            why = gettext("your reads wait for the slow disk less than a minute a day.")
        what = gettext("An upgrade") if use.has_cache else gettext("A cache")
        return gettext("{what} would not help: {why}").format(what=what, why=why)
    still = a_day(left)
    if traffic.best_useless is None:
        return gettext(
            "A cache of this size would not help: {served} of your reads would come from SSD, and "
            "your volume would still wait {a_day}."
        ).format(served=shares(prospect.hit_rate.low, prospect.hit_rate.high), a_day=still)
    text = gettext(
        "No cache that you can order would help: at most {share} of your reads would come from "
        "SSD, and your volume would still wait {a_day}. Only SSD for the whole volume would help: "
        "ask your provider."
    )
    if use.has_cache:
        text = gettext(
            "No other cache that you can order would help: at most {share} of your reads would "
            "come from SSD, and your volume would still wait {a_day}. Only SSD for the whole "
            "volume would help: ask your provider."
        )
    return text.format(share=share(best.hit_rate.high), a_day=still)


def _between(low: str, high: str) -> str:
    if low == high:
        return low
    return gettext("{low} to {high}").format(low=low, high=high)
