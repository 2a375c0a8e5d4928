"""The sentences of the pages on which a plan is confirmed or an order undone: what it costs, when
the change happens, and what happens then."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.utils.dateformat import format as formatted
from django.utils.html import format_html
from django.utils.safestring import SafeString

from panel.orders.pricing.prices import Price
from panel.orders.pricing.quote import Quote
from storage.analysis.forecast import Expectation
from storage.models import CachePlan
from storage.templatetags.money import amount, money
from storage.volumes.plan_offers import Offer

FILLING = (
    "Your volume gets faster over the next hours, while the cache fills with the data you use."
)


NEEDS = (
    "This needs free SSD space and, because your former plan costs more, a payment authorisation "
    "that allows its price."
)
"""What undoing a change to a lower price depends on."""


@dataclass(frozen=True, slots=True)
class PriceLine:
    """A line of the table of costs; `minor` is in minor units."""

    when: str
    what: str
    minor: int
    is_today: bool = False


def price_lines(quote: Quote, paid: Price | None) -> list[PriceLine]:
    """What is due today, on the next invoice and from then on; `paid` is the price before."""
    today = "Nothing is due"
    if quote.charge_minor:
        today = "What is left of this month"
        if paid is not None and paid.minor:
            today += ", less what you have paid for it"
    credit = amount(quote.credit_minor, quote.currency)
    invoice = "Next invoice for this volume: a whole month"
    if quote.credit_minor and quote.price_minor:
        invoice = f"Next invoice for this volume: a month, less {credit} for what you paid too much"
    elif quote.credit_minor:
        invoice = "Next invoice for this volume: back for what you paid too much"
    return [
        PriceLine("Today", today, quote.charge_minor, is_today=True),
        PriceLine(formatted(quote.next_invoice_at, "j M Y"), invoice, quote.next_invoice_minor),
        PriceLine("Then", "Each month", quote.price_minor),
    ]


def question(offer: Offer, *, is_trial: bool) -> SafeString:
    """The heading: the choice as a question."""
    if is_trial:
        trial = 'Try <span class="text">{}</span> for {}?'
        return format_html(trial, offer.name, trial_words())
    if offer.plan is not None:
        return format_html('Change to <span class="text">{}</span>?', offer.name)
    return SafeString("Go back to no cache?")


def button(offer: Offer, *, is_trial: bool) -> str:
    """What the button that orders it says."""
    if is_trial:
        return "Start the free trial"
    if offer.price_minor:
        return f"Change for {money(offer.price_minor, offer.currency)} a month"
    return "Change, no charge" if offer.plan is not None else "Go back to no cache"


def at_period_end(quote: Quote) -> SafeString:
    """What it means to change at the end of the month that is paid for."""
    until = formatted(quote.next_invoice_at, "j F Y, H:i")
    return format_html(
        "Nothing is charged today. You keep your current plan until {} UTC. {} You can cancel this "
        "change until then.",
        until,
        _then(quote) or "Then you pay nothing.",
    )


def at_once(quote: Quote) -> SafeString:
    """What it means to change now to a plan that costs less."""
    less = SafeString("")
    if quote.credit_minor:
        less = format_html(
            ' The next invoice, of {}, is <span class="num">{}</span> less.',
            formatted(quote.next_invoice_at, "j F Y"),
            amount(quote.credit_minor, quote.currency),
        )
    return format_html("Nothing is charged today.{} {}", less, _then(quote))


def what_happens(offer: Offer, expected: Expectation | None, *, is_trial: bool) -> list[str]:
    """The list of what happens, in order."""
    running = "Your machine keeps running. No restart is needed."
    failing = "If it fails, you pay nothing and nothing changes."
    if offer.plan is None:
        return [
            running,
            "Data that is only on SSD is first copied to the slow disks. This takes up to several "
            "minutes.",
            "Your volume then runs at disk speed, and you no longer pay for a cache.",
            "A new cache starts empty.",
            failing,
        ]
    if offer.change == "replace":
        duration = (
            "Your volume runs at disk speed for a few minutes while the cache is replaced. Billing "
            "starts then."
        )
    else:
        duration = "The change takes about a minute."
        if not is_trial:
            duration += " Billing starts then."
    warming = (expected.warming if expected is not None else "") or FILLING
    lines = [
        running,
        duration,
        f"{warming} Once the cache is warm, you get a report with the result.",
    ]
    if offer.plan.mode == "writeback":
        lines.append(
            "New data is first written to mirrored SSDs and reaches the slow disks a little later."
        )
    return [*lines, failing]


def terms(
    offer: Offer,
    plan_back: CachePlan | None,
    *,
    is_trial: bool,
    is_later: bool,
    has_own_cache: bool,
    ends_trial: bool,
) -> SafeString:
    """What is agreed on: the price, for how long, and how the order can be undone. `plan_back` is
    the plan that this leads to, `is_later` whether the change usually waits for the end of the
    month, `has_own_cache` whether there is a cache of the provider without a plan, `ends_trial`
    whether the order ends a trial."""
    price = amount(offer.price_minor, offer.currency)
    if is_trial:
        return format_html(
            "The trial is free. After {} your volume automatically returns to no cache, unless you "
            'keep the plan for <span class="num">{}</span> a month.',
            trial_words(),
            price,
        )
    pay = 'You pay <span class="num">{}</span> a month until you change the plan. '
    parts = [format_html(pay, price)] if offer.price_minor else []
    undo = "You can undo this order within {} days. Your volume then returns to {}."
    plan = (
        format_html('the plan <span class="text">{}</span>', plan_back.name)
        if plan_back is not None
        else "no cache"
    )
    parts.append(format_html(undo, settings.TIERCEL_REVERT_DAYS, plan))
    if ends_trial:
        parts.append(SafeString(" Your free trial ends with this order and does not come back."))
    if has_own_cache:
        parts.append(
            SafeString(
                " Your provider set up your current cache, so you cannot restore it yourself."
            )
        )
    if is_later:
        parts.append(SafeString(f" {NEEDS}"))
    else:
        parts.append(SafeString(" The rest of the month is credited."))
    return SafeString("".join(parts))


def after_reversal(plan_back: CachePlan | None) -> str:
    """What becomes of the volume when an order is undone that replaced `plan_back`."""
    if plan_back is None:
        return "Your volume then runs at disk speed, as before."
    return "Your volume returns to its former plan. The cache starts empty."


def trial_words() -> str:
    """How long a trial lasts: "7 days"."""
    days = settings.TIERCEL_TRIAL_DAYS
    if days < 1:
        minutes = max(1, round(days * 1440))
        return "1 minute" if minutes == 1 else f"{minutes} minutes"
    return "1 day" if days == 1 else f"{days:g} days"


def _then(quote: Quote) -> SafeString:
    """The price from then on; "" for none."""
    if not quote.price_minor:
        return SafeString("")
    price = amount(quote.price_minor, quote.currency)
    return format_html('Then you pay <span class="num">{}</span> a month.', price)
