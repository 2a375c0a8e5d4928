"""The cards of the plan page: each choice with its price, its forecast and any reason against it.

Nothing here decides: `panel.orders` evaluated each choice, and evaluates it again when an order
comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.translation import get_language, gettext

from panel.models import Intent, Order
from panel.orders.order_expectations import trial_offered
from panel.orders.order_request import OrderRefused
from panel.orders.plan_choices import PlanChoice
from panel.orders.pricing import mandate_limits, trials
from panel.orders.pricing.quote import Quote
from storage.analysis.forecast import Expectation, Use
from storage.analysis.forecast.today import MOST_COVERED
from storage.analysis.size_choice import ENOUGH
from storage.models import Customer
from storage.templatetags.money import amount
from storage.volumes.plan_offers import NONE_FITS, STEP_BYTES, TOO_LARGE, Offer
from storage.volumes.snapshot import VolumeSnapshot

OF_ACCOUNT: Final = frozenset({"cap_unknown", "too_soon"})
"""Codes of refusals that have the same reason for every plan."""
MISFITS: Final = frozenset({NONE_FITS, TOO_LARGE})
"""Reasons against plans that promise nothing, whatever the state of the account."""

AMPLE: Final = 10
"""With so many times the dearest plan's price left, the rest of the limit is not shown."""


@dataclass(frozen=True, slots=True)
class PlanCard:
    """A choice with what to expect of it (None: nothing is said). `keeps` is the trial that this
    plan is on now, which may be ordered to keep it; `has_already`: the provider gave the volume
    just this cache, for nothing. `same_size` is a cheaper plan whose cache is as large."""

    choice: PlanChoice
    expected: Expectation | None
    has_trial: bool
    keeps: Order | None
    has_already: bool = False
    same_size: Offer | None = None

    @property
    def offer(self) -> Offer:
        return self.choice.offer

    @property
    def description(self) -> str:
        """What the provider says of the plan, in the language spoken now."""
        plan = self.offer.plan
        return plan.description_in(get_language()) if plan is not None else ""

    @property
    def money(self) -> Quote | None:
        """What a change costs at the time it usually happens."""
        return self.choice.quote

    @property
    def is_less(self) -> bool:
        """Cheaper than what is paid now."""
        return self.choice.intent == Intent.DOWNGRADE

    @property
    def has_no_benefit(self) -> bool:
        """Whether the figures say that it would not help."""
        return self.has_already or (self.expected is not None and self.expected.kind == "no_help")

    @property
    def is_better(self) -> bool:
        """Whether it can be ordered or tried now and is more than the volume has."""
        plan = self.offer.plan
        if plan is None or self.offer.is_current or self.is_less or self.has_no_benefit:
            return False
        return self.has_trial or self.choice.refusal is None

    @property
    def saved_seconds(self) -> float | None:
        """Of waiting a day, in the middle of the range; None where the volume's own traffic does
        not show that it helps."""
        expected = self.expected
        if expected is None or expected.kind != "own_traffic":
            return None
        low, high = expected.saved_seconds_per_day_low, expected.saved_seconds_per_day_high
        return ((low or 0.0) + (high or 0.0)) / 2

    @property
    def warms_too_late(self) -> bool:
        """Whether a free trial would end before the cache is warm."""
        needed = self.expected.warming_seconds_low if self.expected is not None else None
        return self.has_trial and needed is not None and needed > trials.length().total_seconds()

    @property
    def why_not(self) -> str:
        """Why it cannot be ordered, with what helps; "" where it can."""
        refusal = self.choice.refusal
        if refusal is None:
            return ""
        if self.offer.reason and refusal.message == gettext(self.offer.reason):
            return refusal.message
        return f"{refusal.message} {refusal.correction}"


def plan_cards(
    row: VolumeSnapshot,
    choices: Sequence[PlanChoice],
    expected: Mapping[str, Expectation],
    trial: Order | None,
) -> list[PlanCard]:
    """A card for each choice of the volume, in their order; `expected` by key of the offer, `trial`
    the one the volume is on."""
    expected = {
        choice.offer.key: each
        for choice in choices
        if (each := expected.get(choice.offer.key)) and choice.offer.reason not in MISFITS
    }
    return [
        PlanCard(
            choice,
            expected.get(choice.offer.key),
            choice.trial is not None
            and trial_offered(choice.offer, expected.get(choice.offer.key)),
            trial if choice.offer.is_current else None,
            has_already(row, choice.offer),
            same_size(choice.offer, [each.offer for each in choices]),
        )
        for choice in choices
    ]


