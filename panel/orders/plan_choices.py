"""The choices for a volume with their prices: one answer for page, API and billing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min, Value
from django.db.models.functions import Coalesce

from jobs.queue.reservations import reserved
from panel.models import Intent
from panel.orders.evaluate import Account, account_of, evaluate
from panel.orders.order_request import OrderRefused, OrderRequest, When
from panel.orders.pricing.quote import Quote
from storage.database_clock import database_now
from storage.models import CachePlan, Volume
from storage.planner.technologies.lookup import TECHNOLOGIES
from storage.planner.wish import CacheWish
from storage.volumes.plan_offers import Offer, offers
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """`quote` is for the usual time (`when`), `other` for the other one where there is a choice;
    `trial` for trying it without a charge, None where that is not offered. `refusal` is why it
    cannot be ordered now (`quote` is None where not even the price can be said)."""

    offer: Offer
    intent: Intent | None
    when: When
    quote: Quote | None
    other: Quote | None
    trial: Quote | None
    refusal: OrderRefused | None


def offers_of(
    row: VolumeSnapshot, agreed: CachePlan | None = None, restored: CacheWish | None = None
) -> list[Offer]:
    """No cache and the plans on sale, each with the reason why not. The volume's own plan is
    included even if it is no longer sold, and so is the one `agreed` on before; `restored` is the
    cache that this one restores."""
    reserved_bytes = 0
    if row.host is not None and row.facts is not None and row.placement is not None:
        promised = reserved(row.host, row.facts, but_for=row.volume)
        reserved_bytes = promised.get(row.placement.vg_uuid, 0)
    agreed_id = agreed.pk if agreed is not None else None
    own = [pk for pk in (row.volume.cache_plan_id, agreed_id) if pk is not None]
    plans = CachePlan.objects.filter(on_offer=True) | CachePlan.objects.filter(pk__in=own)
    return offers(row, plans.distinct(), reserved_bytes, agreed_id, restored)


def smallest_plan_bytes() -> int | None:
    """The smallest cache that a plan on sale gives; None while none is on sale."""
    size_bytes = Coalesce("size_bytes", Value(min(each.least_bytes for each in TECHNOLOGIES)))
    plans = CachePlan.objects.filter(on_offer=True)
    least: int | None = plans.aggregate(least=Min(size_bytes))["least"]
    return least


def choices(row: VolumeSnapshot, now: datetime | None = None) -> list[PlanChoice]:
    """Every offer for the volume, weighed as an order of a person who may order would be."""
    now = now or database_now()
    account = account_of(row, now)
    return [_choice(row, offer, now, account) for offer in offers_of(row)]


def weighed_choice(row: VolumeSnapshot, offer: Offer, now: datetime) -> PlanChoice:
    """One offer, weighed."""
    return _choice(row, offer, now, account_of(row, now))


def _choice(row: VolumeSnapshot, offer: Offer, now: datetime, account: Account) -> PlanChoice:
    volume: Volume = row.volume
    ask = OrderRequest(volume, offer.plan)
    trial = evaluate(OrderRequest(volume, offer.plan, trial=True), row, offer, now, account)
    usual = evaluate(ask, row, offer, now, account)
    other = None
    if usual.intent == Intent.DOWNGRADE and usual.refusal is None:
        opposite: When = "now" if usual.due_at is not None else "period_end"
        other = evaluate(
            OrderRequest(volume, offer.plan, when=opposite), row, offer, now, account
        ).quote
    return PlanChoice(
        offer=offer,
        intent=usual.intent,
        when="period_end" if usual.due_at is not None else "now",
        quote=usual.quote,
        other=other,
        trial=trial.quote if trial.refusal is None else None,
        refusal=usual.refusal,
    )
