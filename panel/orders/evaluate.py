"""What an order would be, and what prevents it: its intent, time and money. What is known of the
customer (`Account`) is read once for all offers of a volume."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.utils.translation import gettext_noop as marked

from jobs.models import Kind
from panel.models import Intent, Mandate, Order
from panel.orders import reversal
from panel.orders.order_request import OrderRefused, OrderRequest
from panel.orders.pricing import mandate_limits, trials
from panel.orders.pricing.prices import Price, paid, paid_before
from panel.orders.pricing.quote import Quote, quote, quote_later
from storage.planner.wish import Wish
from storage.volumes.plan_offers import NONE_FITS, REASONS, Offer, OfferedChange
from storage.volumes.snapshot import VolumeSnapshot


@dataclass(frozen=True, slots=True)
class Account:
    """`paid` is the price now (None without a plan), `on_trial` the trial that the plan is from,
    `untried` why the volume gets none. `mandate` is what the customer authorised and `left_minor`
    what it leaves in this period; None where that is unknown. `others_minor` is what the customer's
    other volumes cost a month (0 without a mandate: not needed)."""

    paid: Price | None
    on_trial: Order | None
    untried: OrderRefused | None
    mandate: Mandate | None
    left_minor: int | None
    others_minor: int


def account_of(row: VolumeSnapshot, now: datetime) -> Account:
    """Of the volume's customer, as recorded now."""
    customer = row.volume.customer
    mandate = mandate_limits.mandate_of(customer) if customer is not None else None
    return Account(
        paid=paid(row.volume),
        on_trial=trials.running_trial(row.volume),
        untried=trials.trial_refusal(row),
        mandate=mandate,
        left_minor=mandate_limits.left_minor(mandate, now) if mandate is not None else None,
        others_minor=mandate_limits.others_minor(mandate, row.volume) if mandate is not None else 0,
    )


KINDS: Final[dict[OfferedChange, Kind]] = {
    "add": Kind.ADD_CACHE,
    "set": Kind.SET_CACHE,
    "replace": Kind.REPLACE_CACHE,
    "remove": Kind.REMOVE_CACHE,
}
SUPPORT: Final = marked("Choose another plan, or contact support.")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`refusal` is None where it may be ordered; `wish` and `kind` are then the job's. `due_at` is
    when it begins (None = at once), `trial_until` the end of a trial, `costs_more` whether anything
    has to be paid for it. `from_minor` is a month's price before, `replaces_trial` whether that
    plan was on trial, `from_cache` the cache before as a wish has it (None = none)."""

    intent: Intent | None
    quote: Quote | None
    refusal: OrderRefused | None
    wish: Wish | None = None
    kind: Kind = Kind.SET_CACHE
    due_at: datetime | None = None
    trial_until: datetime | None = None
    costs_more: bool = False
    from_minor: int = 0
    replaces_trial: bool = False
    from_cache: dict[str, Any] | None = None


def evaluate(
    ask: OrderRequest, row: VolumeSnapshot, offer: Offer | None, now: datetime, account: Account
) -> Evaluation:
    """`row` is the volume's and `offer` that of the plan, None where there is no such offer (any
    more). Writes nothing and, except for an order to undo, reads nothing; ignores the requester and
    running jobs."""
    if offer is None:
        return Evaluation(None, None, _retired())
    if offer.is_current and (account.on_trial is None or ask.trial):
        return Evaluation(None, None, _same())
    before = account.paid
    price = _price(ask, offer)
    currency = _currency(account.mandate, before, price)
    if currency is None:
        return Evaluation(None, None, _other_currency())
    from_minor = before.minor if before is not None else 0
    intent = _intent(ask, from_minor, price)
    is_later = _is_later(ask, intent, from_minor, price)
    later = quote_later(now, price.minor, currency) if is_later else None
    offered = later or quote(now, from_minor, price.minor, currency)
    evaluation = Evaluation(
        intent,
        offered,
        None,
        wish=row.wish if offer.is_current else offer.wish,
        kind=KINDS["set"] if offer.is_current else KINDS[offer.change],
        due_at=offered.period_end if is_later else None,
        trial_until=now + trials.length() if ask.trial else None,
        costs_more=price.minor > from_minor,
        from_minor=from_minor,
        replaces_trial=account.on_trial is not None,
        from_cache=cache_before(row),
    )
    return replace(evaluation, refusal=_refusal(ask, row, offer, evaluation, now, account))


def _refusal(
    ask: OrderRequest,
    row: VolumeSnapshot,
    offer: Offer,
    evaluation: Evaluation,
    now: datetime,
    account: Account,
) -> OrderRefused | None:
    if ask.takes_back is not None:
        if ask.by == "panel":  # at the end of a trial, whatever the time limit was
            refusal = reversal.changed_since(ask.takes_back, row.volume)
        else:
            refusal = reversal.reversal_refusal(ask.takes_back, row.volume, now)
        refusal = refusal or reversal.cached_since(ask.takes_back, row.cache is not None)
        if refusal is not None:
            return refusal
    if ask.trial and account.untried is not None:
        return account.untried
    if ask.when == "period_end" and evaluation.due_at is None:
        return OrderRefused(
            "unavailable",
            "Only a lower price can start with the next period.",
            "Order the plan now.",
        )
    if offer.reason or evaluation.wish is None:
        return no_offer(offer.reason)
    if ask.agreed is not None and evaluation.quote is not None:
        currency = ask.agreed[1] if evaluation.quote.price_minor else evaluation.quote.currency
        if (ask.agreed[0], currency) != (evaluation.quote.price_minor, evaluation.quote.currency):
            return _price_changed()
    if not evaluation.costs_more or ask.by != "person" or row.volume.customer is None:
        return None
    if account.on_trial is not None and (ending := trials.ending(account.on_trial, now)):
        return ending
    quote = evaluation.quote
    if quote is None:
        return None
    left_minor, others_minor = account.left_minor, account.others_minor
    return mandate_limits.mandate_refusal(account.mandate, left_minor, others_minor, quote, now)


def cache_before(row: VolumeSnapshot) -> dict[str, Any] | None:
    """The cache that the volume has now, for `Order.from_cache`."""
    return row.wish.to_json()["cache"] if row.wish is not None else None


def no_offer(reason: str) -> OrderRefused:
    """The refusal for an offer that cannot be had; `reason` is the offer's."""
    is_full = reason == REASONS["no_space"]
    correction = "" if reason == NONE_FITS else SUPPORT
    return OrderRefused("no_capacity" if is_full else "unavailable", reason or SUPPORT, correction)