def same_size(offer: Offer, among: Iterable[Offer]) -> Offer | None:
    """The cheapest plan that costs less and whose cache is as large, on a volume on which a plan by
    ratio gives no more; None for no such plan."""
    cheaper = [
        each
        for each in among
        if each.plan is not None
        and each.reason not in MISFITS
        and (each.currency, each.price_minor < offer.price_minor) == (offer.currency, True)
        and abs(each.size_bytes - offer.size_bytes) < STEP_BYTES
    ]
    return min(cheaper, key=lambda each: each.price_minor, default=None)


def has_already(row: VolumeSnapshot, offer: Offer) -> bool:
    """Whether the volume has the offer's cache without a plan, and so without a charge."""
    if offer.plan is None or row.cache is None or row.volume.cache_plan_id is not None:
        return False
    return offer.change == "set" and row.cache.mode == offer.plan.mode


def best(cards: Sequence[PlanCard]) -> PlanCard | None:
    """The plan to suggest: the cheapest that saves nearly as much as any, by the volume's own
    traffic; where that does not show it, one that may be tried free, else the first whose forecast
    says that it may help; None where no figure speaks for any."""
    better = [card for card in cards if card.is_better]
    if (enough := enough_plan(cards)) is not None and enough.is_better:
        return enough
    helping = (card for card in better if card.expected is not None and card.expected.is_gain)
    return next((card for card in better if card.has_trial), next(helping, None))


def enough_plan(cards: Sequence[PlanCard]) -> PlanCard | None:
    """The cheapest plan that saves nearly as much as the one that saves the most; None where the
    volume's own traffic does not show it, or only one plan helps."""
    known = _helping(cards)
    if len(known) < 2:
        return None
    most = max(card.saved_seconds or 0.0 for card in known)
    return next(card for card in known if (card.saved_seconds or 0.0) >= ENOUGH * most)


def spares_dearer(cards: Sequence[PlanCard]) -> PlanCard | None:
    """The plan that is enough where a more expensive one helps too; None else."""
    cheapest = enough_plan(cards)
    if cheapest is None or cheapest.offer.price_minor == _helping(cards)[-1].offer.price_minor:
        return None
    return cheapest


def _helping(cards: Sequence[PlanCard]) -> list[PlanCard]:
    """Plans that fit and that help by the volume's own traffic, the cheapest first."""
    known = [
        card
        for card in cards
        if card.saved_seconds is not None
        and not (card.offer.reason or card.offer.is_current or card.is_less)
    ]
    return sorted(known, key=lambda card: (card.offer.price_minor, card.offer.size_bytes))


def shared_forecast(cards: Sequence[PlanCard]) -> Expectation | None:
    """The expectation that all plans share, shown once; None where they differ."""
    expected = [card.expected for card in cards if card.offer.plan is not None and card.expected]
    if len(expected) < 2 or any(
        (each.text, each.basis) != (expected[0].text, expected[0].basis) for each in expected
    ):
        return None
    return expected[0]


def obstacle(cards: Sequence[PlanCard]) -> OrderRefused | None:
    """Why the customer can order nothing that costs money, shown once for the page; None where
    something can be ordered, or is refused for a reason of its own."""
    refused = [card.choice.refusal for card in cards if card.choice.refusal is not None]
    for_all = [
        each for each in refused if each.code in OF_ACCOUNT or each.message == gettext(NONE_FITS)
    ]
    may_buy = any(card.is_better and card.choice.refusal is None for card in cards)
    return for_all[0] if for_all and not may_buy else None


def says_today(cards: Sequence[PlanCard], use: Use) -> bool:
    """Whether the forecasts of a first cache repeat how long the volume waits today."""
    if use.has_cache or use.covered < MOST_COVERED:
        return False
    forecasts = [card.expected for card in cards if card.expected is not None]
    return any(
        each.kind == "unknown" and each.saved_seconds_per_day_high is not None for each in forecasts
    )


def no_help(cards: Sequence[PlanCard]) -> Expectation | None:
    """The expectation shown once for all plans where none that costs more would help."""
    more = [
        card
        for card in cards
        if card.offer.plan is not None and not card.offer.is_current and not card.is_less
    ]
    return more[0].expected if more and all(card.has_no_benefit for card in more) else None


def dearest(cards: Sequence[PlanCard]) -> int:
    """The highest price a month, in minor units."""
    return max((card.offer.price_minor for card in cards), default=0)


def headroom(customer: Customer | None, now: datetime, *, of: int | None = None) -> str:
    """What the payment authorisation leaves this month, in a sentence; "" where unknown, and where
    it is many times a price `of` so much."""
    mandate = mandate_limits.mandate_of(customer) if customer is not None else None
    left = mandate_limits.left_minor(mandate, now) if mandate is not None else None
    if mandate is None or left is None or (of is not None and left > AMPLE * of):
        return ""
    text = gettext("{amount} left of your monthly limit.")
    return text.format(amount=amount(left, mandate.currency))
