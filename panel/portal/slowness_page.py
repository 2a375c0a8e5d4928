"""Why is it slow? For the volume's customer: in plain words, with neighbours as a share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.slow_reasons import reasons_of_own_volume
from jobs.timeline import TimelineEntry
from panel.accounts.member_scope import member_view, row_of, several_customers
from panel.charts.subject import change_words
from panel.orders import rights
from panel.orders.plan_choices import offers_of
from panel.portal.volume_cards import Card
from storage.access import Person
from storage.analysis.heat_forecast import has_enough_heat
from storage.analysis.slowness import customer_words
from storage.analysis.slowness.explanation import Timing
from storage.volumes.plan_offers import STEP_BYTES
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class OwnChange:
    """A change of the plan, in the customer's words."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class OwnSlowCard:
    """What the card says; the page that it is a part of says how slow it is. `has_forecast`: plans
    show what each would bring. `helps` is "" where no plan is larger, or none helps, `new_cache`
    where the volume has got none since it was slow, `may_order` whether this person may choose one.
    `own_share` and `others_share` (0 to 1) are of the disk's time."""

    is_slow: bool
    title: str
    what: str
    where: str
    why: str
    helps: str
    new_cache: str
    timing: Timing
    own_share: float
    others_share: float
    changes: tuple[OwnChange, ...]
    may_order: bool
    has_forecast: bool


def slowness_card(card: Card, user: Person) -> OwnSlowCard | None:
    """For the page of a volume; None where the page does not call it slow."""
    return _card(card.row, user) if card.glance.is_slow else None


@require_safe
@member_view
def member_slowness(request: HttpRequest, key: str) -> HttpResponse:
    """The card as a page of its own."""
    row = row_of(request, key)
    context = {
        "slowness": _card(row, request.user),
        "volume": row.volume,
        "several_customers": several_customers(request.user),
    }
    return render(request, "portal/slowness.html", context)


def _card(row: VolumeSnapshot, user: Person) -> OwnSlowCard:
    now = timezone.now()
    reasons = reasons_of_own_volume(row, user, now)
    has_forecast = has_enough_heat(row, now)
    explanation = reasons.explanation
    helps = customer_words.helps(
        explanation, has_cache=row.cache is not None, has_forecast=has_forecast
    )
    return OwnSlowCard(
        is_slow=explanation.is_slow,
        title=customer_words.question(explanation),
        what=customer_words.what_is(explanation),
        where=customer_words.where_is(explanation),
        why=customer_words.why_is(explanation),
        helps=helps if not reasons.has_new_cache and _sells_more(row) else "",
        new_cache=customer_words.new_cache(explanation) if reasons.has_new_cache else "",
        timing=explanation.timing,
        own_share=explanation.own_share,
        others_share=explanation.others_share,
        changes=tuple(_changes(reasons.changes)),
        may_order=rights.barred(user, row.volume) is None,
        has_forecast=has_forecast,
    )


def _sells_more(row: VolumeSnapshot) -> bool:
    """Whether a plan that the volume can have now has a larger cache than it has."""
    now_bytes = (row.cache.size_bytes if row.cache is not None else None) or 0
    return any(
        offer.plan is not None and not offer.reason and offer.size_bytes >= now_bytes + STEP_BYTES
        for offer in offers_of(row)
    )


def _changes(entries: Iterable[TimelineEntry]) -> Iterable[OwnChange]:
    return (OwnChange(each.at, change_words(each.record)) for each in entries)
