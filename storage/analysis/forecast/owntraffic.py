"""The forecast of a cache from the volume's own reads and writes, as its heat has them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from storage.analysis.forecast.today import HARDLY_SECONDS
from storage.analysis.forecast.use import Use
from storage.analysis.forecast.words import a_day, shares, span, spans
from storage.formatting import ms
from storage.language import gettext

KINDS: Final[Mapping[Verdict, Kind]] = {
    "helps": "own_traffic",
    "no_help": "no_help",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class OwnTraffic:
    """What heat of `observed_seconds` says of caches: one prospect for each size. `without` is what
    having no cache saves."""

    observed_seconds: int
    prospects: Sequence[Prospect]
    without: Range = NO_DIFFERENCE

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
    return Expectation(
        kind=KINDS[prospect.verdict],
        text=_text(use, prospect),
        basis=basis,
        curve=expected_curve(traffic.prospects),
        **rates(low, high),
        **savings((saved.low, saved.high)),
        **warm_up(use, choice.size_bytes),
    )


def _text(use: Use, prospect: Prospect) -> str:
    saved = prospect.saved_seconds_per_day
    served = shares(prospect.hit_rate.low, prospect.hit_rate.high)
    if prospect.verdict == "no_help":
        waited = use.waited_seconds_per_day
        if waited < HARDLY_SECONDS:
            return gettext(
                "A cache of this size would not help: your reads wait for the slow disk less than "
                "a minute a day."
            )
        return gettext(
            "A cache of this size would not help: {served} of your reads would come from SSD, and "
            "your volume would still wait {a_day}."
        ).format(served=served, a_day=a_day(max(0.0, waited - max(0.0, saved.high))))
    then = _between(ms(prospect.read_ms.low), ms(prospect.read_ms.high))
    reads = gettext("With this size, {served} of your reads would come from SSD.").format(
        served=served
    )
    times = gettext("A read would take {then}, now {now}.").format(
        then=then, now=ms(prospect.read_ms_now)
    )
    if prospect.verdict == "unknown":
        doubt = gettext("Whether you would notice cannot be said yet.")
        return f"{reads} {times} {doubt}"
    saving = gettext("That saves {saved} of waiting a day.").format(
        saved=spans(max(0.0, saved.low), max(0.0, saved.high))
    )
    return f"{reads} {times} {saving}"


def _between(low: str, high: str) -> str:
    if low == high:
        return low
    return gettext("{low} to {high}").format(low=low, high=high)
