"""Forecasts for the choices of a customer, from the volume's own figures and from similar
volumes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.db.models import Case, Exists, F, OuterRef, Q, When

from panel.models import Order, OrderState
from panel.models.proof import Proof, ProofState
from storage.analysis.before_after import Block
from storage.analysis.forecast import (
    CacheChoice,
    Expectation,
    OwnTraffic,
    SimilarVolume,
    Use,
    forecast,
)
from storage.analysis.forecast import trial_offered as is_unknown_enough
from storage.analysis.heat_forecast import heat_forecast
from storage.analysis.measured_use import use_of
from storage.analysis.size_choice import helps_never
from storage.models import CachePlan, Volume
from storage.row_security import beyond
from storage.volumes.plan_offers import Offer, size_of
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

MOST_RESULTS: Final = 500
"""Of the newest first caches: the page must not grow with the years."""
FIGURES: Final = (
    "hit_rate_before",
    "volume_bytes",
    "cache_bytes",
    "read_iops_before",
    "hit_rate_after",
    "read_ms_before",
    "read_ms_after",
)
Measured = Callable[[], Sequence[SimilarVolume]]
"""Where results of other volumes come from, newest first."""
TrafficByMode = Mapping[bool, OwnTraffic]
"""What a volume's heat says, by whether the cache takes writes."""
NO_TRAFFIC: Final[TrafficByMode] = {}


@beyond()
def measured(but_for: int | None = None) -> list[SimilarVolume]:
    """What was measured of orders that gave a volume its first cache, `but_for` a customer's own.
    One that its customer took back before it was measured counts as no gain: else only those were
    left that were worth keeping. One query. They are other customers': only quartiles of them may
    be shown (`storage.analysis.forecast.firstcache`)."""
    back = Order.objects.filter(reverts=OuterRef("order"), state=OrderState.COMPLETED)
    by_person = Exists(back.filter(actor__isnull=False))
    taken_back = Q(by_person, state=ProofState.IMPOSSIBLE, reason_code="changed")
    first_caches = Proof.objects.filter(
        Q(state=ProofState.READY) | taken_back,
        order__from_plan=None,
        order__to_plan__isnull=False,
    ).exclude(order__customer=but_for)
    blocks = Case(When(state=ProofState.IMPOSSIBLE, then=F("before")))
    rows = first_caches.order_by("-id").values_list(
        "order__customer",
        blocks,
        "order__volume__size_bytes",
        "order__to_plan__size_bytes",
        "order__to_plan__ratio_percent",
        *(f"result__{name}" for name in FIGURES),
    )
    results = [
        _result(customer, *figures)
        if before is None
        else _taken_back(customer, before, volume_bytes, plan_bytes, ratio)
        for customer, before, volume_bytes, plan_bytes, ratio, *figures in rows[:MOST_RESULTS]
    ]
    return [result for result in results if result is not None]


def others_of(volume: Volume) -> Measured:
    """The results that the volume's customer is shown."""
    return partial(measured, volume.customer_id)


def traffic_of(
    row: VolumeSnapshot, use: Use, offers: Iterable[Offer], now: datetime
) -> TrafficByMode:
    """What the volume's heat says of the sizes offered, by whether the cache takes writes."""
    choices = [_choice(offer) for offer in offers]
    sizes = {
        mode: {each.size_bytes for each in choices if each.caches_writes is mode}
        for mode in (False, True)
    }
    by_mode = {
        mode: heat_forecast(row, use, sizes[mode], now, writeback=mode) for mode in (False, True)
    }
    known = {mode: each for mode, each in by_mode.items() if each is not None}
    every = [prospect for each in known.values() for prospect in each.prospects]
    best = None
    if len(every) > 1 and helps_never(every):
        best = max(every, key=lambda each: (each.saved_seconds_per_day.high, each.hit_rate.high))
    return {mode: replace(each, best_useless=best) for mode, each in known.items()}


def expectations(
    use: Use,
    offers: Iterable[Offer],
    traffic: TrafficByMode = NO_TRAFFIC,
    *,
    source: Measured = measured,
) -> dict[str, Expectation]:
    """By key of the offer; what the volume has already is missing. At most one query, however many
    offers there are."""
    results = source() if not use.has_cache else ()
    forecasts = {}
    for offer in offers:
        choice = _choice(offer)
        forecasts[offer.key] = forecast(use, choice, results, traffic.get(choice.caches_writes))
    return {key: each for key, each in forecasts.items() if each is not None}


def expected_for(
    row: VolumeSnapshot, use: Use, offers: Sequence[Offer], now: datetime
) -> dict[str, Expectation]:
    """`expectations` as the volume's customer is shown them."""
    traffic = traffic_of(row, use, offers, now)
    return expectations(use, offers, traffic, source=others_of(row.volume))


def expected_of(volume: Volume, plan: CachePlan | None, now: datetime) -> dict[str, Any]:
    """What is said of a plan (None = no cache) at the time it is ordered, for `Order.expected`;
    `{}` where nothing is."""
    row = snapshots_of([volume])[0]
    size_bytes = size_of(plan, volume.size_bytes, row.technology) if plan is not None else 0
    use = use_of(row, now)
    choice = CacheChoice(size_bytes, caches_writes=_caches_writes(plan))
    results = measured(volume.customer_id) if not use.has_cache else ()
    traffic = heat_forecast(row, use, [size_bytes], now, writeback=choice.caches_writes)
    expectation = forecast(use, choice, results, traffic)
    if expectation is None:
        return {}
    return {**expectation.to_json(), "technology": row.technology.name}


def trial_offered(offer: Offer, expectation: Expectation | None) -> bool:
    """Whether the customer is offered to try the plan: the provider allows trials, the offer may
    be chosen, and what it would bring is not known."""
    days = settings.TIERCEL_TRIAL_DAYS
    return not offer.reason and is_unknown_enough(expectation, _choice(offer), days)


def _choice(offer: Offer) -> CacheChoice:
    size_bytes = offer.size_bytes if offer.plan is not None else 0
    return CacheChoice(size_bytes, offer.is_current, _caches_writes(offer.plan))


def _caches_writes(plan: CachePlan | None) -> bool:
    return plan is not None and plan.mode == "writeback"


def _result(customer: int, rate_before: float | None, *figures: Any) -> SimilarVolume | None:
    """None for a proof that lacks what a similar volume is known by, and for one of a volume that
    had a cache without a plan: that was not its first."""
    volume_bytes, cache_bytes, read_iops, hit_rate, before, after = figures
    if rate_before or not volume_bytes or not cache_bytes or not read_iops or hit_rate is None:
        return None
    return SimilarVolume(
        customer=customer,
        volume_bytes=volume_bytes,
        cache_bytes=cache_bytes,
        read_iops=read_iops,
        hit_rate_after=hit_rate,
        read_ms_before=before,
        read_ms_after=after,
    )


def _taken_back(
    customer: int,
    before: list[dict[str, Any]],
    volume_bytes: int,
    plan_bytes: int | None,
    ratio_percent: int | None,
) -> SimilarVolume | None:
    """A first cache whose effect was not measured; None where it was not the first."""
    blocks = [Block.from_json(block) for block in before]
    dt_ms = sum(block.dt_ms for block in blocks)
    if not dt_ms or any(block.hits for block in blocks):
        return None
    return SimilarVolume(
        customer=customer,
        volume_bytes=volume_bytes,
        cache_bytes=plan_bytes or volume_bytes * (ratio_percent or 0) // 100,
        read_iops=sum(block.reads for block in blocks) * 1000 / dt_ms,
        hit_rate_after=0.0,
    )
