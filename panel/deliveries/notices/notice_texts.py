"""The texts of notices, in the customer's words: no host, no technology."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from panel.languages.local_times import plain_time
from panel.models import Intent, Notice, NoticeKind, Order, OrderState
from panel.orders.order_texts import unplanned, unplanned_after
from storage.models import CachePlan, Customer
from storage.templatetags.money import amount


@dataclass(frozen=True, slots=True)
class Letter:
    """The subject is one line."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class MailLinks:
    """Absolute addresses in the letter: the order's page, the report, the choice of notices."""

    order: str
    report: str
    choice: str


def letter(notice: Notice, places: MailLinks) -> Letter:
    """The e-mail of a notice, in the active language; the notice was read with its order or alert
    and their relations."""
    hello = gettext("Hello {name},").format(name=notice.user.get_full_name())
    why = gettext("You receive this mail as a user of {customer}. Choose your notices:")
    customer: Customer | None = None
    if notice.order is not None:
        customer = notice.order.customer
        subject, lines = WRITERS[NoticeKind(notice.kind)](notice.order, places)
    else:
        volume = notice.alert.volume if notice.alert is not None else None
        customer = volume.customer if volume is not None else None
        subject, lines = _of_alert(notice, places)
    name = _line(customer.name) if customer is not None else ""
    bye = f"{why.format(customer=name)}\n{places.choice}"
    return Letter(_line(subject), "\n\n".join((hello, *lines, bye)) + "\n")


# What a customer reads about an alert, by its code: no host, no technology, and what they can do.
TROUBLES = {
    "cache_lost": marked(
        "The SSD cache of your volume failed. The newest data may be lost. The volume stays "
        "offline until your provider has fixed it. You don't need to do anything now."
    ),
    "ssd_lost": marked(
        "The SSD cache of your volume failed. Your server may see errors when it reads or writes. "
        "Your provider has been notified. If your server has made its disk read-only, restart it "
        "once the problem is resolved."
    ),
    **dict.fromkeys(
        ("cache_failed", "cache_needs_check"),
        marked(
            "The SSD cache of your volume has a problem. Your server may see errors when it "
            "writes. Your provider has been notified. If your server has made its disk read-only, "
            "restart it once the problem is resolved."
        ),
    ),
    "volume_frozen": marked(
        "Your volume has stopped answering: your server hangs when it reads or writes. Your "
        "provider has been notified. If your server still hangs once the problem is resolved, "
        "restart it."
    ),
    "cache_unregistered": marked(
        "The SSD cache of your volume is missing. Your volume is slow, or offline until the cache "
        "is back. Your provider has been notified. You don't need to do anything."
    ),
    "volume_inactive": marked(
        "Your volume is switched off, so your server cannot start. Your provider has been notified."
    ),
}


def _of_alert(notice: Notice, places: MailLinks) -> tuple[str, list[str]]:
    alert = notice.alert
    label = _line(alert.volume.label) if alert is not None and alert.volume is not None else ""
    if notice.kind == NoticeKind.MENDED:
        subject = gettext("Resolved: {volume}").format(volume=label)
        text = gettext(
            "The problem with {volume} is resolved. If your server has made its disk "
            "read-only or hangs, restart it."
        )
        return subject, [text.format(volume=label), places.order]
    subject = gettext("Problem: {volume}").format(volume=label)
    trouble = TROUBLES.get(alert.code, "") if alert is not None else ""
    since = alert.since or alert.opened_at if alert is not None else None
    begun = [gettext("Since {time}.").format(time=plain_time(since))] if since is not None else []
    over = gettext("We will e-mail you when it is resolved.")
    return subject, [gettext(trouble) if trouble else subject, *begun, over, places.order]


def _done(order: Order, places: MailLinks) -> tuple[str, list[str]]:
    label = _line(order.volume.label)
    begin = gettext("Your order for {volume} is done.").format(volume=label)
    text = [begin, "\n".join(_change(order))]
    if order.intent == Intent.TRIAL and order.trial_until:
        trial = gettext(
            "This is a free trial. It ends automatically on {time}, and the volume returns to no "
            "cache."
        )
        text.append(trial.format(time=plain_time(order.trial_until)))
    elif order.revert_until:
        undo = gettext("You can undo this order until {time}.")
        text.append(undo.format(time=plain_time(order.revert_until)))
    subject = gettext("Done: {volume} now has {plan}")
    return subject.format(volume=label, plan=_after(order)), [*text, places.order]


def _failed(order: Order, places: MailLinks) -> tuple[str, list[str]]:
    text = gettext("Your order for {volume} could not be carried out")
    if order.state == OrderState.REFUSED:
        text = gettext("Your order for {volume} was refused")
    subject = text.format(volume=_line(order.volume.label))
    kept = gettext("Nothing was charged. Your volume keeps {before}. You ordered {plan}.")
    return subject, [
        f"{subject}.",
        _reason(order),
        kept.format(before=_before(order), plan=_after(order)),
        places.order,
    ]


def _reason(order: Order) -> str:
    # Recorded in English.
    reason = order.reason.strip()
    return gettext(reason) if reason else gettext("The reason is unknown. Ask your provider.")


def _proof(order: Order, places: MailLinks) -> tuple[str, list[str]]:
    label = _line(order.volume.label)
    subject = gettext("Before and after: the report for {volume} is ready")
    text = gettext(
        "We have measured what your order for {volume} ({plan}) changed, and compared it with the "
        "time before."
    )
    return subject.format(volume=label), [
        text.format(volume=label, plan=_after(order)),
        places.report,
    ]


WRITERS = {NoticeKind.DONE: _done, NoticeKind.FAILED: _failed, NoticeKind.PROOF: _proof}


def _change(order: Order) -> Iterator[str]:
    yield gettext("Before: {plan}").format(plan=_before(order))
    now = gettext("Now: {plan}, {price} a month")
    yield now.format(plan=_after(order), price=_money(order.price_minor, order))
    yield gettext("Charged: {amount}").format(amount=_money(order.charge_minor, order))
    if order.credit_minor:
        credit = gettext("Credit on your next invoice: {amount}")
        yield credit.format(amount=_money(order.credit_minor, order))
    yield gettext("Next invoice, {date}: {amount}").format(
        date=plain_time(order.next_invoice_at, "date"),
        amount=_money(order.next_invoice_minor, order),
    )


def _before(order: Order) -> str:
    return _plan(order.from_plan) if order.from_plan is not None else unplanned(order)


def _after(order: Order) -> str:
    return _plan(order.to_plan) if order.to_plan is not None else unplanned_after(order)


def _plan(plan: CachePlan) -> str:
    return gettext("the plan {plan}").format(plan=_line(plan.name))


def _money(minor: int, order: Order) -> str:
    return amount(minor, order.currency)


def _line(text: str) -> str:
    """On one line: a label may contain anything, a mail header must not."""
    return " ".join(text.split())
