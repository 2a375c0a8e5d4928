"""The shape of a forecast. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from storage.analysis.forecast.use import Use
from storage.analysis.forecast.words import DAY, MINUTE, spans
from storage.language import gettext, marked

SLOW_FACTOR: Final = 3
LONG_AGO: Final = 30 * DAY


@dataclass(frozen=True, slots=True)
class Warming:
    """`low_seconds` and `high_seconds` are None where unknown. `text` is for the customer."""

    low_seconds: float | None
    high_seconds: float | None
    text: str


def warming(cache_bytes: int, missed_bytes_per_second: float) -> Warming:
    """How long a new cache of that size takes to fill at the present use."""
    if missed_bytes_per_second <= 0:
        return Warming(None, None, gettext("The warm-up time is not known yet."))
    low = cache_bytes / missed_bytes_per_second
    high = SLOW_FACTOR * low
    if low > LONG_AGO:
        text = gettext("Warm-up: more than a month. You read little new data.")
        return Warming(low, high, text)
    about = "" if low < MINUTE else gettext("about ")
    text = gettext("Warm-up: {about}{spans}.").format(about=about, spans=spans(low, high))
    return Warming(low, high, text)


Kind = Literal["own_traffic", "own_misses", "similar", "unknown", "no_help"]


@dataclass(frozen=True, slots=True)
class CacheChoice:
    """A plan as far as it matters here: `size_bytes` of cache, 0 for none; `caches_writes` in
    writeback mode: what reads did says nothing of what writes gain."""

    size_bytes: int
    is_current: bool = False
    caches_writes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """`text` is what to expect, `basis` what that rests on, `brief` what it means for this size
    where `text` is of every size ("" where it is not), `warming` how long it takes ("" where
    there is nothing to warm up). Hit rates (0 to 1) are those after the change; seconds saved a day
    are of waiting for the slow disk, below zero where there would be more of it; `read_ms` is what
    a read takes then. None = unknown.
    `curve` is a predicted course, (cache size in bytes, lowest, highest hit rate) each; it is empty
    where the heat of the volume is not known; so are `observed_seconds` of it, the likely
    `hit_rate` and `inputs`, the figures that the forecast was made with
    (`storage.analysis.forecast.owntraffic.ForecastInputs`).
    """

    kind: Kind
    text: str
    basis: str
    brief: str = ""
    warming: str = ""
    hit_rate: float | None = None
    hit_rate_low: float | None = None
    hit_rate_high: float | None = None
    read_ms_low: float | None = None
    read_ms_high: float | None = None
    saved_seconds_per_day_low: float | None = None
    saved_seconds_per_day_high: float | None = None
    warming_seconds_low: float | None = None
    warming_seconds_high: float | None = None
    curve: tuple[tuple[int, float, float], ...] = ()
    observed_seconds: int | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_gain(self) -> bool:
        """Whether figures say that the volume may get faster: seconds saved, or what was measured
        with a former cache (`brief`). Bounds alone, of what is not known, say nothing."""
        is_known = self.kind not in ("unknown", "no_help")
        return is_known and ((self.saved_seconds_per_day_high or 0) > 0 or bool(self.brief))

    def to_json(self) -> dict[str, Any]:
        """What is kept with an order, to be held against what is measured later: no text, which
        would be of one language and of that day."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in ("text", "basis", "brief", "warming")
        }


def unknown(
    use: Use,
    choice: CacheChoice,
    text: str,
    basis: str,
    *,
    saved: tuple[float, float] | None = None,
) -> Expectation:
    """It is not known; `saved` are the bounds of the seconds saved a day, where there are any."""
    return Expectation(
        kind="unknown",
        text=text,
        basis=basis,
        **savings(saved),
        **warm_up(use, choice.size_bytes),
    )


WRITES: Final = marked("What your writes gain cannot be forecast.")


def no_help(
    use: Use, choice: CacheChoice, what: str, why: str, basis: str, **fields: Any
) -> Expectation:
    """`what` would not help, as a sentence `why` says of the reads; what a cache that takes
    writes does for them is not known."""
    if choice.caches_writes:
        return unknown(
            use,
            choice,
            gettext("Your reads would hardly gain: {why} {writes}").format(
                why=why, writes=gettext(WRITES)
            ),
            basis,
        )
    return Expectation(
        kind="no_help",
        text=gettext("{what} would not help: {why}").format(what=what, why=why),
        basis=basis,
        **fields,
    )


def rates(low: float, high: float) -> dict[str, Any]:
    """The fields of an `Expectation` that hold the hit rate."""
    return {"hit_rate_low": low, "hit_rate_high": high}


def savings(saved: tuple[float, float] | None) -> dict[str, Any]:
    """Those that hold the seconds saved a day."""
    if saved is None:
        return {}
    return {"saved_seconds_per_day_low": saved[0], "saved_seconds_per_day_high": saved[1]}


def warm_up(use: Use, size_bytes: int) -> dict[str, Any]:
    """Those that say how long a cache of that size takes to warm up; none for no cache."""
    if not size_bytes:
        return {}
    estimate = warming(size_bytes, use.missed_bytes_per_second)
    return {
        "warming": estimate.text,
        "warming_seconds_low": estimate.low_seconds,
        "warming_seconds_high": estimate.high_seconds,
    }
