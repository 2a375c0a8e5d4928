"""Writes a notice for every recipient, in the transaction of its event."""

from __future__ import annotations

from django.db import transaction

from jobs import notify_workers
from panel.models import Mute, Notice, NoticeKind, Order
from panel.orders import events
from storage.models import Member

TASK = "panel.tasks.send_notices"


def listen() -> None:
    """From now on what happens to orders is told."""
    events.completed.connect(_done)
    events.failed.connect(_failed)
    events.refused.connect(_failed)
    events.proof_ready.connect(_proof)


def tell(order: Order, kind: NoticeKind) -> None:
    """Write the notices to the members of the order's customer who want this kind; those that are
    written already stay as they are."""
    deaf = Mute.objects.filter(kind=kind).values("user")
    people = Member.objects.filter(customer=order.customer_id, user__is_active=True)
    recipients = people.exclude(user__in=deaf).values_list("user", flat=True)
    rows = [Notice(order=order, user_id=pk, kind=kind) for pk in recipients]
    Notice.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        transaction.on_commit(_announce, robust=True)


def _announce() -> None:
    notify_workers.send(TASK)


def _done(*, order: Order, **given: object) -> None:
    tell(order, NoticeKind.DONE)


def _failed(*, order: Order, **given: object) -> None:
    tell(order, NoticeKind.FAILED)


def _proof(*, order: Order, **given: object) -> None:
    tell(order, NoticeKind.PROOF)
