"""Every change of plan of a volume with its price: its orders, and older changes without one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.urls import reverse

from jobs.models import Job
from panel.accounts.member_scope import changes_of, orders_of
from panel.models import Order, OrderState, ProofState
from panel.orders import order_texts
from panel.orders.order_texts import StateChip
from panel.portal import order_progress
from storage.access import Person
from storage.models import Volume

ROWS: Final = 20


@dataclass(frozen=True, slots=True)
class PlanHistoryEntry:
    """`charge_minor` is what was charged at once, None where nothing was charged or no amount was
    recorded; `report_url` is "" where there is no report."""

    name: str
    url: str
    price_minor: int
    currency: str
    charge_minor: int | None
    credit_minor: int
    at: datetime
    who: str
    outcome: StateChip
    report_url: str


def plan_history(
    user: Person, volume: Volume, most: int | None = ROWS
) -> tuple[list[PlanHistoryEntry], bool]:
    """The newest `most` changes (None = all), newest first, and whether there are more. Two
    queries."""
    look = most + 1 if most is not None else None
    orders = orders_of(user).filter(volume=volume)[:look]
    changes = changes_of(user).filter(volume=volume, order=None)[:look]
    entries = [*map(of_order, orders), *map(of_change, changes)]
    newest = sorted(entries, key=lambda entry: entry.at, reverse=True)
    return newest[:most], most is not None and len(newest) > most


def of_order(order: Order) -> PlanHistoryEntry:
    """An order as a row."""
    proof = getattr(order, "proof", None)
    is_done = order.state == OrderState.COMPLETED
    has_report = proof is not None and proof.state == ProofState.READY
    return PlanHistoryEntry(
        order_progress.title(order),
        reverse("my-order", args=[order.key]),
        order.price_minor,
        order.currency,
        order.charge_minor if is_done else None,
        order.credit_minor if is_done else 0,
        order.created_at,
        _name(order.actor),
        order_progress.order_outcome(order),
        reverse("my-report", args=[order.key]) if has_report else "",
    )


def of_change(job: Job) -> PlanHistoryEntry:
    """A change from before there were orders."""
    return PlanHistoryEntry(
        order_texts.plan_name(job),
        reverse("my-change", args=[job.key]),
        job.price_minor or 0,
        job.currency,
        None,
        0,
        job.created_at,
        _name(job.actor),
        order_texts.change_outcome(job),
        "",
    )


def _name(person: object) -> str:
    named = getattr(person, "get_full_name", None)
    return named() if named is not None else ""
