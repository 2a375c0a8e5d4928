"""The texts of notices, in the customer's words: no host, no technology."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils.dateformat import format as formatted

from panel.models import Intent, Notice, NoticeKind, Order, OrderState
from panel.orders.order_texts import unplanned
from storage.currency import major_of
from storage.models import CachePlan

NO_PLAN = "no cache"


@dataclass(frozen=True, slots=True)
class Letter:
    """The subject is one line."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class MailLinks:
    """Whole addresses that the letter names: the order's page, the report, the choice of
    notices."""

    order: str
    report: str
    choice: str


def letter(notice: Notice, places: MailLinks) -> Letter:
    """The e-mail of a notice whose order came with its volume, plans and customer."""
    order = notice.order
    subject, lines = WRITERS[NoticeKind(notice.kind)](order, places)
    hello = f"Hello {notice.user.get_full_name()},"
    bye = (
        f"You receive this mail as a user of {_line(order.customer.name)}. Choose your "
        f"notices:\n{places.choice}"
    )
    return Letter(_line(subject), "\n\n".join((hello, *lines, bye)) + "\n")


def _done(order: Order, places: MailLinks) -> tuple[str, list[str]]:
    label = _line(order.volume.label)
    text = [f"Your order for {label} is done.", "\n".join(_change(order))]
    if order.intent == Intent.TRIAL and order.trial_until:
        text.append(
            f"This is a free trial. It ends automatically on {_day(order.trial_until)} UTC, and "
            "the volume returns to no cache."
        )
    elif order.revert_until:
        text.append(f"You can undo this order until {_day(order.revert_until)} UTC.")
    return f"Done: {label} now has {_plan(order.to_plan)}", [*text, places.order]


def _failed(order: Order, places: MailLinks) -> tuple[str, list[str]]:
    label = _line(order.volume.label)
    is_refused = order.state == OrderState.REFUSED
    what = "was refused" if is_refused else "could not be carried out"
    reason = order.reason.strip() or "The reason is unknown. Ask your provider."
    kept = (
        f"Nothing was charged. Your volume keeps {_before(order)}. You ordered "
        f"{_plan(order.to_plan)}."
    )
    return f"Your order for {label} {what}", [
        f"Your order for {label} {what}.",
        reason,
        kept,
        places.order,
    ]


def _proof(order: Order, places: MailLinks) -> tuple[str, list[str]]:
    label = _line(order.volume.label)
    return f"Before and after: the report for {label} is ready", [
        f"We have measured what your order for {label} ({_plan(order.to_plan)}) changed, and "
        "compared it with the time before.",
        places.report,
    ]


WRITERS = {NoticeKind.DONE: _done, NoticeKind.FAILED: _failed, NoticeKind.PROOF: _proof}


def _change(order: Order) -> Iterator[str]:
    yield f"Before: {_before(order)}"
    yield f"Now: {_plan(order.to_plan)}, {_money(order.price_minor, order)} a month"
    yield f"Charged: {_money(order.charge_minor, order)}"
    if order.credit_minor:
        yield f"Credit on your next invoice: {_money(order.credit_minor, order)}"
    yield f"Next invoice, {_day(order.next_invoice_at, 'j F Y')}: " + _money(
        order.next_invoice_minor, order
    )


def _before(order: Order) -> str:
    return _plan(order.from_plan) if order.from_plan is not None else unplanned(order)


def _plan(plan: CachePlan | None) -> str:
    return f"the plan {_line(plan.name)}" if plan else NO_PLAN


def _money(minor: int, order: Order) -> str:
    return f"{major_of(minor, order.currency)} {order.currency}"


def _day(at: datetime, form: str = "j F Y H:i") -> str:
    return str(formatted(at, form))


def _line(text: str) -> str:
    """On one line: a label may hold anything, a header of a mail may not."""
    return " ".join(text.split())
