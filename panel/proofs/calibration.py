"""How forecasts held: each against what was measured after its order, over all orders.

Ranges that held too seldom are widened by split conformal prediction (Lei et al.,
"Distribution-free predictive inference for regression", JASA 2018): of the newest forecasts each
error is divided by the half of its range on that side, and ranges are widened by the quotient that
nine in ten do not exceed. As long as the next order is like the measured ones, its range then holds
nine times in ten, whatever is wrong with the model. Ranges are never made narrower.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil, sqrt
from statistics import NormalDist, median, quantiles
from typing import Any, Final

from django.db.models import F

from panel.models import Proof, ProofState
from panel.models.proof import ProofQuerySet
from storage.models import ForecastRecord
from storage.planner.technologies.lookup import of_layout

NOMINAL: Final = 0.9
"""Share of ranges that should hold."""
ENOUGH_ORDERS: Final = 20
NEWEST: Final = 1_000
"""Older orders say little of the present forecasts, and the page must not grow with the years."""
JUDGED: Final = 200
"""Number of orders of one technology that decide how much its ranges are widened."""
LEAST_HALF: Final = 0.005
"""No range is taken to be narrower: half a point to each side."""
WORST: Final = 10
OWN_TRAFFIC: Final = "own_traffic"
KINDS: Final = {
    OWN_TRAFFIC: "Own traffic",
    "own_misses": "Present or former cache",
    "similar": "Similar volumes",
}


def kind_name(kind: str) -> str:
    """What a forecast rests on, for people."""
    return KINDS.get(kind, "Other figures")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldForecast:
    """The share of reads from SSD (0 to 1) that an order was forecast to bring, and what was
    measured. `widened`: the factor by which the range exceeded the model's."""

    order: str
    volume: str
    customer: str
    ended_at: datetime | None
    kind: str
    technology: str
    low: float
    likely: float
    high: float
    measured: float
    read_ms_low: float | None
    read_ms_high: float | None
    read_ms: float | None
    widened: float

    @property
    def name(self) -> str:
        return kind_name(self.kind)

    @property
    def error(self) -> float:
        """Above 0: more reads came from SSD than was likely."""
        return self.measured - self.likely

    @property
    def is_within(self) -> bool:
        return self.low <= self.measured <= self.high

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    @property
    def score(self) -> float:
        """The error in halves of the range that the model had, on the side of the error."""
        side = self.high - self.likely if self.error > 0 else self.likely - self.low
        return abs(self.error) / max(LEAST_HALF, side / self.widened)


@dataclass(frozen=True, slots=True)
class ForecastGroup:
    """Of at least one forecast, all of a kind and technology, or all there are."""

    kind: str
    technology: str
    forecasts: Sequence[HeldForecast]

    @property
    def name(self) -> str:
        return kind_name(self.kind)

    @property
    def orders(self) -> int:
        return len(self.forecasts)

    @property
    def within(self) -> int:
        return sum(each.is_within for each in self.forecasts)

    @property
    def coverage(self) -> float:
        return self.within / self.orders

    @property
    def coverage_range(self) -> tuple[float, float]:
        """What the coverage may be by so few orders: Wilson's interval of 90 %."""
        return wilson(self.within, self.orders)

    @property
    def is_enough(self) -> bool:
        return self.orders >= ENOUGH_ORDERS

    @property
    def is_short(self) -> bool:
        """Whether fewer ranges held than promised, by enough orders."""
        return self.is_enough and self.coverage < NOMINAL

    @property
    def median_error(self) -> float:
        return median(abs(each.error) for each in self.forecasts)

    @property
    def p90_error(self) -> float:
        errors = [abs(each.error) for each in self.forecasts]
        return quantiles(errors, n=10, method="inclusive")[-1] if len(errors) > 1 else errors[0]

    @property
    def points(self) -> tuple[float, float, float]:
        """The median error, the 90th percentile and half of the range, in points of 100."""
        shares = self.median_error, self.p90_error, self.median_half_width
        median_error, p90_error, half_width = (100 * share for share in shares)
        return median_error, p90_error, half_width

    @property
    def median_half_width(self) -> float:
        return median(each.half_width for each in self.forecasts)


