"""What is known of a volume's customer before any offer is weighed: read once for all offers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from panel.models import Mandate, Order
from panel.orders.pricing import mandates, trials
from panel.orders.pricing.prices import Price, paid
from panel.orders.refusal import OrderRefused
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class Account:
    """`paid` is the price now (None without a plan), `on_trial` the trial that the plan is from,
    `untried` why the volume gets none. `mandate` is what the customer authorised and `left_minor`
    what it leaves in this period; None where nobody knows. `others_minor` is what the customer's
    other volumes cost a month (0 without a mandate: nobody asks)."""

    paid: Price | None
    on_trial: Order | None
    untried: OrderRefused | None
    mandate: Mandate | None
    left_minor: int | None
    others_minor: int


def account_of(row: VolumeSnapshot, now: datetime) -> Account:
    """Of the volume's customer, as the books say now."""
    customer = row.volume.customer
    mandate = mandates.mandate_of(customer) if customer is not None else None
    return Account(
        paid=paid(row.volume),
        on_trial=trials.running(row.volume),
        untried=trials.refusal(row),
        mandate=mandate,
        left_minor=mandates.left_minor(mandate, now) if mandate is not None else None,
        others_minor=mandates.others_minor(mandate, row.volume) if mandate is not None else 0,
    )
