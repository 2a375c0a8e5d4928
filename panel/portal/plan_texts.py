"""The sentences of the pages on which a plan is confirmed or an order undone: what it costs, when
the change happens, and what happens then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as marked

from panel.languages.local_times import plain_time, time_tag
from panel.models import Order
from panel.orders.pricing.prices import Price
from panel.orders.pricing.quote import Quote
from storage.analysis.forecast import Expectation
from storage.models import CachePlan
from storage.planner.daily_window import DailyWindow
from storage.templatetags.money import amount, money
from storage.volumes.plan_offers import Offer

DAY: Final = timedelta(days=1)
FILLING = marked("Reads get faster over the next hours, while the cache fills.")
NEEDS = marked(
    "This needs free SSD space and, because your former plan costs more, a payment authorisation "
    "that allows its price."
)
"""What undoing a change to a lower price depends on."""
RUNNING = marked("Your machine keeps running. No restart is needed.")
FAILING = marked("If it fails, you pay nothing and nothing changes.")


@dataclass(frozen=True, slots=True)
class PriceLine:
    """A line of the table of costs; `minor` is in minor units."""

    when: str
    what: str
    minor: int
    is_today: bool = False


def price_lines(quote: Quote, paid: Price | None) -> list[PriceLine]:
    """What is due today, on the next invoice and from then on; `paid` is the price before. Nothing
    where nothing is paid before or after."""
    if not (quote.price_minor or quote.charge_minor or quote.credit_minor):
        return []
    today = gettext("Nothing is due")
    if quote.charge_minor and paid is not None and paid.minor:
        today = gettext("Rest of this month, less what you have already paid")
    elif quote.charge_minor:
        today = gettext("Rest of this month")
    credit = amount(quote.credit_minor, quote.currency)
    invoice = gettext("Next invoice for this volume: one full month")
    if quote.credit_minor and quote.price_minor:
        invoice = gettext(
            "Next invoice for this volume: one month, less a credit of {credit}"
        ).format(credit=credit)
    elif quote.credit_minor:
        invoice = gettext("Credit on the next invoice")
    next_invoice = plain_time(quote.next_invoice_at, "date")
    return [
        PriceLine(gettext("Today"), today, quote.charge_minor, is_today=True),
        PriceLine(next_invoice, invoice, quote.next_invoice_minor),
        PriceLine(gettext("Then"), gettext("Each month"), quote.price_minor),
    ]


def question(offer: Offer, *, is_trial: bool, is_kept: bool) -> SafeString:
    """The heading: the choice as a question. `is_kept`: the plan is on trial now."""
    name = format_html('<span class="text">{}</span>', offer.name)
    if is_kept:
        return format_html(gettext("Keep {plan}?"), plan=name)
    if is_trial:
        return format_html(gettext("Try {plan} free for {days}?"), plan=name, days=trial_words())
    if offer.plan is not None:
        return format_html(gettext("Change to {plan}?"), plan=name)
    return SafeString(gettext("Remove the cache?"))


def plan_now(plan: CachePlan, *, on_trial: bool) -> str:
    """What the volume has before the order."""
    return gettext("Trial of {plan}").format(plan=plan.name) if on_trial else plan.name


def button(offer: Offer, *, is_trial: bool) -> str:
    """What the button that orders it says."""
    if is_trial:
        return gettext("Start the free trial")
    if offer.price_minor:
        price = money(offer.price_minor, offer.currency)
        return gettext("Order for {price} a month").format(price=price)
    return gettext("Change, no charge") if offer.plan is not None else gettext("Remove the cache")


def at_period_end(quote: Quote) -> SafeString:
    """What it means to change at the end of the month that is paid for."""
    return format_html(
        gettext(
            "Nothing is charged today. You keep your current plan until {time}. {then} You can "
            "cancel this change until then."
        ),
        time=time_tag(quote.next_invoice_at),
        then=_then(quote) or gettext("Then you pay nothing."),
    )


def at_once(quote: Quote) -> SafeString:
    """What it means to change now to a plan that costs less."""
    less = SafeString("")
    if quote.credit_minor:
        less = format_html(
            gettext("The next invoice, of {date}, is {amount} less."),
            date=plain_time(quote.next_invoice_at, "date"),
            amount=_figure(amount(quote.credit_minor, quote.currency)),
        )
    nothing = gettext("Nothing is charged today.")
    return format_html("{} {} {}", nothing, less, _then(quote))


def what_happens(
    offer: Offer,
    expected: Expectation | None,
    *,
    is_trial: bool,
    is_kept: bool,
    mode: str = "",
    is_smaller: bool = False,
    window: DailyWindow | None = None,
) -> list[str]:
    """The list of what happens, in order. `mode` is that of the cache now ("" for none),
    `is_kept` whether the plan is on trial now, `is_smaller` whether the new cache is smaller.
    `window` is when the host removes and replaces caches, None for at once."""
    if is_kept:
        return [gettext("Your cache keeps its size and its data."), gettext("Billing starts now.")]
    if offer.plan is None:
        moved = gettext("The cache is removed within a minute; reads are then slower again.")
        if mode == "writeback":
            moved = gettext(
                "Data that is only on SSD is first copied to the slow disks, for up to several "
                "minutes. Reads are then slower again."
            )
        return [gettext(RUNNING), *_window(window), moved, gettext(FAILING)]
    is_windowed = offer.change == "replace"
    lines = [gettext(RUNNING), *_window(window if is_windowed else None)]
    lines.append(_duration(offer, is_trial=is_trial))
    if offer.change == "set":
        lines.append(gettext("Your cache keeps its size and its data."))
    elif is_smaller:
        lines.append(gettext("The new cache starts empty and is smaller than the one you have."))
    else:
        if expected is None or expected.kind != "no_help":
            lines.append((expected.warming if expected is not None else "") or gettext(FILLING))
    lines.append(gettext("You then get a before-and-after report."))
    if offer.plan.mode == "writeback":
        lines.append(
            gettext(
                "New data is first written to mirrored SSDs and reaches the slow disks a little "
                "later."
            )
        )
    return [*lines, gettext(FAILING)]


def _window(window: DailyWindow | None) -> list[str]:
    if window is None:
        return []
    text = gettext("Your provider makes this change between {start} and {end} ({zone}).")
    return [text.format(start=f"{window.start:%H:%M}", end=f"{window.end:%H:%M}", zone=window.zone)]


def _duration(offer: Offer, *, is_trial: bool) -> str:
    if offer.change == "replace":
        return gettext(
            "Reads come from the slow disks for a few minutes while the cache is replaced. Billing "
            "starts then."
        )
    if is_trial:
        return gettext("The change takes about a minute.")
    return gettext("The change takes about a minute. Billing starts then.")


def terms(
    offer: Offer,
    plan_back: CachePlan | None,
    *,
    is_trial: bool,
    is_later: bool,
    has_own_cache: bool,
    ends_trial: bool,
) -> SafeString:
    """The terms: the price, for how long, and how the order can be undone. `plan_back` is the plan
    that this leads to, `is_later` whether the change usually waits for the end of the month,
    `has_own_cache` whether there is a cache of the provider without a plan, `ends_trial` whether
    the order ends a trial."""
    price = _figure(amount(offer.price_minor, offer.currency))
    if is_trial:
        return format_html(
            gettext(
                "The trial is free. After {days} your volume automatically returns to no cache, "
                "unless you keep the plan for {price} a month."
            ),
            days=trial_words(),
            price=price,
        )
    parts = []
    if offer.price_minor:
        pay = gettext("You pay {price} a month until you change the plan.")
        parts.append(format_html(pay, price=price))
    parts.append(_undo(plan_back, has_own_cache=has_own_cache))
    if ends_trial:
        parts.append(
            SafeString(gettext("Your free trial ends with this order and cannot be resumed."))
        )
    if is_later:
        parts.append(SafeString(gettext(NEEDS)))
    elif has_own_cache:
        parts.append(SafeString(gettext("This needs free SSD space.")))
    else:
        parts.append(SafeString(gettext("The rest of the month is credited.")))
    return SafeString(" ".join(parts))


def _undo(plan_back: CachePlan | None, *, has_own_cache: bool) -> SafeString:
    days = settings.TIERCEL_REVERT_DAYS
    if plan_back is not None:
        text = ngettext(
            "You can undo this order within {days} day. Your volume then returns to the plan "
            "{plan}.",
            "You can undo this order within {days} days. Your volume then returns to the plan "
            "{plan}.",
            days,
        )
        name = format_html('<span class="text">{}</span>', plan_back.name)
        return format_html(text, days=days, plan=name)
    if has_own_cache:
        text = ngettext(
            "You can undo this order within {days} day. Your volume then gets back the cache that "
            "your provider set up, free of charge.",
            "You can undo this order within {days} days. Your volume then gets back the cache that "
            "your provider set up, free of charge.",
            days,
        )
    else:
        text = ngettext(
            "You can undo this order within {days} day. Your volume then returns to no cache.",
            "You can undo this order within {days} days. Your volume then returns to no cache.",
            days,
        )
    return format_html(text, days=days)


def back_to(order: Order) -> str:
    """What undoing the order leads to, as a name."""
    if order.plan_back is not None:
        return order.plan_back.name
    if order.had_free_cache:
        return gettext("your provider's cache")
    return gettext("no cache")


def after_reversal(order: Order) -> str:
    """What happens to the volume when the order is undone."""
    if order.plan_back is not None:
        return gettext("Your volume returns to its former plan. The cache starts empty.")
    if order.had_free_cache:
        return gettext(
            "Your volume gets back the cache that your provider set up, of the same size and free "
            "of charge. The cache starts empty."
        )
    return gettext("Your volume then has no cache, as before.")


def trial_words() -> str:
    """How long a trial lasts: "7 days"."""
    return days_words(settings.TIERCEL_TRIAL_DAYS)


def trial_left(trial: Order, now: datetime) -> str:
    """What is left of a trial, in whole days while there is one: "3 days"."""
    left = (trial.trial_until - now) / DAY if trial.trial_until is not None else 0.0
    return days_words(ceil(left) if left >= 1 else max(left, 0.0))


def days_words(days: float) -> str:
    """A number of days in words, below one in hours or minutes: "7 days", "5 hours"."""
    if days < 1 / 24:
        minutes = max(1, round(days * 1440))
        return ngettext("{n} minute", "{n} minutes", minutes).format(n=minutes)
    if days < 1:
        hours = round(days * 24)
        return ngettext("{n} hour", "{n} hours", hours).format(n=hours)
    whole = int(days)
    shown = f"{days:g}" if days != whole and days < 10 else f"{whole}"
    return ngettext("{n} day", "{n} days", whole if days == whole else 2).format(n=shown)


def _then(quote: Quote) -> SafeString:
    """The price from then on; "" for none."""
    if not quote.price_minor:
        return SafeString("")
    price = _figure(amount(quote.price_minor, quote.currency))
    return format_html(gettext("Then you pay {price} a month."), price=price)


def _figure(text: str) -> SafeString:
    return format_html('<span class="num">{}</span>', text)