def held_forecasts(proofs: ProofQuerySet) -> list[HeldForecast]:
    """Of those measured with a warm cache, which a forecast is of; the newest order first."""
    ready = proofs.filter(
        state=ProofState.READY,
        order__expected__hit_rate_high__isnull=False,
        result__hit_rate_after__isnull=False,
    )
    rows = ready.exclude(was_warm=False).order_by(F("order__ended_at").desc(nulls_last=True), "-pk")
    return [
        _held(*row)
        for row in rows.values_list(
            "order__key",
            "order__volume__label",
            "order__customer__name",
            "order__volume__layout",
            "order__ended_at",
            "order__expected",
            "result__hit_rate_after",
            "result__read_ms_after",
        )[:NEWEST]
        if row[5]["hit_rate_low"] is not None and row[6] is not None
    ]


def calibrations(forecasts: Iterable[HeldForecast]) -> list[ForecastGroup]:
    """By kind and technology."""
    groups = defaultdict[tuple[str, str], list[HeldForecast]](list)
    for each in forecasts:
        groups[each.kind, each.technology].append(each)
    return [ForecastGroup(*key, groups[key]) for key in sorted(groups)]


def worst(forecasts: Iterable[HeldForecast]) -> list[HeldForecast]:
    """Those that missed their range, the largest error first."""
    missed = [each for each in forecasts if not each.is_within]
    return sorted(missed, key=lambda each: -abs(each.error))[:WORST]


def widening(forecasts: Sequence[HeldForecast]) -> float:
    """By how much ranges like these are to be widened; 1 where they hold, or are too few."""
    if len(forecasts) < ENOUGH_ORDERS:
        return 1.0
    scores = sorted(each.score for each in forecasts)
    rank = min(len(scores), ceil(NOMINAL * (len(scores) + 1)))
    return max(1.0, scores[rank - 1])


def judge_forecasts(now: datetime) -> None:
    """Store how the forecasts of each technology held, for those to come."""
    for each in calibrations(held_forecasts(Proof.objects.all())):
        if each.kind != OWN_TRAFFIC:
            continue
        newest = each.forecasts[:JUDGED]
        ForecastRecord.objects.update_or_create(
            technology=each.technology,
            defaults={
                "orders": len(newest),
                "within": sum(forecast.score <= 1 for forecast in newest),
                "widened": widening(newest),
                "judged_at": now,
            },
        )


def wilson(successes: int, of: int) -> tuple[float, float]:
    """The 90 % interval of a share (Wilson, "Probable inference", JASA
    1927)."""
    z = NormalDist().inv_cdf((1 + NOMINAL) / 2)
    share, weight = successes / of, z * z / of
    middle = (share + weight / 2) / (1 + weight)
    half = z * sqrt(share * (1 - share) / of + weight / of / 4) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def _held(
    order: str,
    volume: str,
    customer: str,
    layout: str,
    ended_at: datetime | None,
    expected: dict[str, Any],
    measured: float,
    read_ms: float | None,
) -> HeldForecast:
    """Forecasts of an earlier version have no likely value, and no technology."""
    low, high = expected["hit_rate_low"], expected["hit_rate_high"]
    likely = expected.get("hit_rate")
    inputs = expected.get("inputs") or {}
    return HeldForecast(
        order=order,
        volume=volume,
        customer=customer,
        ended_at=ended_at,
        kind=OWN_TRAFFIC if expected.get("observed_seconds") else expected["kind"],
        technology=expected.get("technology") or of_layout(layout).name,
        low=low,
        likely=(low + high) / 2 if likely is None else likely,
        high=high,
        measured=measured,
        read_ms_low=expected.get("read_ms_low"),
        read_ms_high=expected.get("read_ms_high"),
        read_ms=read_ms,
        widened=inputs.get("past", {}).get("widened", 1.0),
    )
