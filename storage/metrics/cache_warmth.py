"""How far a cache has warmed up, for staff: `storage.metrics.rates.warming` in a word and a
sentence. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from storage.formatting import seconds, size
from storage.metrics.rates.warming import STEADY_GROWTH, STEADY_RISE, CachePart, Learning, learning
from storage.metrics.series import Series, Values
from storage.planner.technologies.technology import Technology

LOOKED_AT: Final = timedelta(minutes=30)
LOOKED_AT_SELDOM: Final = timedelta(hours=1)
"""For a cache whose fill is read every 15 minutes at most: each half has two readings."""
POINTS: Final = 30
COLD_SHARE: Final = 0.05
COLD_HIT_RATE: Final = 0.2
POOR_HIT_RATE: Final = 0.9
"""Below this, a warm cache leaves much to the HDD: that it is warm is no good news."""
LONG_AGO: Final = 7 * 86_400
MOSTLY_USED: Final = 0.75
"""A cache that serves nearly all reads with less of it in use is larger than its guest needs."""


class WarmthState(StrEnum):
    """The state of a cache; `UNKNOWN` without figures."""

    UNKNOWN = "unknown"
    COLD = "cold"
    WARMING = "warming"
    WARM = "warm"


@dataclass(frozen=True, slots=True)
class Warmth:
    """`share` is how full the cache is, 0 to 1, None where it is unknown. `growth_bytes` and
    `rise_points` (percentage points of the read hit rate) are the change of the later half of
    `minutes` against the earlier one; None where either half has no figure. `full_in_seconds` is
    None unless the cache grows. `sentence` says why the state is what it is."""

    state: WarmthState
    share: float | None
    growth_bytes: float | None
    rise_points: float | None
    hit_rate: float | None
    full_in_seconds: float | None
    sentence: str

    @property
    def tone(self) -> str:
        """The tone of the chip."""
        if self.state is WarmthState.WARM and self._is_poor:
            return "quiet"
        return {WarmthState.WARM: "ok", WarmthState.WARMING: "busy"}.get(self.state, "quiet")

    @property
    def _is_poor(self) -> bool:
        return self.hit_rate is not None and self.hit_rate < POOR_HIT_RATE

    @property
    def icon(self) -> str:
        """The icon of the chip."""
        return {WarmthState.WARM: "ok", WarmthState.WARMING: "run"}.get(self.state, "wait")


def warmth(series: Series, now: datetime, silent: timedelta) -> Warmth:
    """Judge the cache by the series of the last `looked_at`, in about `POINTS` buckets; figures
    older than `silent` say nothing about its state now."""
    cached: list[tuple[int, Values]] = []
    for n, values in enumerate(series.values):
        if values["cache_size_bytes"] is not None:
            cached.append((n, values))
        elif values["read_iops"] is not None:
            cached = []  # without a cache: what is before it was another one
    if not cached or cached[-1][1]["used_bytes"] is None:
        return _unknown("The fill level is not known yet. Wait for the next samples.")
    last, latest = cached[-1]
    if (age := now - series.at(last)) > silent:
        old = seconds(age.total_seconds())
        return _unknown(f"The last sample is {old} old. The current state is unknown.")
    whole, used = latest["cache_size_bytes"] or 0, latest["used_bytes"] or 0
    learnt = learning([_part(n, values, series.step_seconds) for n, values in cached])
    growth = None if learnt.growth is None else learnt.growth * whole
    later_seconds = learnt.growth_parts * series.step_seconds
    full_in = None
    if growth is not None and _has_grown(learnt) and later_seconds:
        full_in = max(0.0, whole - used) * later_seconds / growth
    state = _state(learnt)
    sentence = _sentence(state, used, whole, growth, later_seconds, learnt, full_in)
    rise_points = None if learnt.rise is None else learnt.rise * 100
    return Warmth(state, learnt.fill, growth, rise_points, learnt.hit_rate, full_in, sentence)


def looked_at(technology: Technology) -> timedelta:
    """How far back the series must reach that `warmth` judges by."""
    return LOOKED_AT_SELDOM if technology.tells_fill_seldom else LOOKED_AT


def _unknown(sentence: str) -> Warmth:
    return Warmth(WarmthState.UNKNOWN, None, None, None, None, None, sentence)


def _part(n: int, values: Values, step_seconds: float) -> CachePart:
    reads = 0.0 if values["hit_rate"] is None else (values["accesses_per_s"] or 0.0) * step_seconds
    hits = reads * (values["hit_rate"] or 0.0)
    return CachePart(n, reads, hits, values["used_bytes"], values["cache_size_bytes"])


def _has_grown(learnt: Learning) -> bool:
    return learnt.growth is not None and learnt.growth > STEADY_GROWTH


def _state(learnt: Learning) -> WarmthState:
    if learnt.fill is None:
        return WarmthState.UNKNOWN
    if learnt.fill < COLD_SHARE and (learnt.hit_rate is None or learnt.hit_rate < COLD_HIT_RATE):
        return WarmthState.COLD
    return WarmthState.WARM if learnt.is_warm else WarmthState.WARMING


def _sentence(
    state: WarmthState,
    used: float,
    whole: float,
    growth: float | None,
    later_seconds: float,
    learnt: Learning,
    full_in: float | None,
) -> str:
    parts = [f"{size(used)} of {size(whole)} used"]
    if growth is not None and later_seconds:
        span = seconds(later_seconds)
        parts.append(
            f"{size(growth)} more in {span}" if _has_grown(learnt) else f"stable for {span}"
        )
    late = learnt.hit_rate
    if late is not None:
        parts.append(f"read hit rate {late * 100:.0f} %{_trend(learnt.rise)}")
    sentence = ", ".join(parts) + "."
    if state is WarmthState.COLD and late is None:
        return f"{sentence} Too few reads to tell how many come from the SSD."
    if state is WarmthState.COLD:
        return f"{sentence} Nearly all reads still come from the HDD."
    if state is WarmthState.WARM and late is not None and late < POOR_HIT_RATE:
        misses = f"{(1 - late) * 100:.0f} % of reads still come from the HDD."
        return (
            f"{sentence} The cache {'is full' if learnt.is_full else 'has settled'}, and {misses}"
        )
    is_large = learnt.fill is not None and learnt.fill < MOSTLY_USED
    if state is WarmthState.WARM and learnt.serves_nearly_all and is_large:
        share = f"{(1 - used / whole) * 100:.0f} % of the cache"
        return f"{sentence} Fully warmed up: {size(used)} are enough for now, {share} is unused."
    if state is WarmthState.WARM:
        return f"{sentence} Fully warmed up."
    if full_in and full_in < LONG_AGO:
        return f"{sentence} Warming up, full in about {seconds(full_in)} at this rate."
    return f"{sentence} Warming up."


def _trend(rise: float | None) -> str:
    if rise is None or abs(rise) < STEADY_RISE:
        return ""
    return f" ({'+' if rise > 0 else '-'}{abs(rise) * 100:.0f} points)"