def _price(ask: OrderRequest, offer: Offer) -> Price:
    if ask.trial:
        return Price(0, offer.currency)
    if ask.takes_back is not None and ask.plan is not None:
        return paid_before(ask.takes_back)
    return Price(offer.price_minor, offer.currency)


def _intent(ask: OrderRequest, from_minor: int, price: Price) -> Intent:
    if ask.takes_back is not None:
        return Intent.REVERT
    if ask.trial:
        return Intent.TRIAL
    is_lower = price.minor < from_minor or ask.plan is None
    return Intent.DOWNGRADE if is_lower else Intent.UPGRADE


def _is_later(ask: OrderRequest, intent: Intent, from_minor: int, price: Price) -> bool:
    """Only a lower price waits for the end of the period that is paid for."""
    may_wait = intent == Intent.DOWNGRADE and price.minor < from_minor
    usual = "period_end" if may_wait and ask.by == "person" else "now"
    return may_wait and (ask.when or usual) == "period_end"


def _currency(mandate: Mandate | None, before: Price | None, price: Price) -> str | None:
    """The currency of both prices; None where they differ. Where nothing is paid on either side,
    that of the customer's mandate, "" without one."""
    named = {price.currency for price in (before, price) if price and price.currency}
    if len(named) > 1:
        return None
    if named:
        return named.pop()
    return mandate.currency if mandate is not None else ""


def _retired() -> OrderRefused:
    return OrderRefused("plan_retired", "This plan is no longer available.", "Choose another plan.")


def _same() -> OrderRefused:
    return OrderRefused("same_plan", "This is already your plan.", "Choose another plan.")


def _price_changed() -> OrderRefused:
    return OrderRefused(
        "price_changed",
        "The price has changed since you opened the page.",
        "Check the new price and confirm again.",
    )


def _other_currency() -> OrderRefused:
    return OrderRefused(
        "currency",
        "This plan has a different currency from your current plan.",
        "Ask your provider to change the plan.",
    )
