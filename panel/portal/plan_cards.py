"""The cards of the plan page: each choice with its price, its forecast and any reason against it.

Nothing here decides: `panel.orders` evaluated each choice, and evaluates it again when an order
comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from panel.models import Intent, Order
from panel.orders.order_expectations import trial_offered
from panel.orders.plan_choices import PlanChoice
from panel.orders.pricing import mandate_limits
from panel.orders.pricing.quote import Quote
from storage.analysis.forecast import Expectation
from storage.models import Customer
from storage.templatetags.money import amount
from storage.volumes.plan_offers import Offer


@dataclass(frozen=True, slots=True)
class PlanCard:
    """A choice with what to expect of it (None: nothing is said). `keeps` is the trial that this
    plan is on now, which may be ordered to keep it."""

    choice: PlanChoice
    expected: Expectation | None
    has_trial: bool
    keeps: Order | None

    @property
    def offer(self) -> Offer:
        return self.choice.offer

    @property
    def money(self) -> Quote | None:
        """What a change costs at the time it usually happens."""
        return self.choice.quote

    @property
    def is_less(self) -> bool:
        """Cheaper than what is paid now."""
        return self.choice.intent == Intent.DOWNGRADE

    @property
    def is_vain(self) -> bool:
        """By the figures it would not help."""
        return self.expected is not None and self.expected.kind == "no_help"

    @property
    def why_not(self) -> str:
        """Why it cannot be ordered, with what helps; "" where it can."""
        refusal = self.choice.refusal
        if refusal is None:
            return ""
        if refusal.message == self.offer.reason:
            return refusal.message
        return f"{refusal.message} {refusal.way_out}"


def plan_cards(
    choices: Sequence[PlanChoice], expected: Mapping[str, Expectation], trial: Order | None
) -> list[PlanCard]:
    """A card for each choice, in their order; `expected` by key of the offer, `trial` the one the
    volume is on."""
    return [
        PlanCard(
            choice,
            expected.get(choice.offer.key),
            choice.trial is not None
            and trial_offered(choice.offer, expected.get(choice.offer.key)),
            trial if choice.offer.is_current else None,
        )
        for choice in choices
    ]


def no_help(cards: Sequence[PlanCard]) -> Expectation | None:
    """What to say of all plans at once where none of those that cost more would help."""
    more = [
        card
        for card in cards
        if card.offer.plan is not None and not card.offer.is_current and not card.is_less
    ]
    return more[0].expected if more and all(card.is_vain for card in more) else None


def headroom(customer: Customer | None, now: datetime) -> str:
    """What the payment authorisation leaves this month, in a sentence; "" where nobody knows."""
    mandate = mandate_limits.mandate_of(customer) if customer is not None else None
    left = mandate_limits.left_minor(mandate, now) if mandate is not None else None
    if mandate is None or left is None:
        return ""
    return f"Your payment authorisation leaves {amount(left, mandate.currency)} this month."
