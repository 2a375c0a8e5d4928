"""Messages to the billing system: one record for each message name, written in the transaction of
its event and sent by one sender at a time. `panel.billing.message_delivery` sends them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from jobs import notify_workers
from panel.billing import payload
from panel.models import Endpoint, Message, MessageType, Order
from storage.database_clock import database_now

TASK = "panel.tasks.send_messages"
LEASE = timedelta(seconds=60)
"""Longer than a try lasts: a message whose sender died is due again then."""
KEPT = timedelta(days=90)
SENDERS = 4
"""So many at once: where the billing system is slow, the other workers go on with their work."""


def is_on() -> bool:
    """Whether there is a billing system."""
    return bool(settings.TIERCEL_BILLING_URL)


def write(kind: MessageType, about: str, data: payload.Json, order: Order | None = None) -> None:
    """One message about `about` (a key), sent after commit; the same one again is no second one.
    Nothing where there is no billing system."""
    if not is_on():
        return
    endpoint()
    name = f"msg_{kind.replace('.', '-')}_{about}"
    envelope = payload.message(kind, database_now(), data)
    row = Message(name=name, type=kind, order=order, payload=envelope)
    Message.objects.bulk_create([row], ignore_conflicts=True)
    announce()


def announce() -> None:
    """Have what is due sent once this transaction is committed; the sweep does it too."""
    transaction.on_commit(lambda: notify_workers.send(TASK), robust=True)


def endpoint() -> Endpoint:
    """The record of the address in the settings, made when it is first used."""
    return Endpoint.objects.get_or_create(url=settings.TIERCEL_BILLING_URL)[0]


def since() -> datetime:
    """Since when there has been a billing system, under whatever address."""
    return min(endpoint().created_at, *Endpoint.objects.values_list("created_at", flat=True))


def claim() -> Message | None:
    """The next message that is due, for one sender: it is due again only after `LEASE`."""
    with transaction.atomic():
        message = Message.objects.due().select_for_update(skip_locked=True, of=("self",)).first()
        if message is None:
            return None
        taken = Message.objects.filter(pk=message.pk)
        taken.update(next_at=Now() + LEASE, attempts=F("attempts") + 1)
        message.refresh_from_db()
    return message


@contextmanager
def turn() -> Iterator[bool]:
    """Whether there may be one more sender now; its turn lasts until the end of the block."""
    mine = None
    with connection.cursor() as cursor:
        for each in range(1, SENDERS + 1):
            cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s), %s)", [TASK, each])
            if cursor.fetchone()[0]:
                mine = each
                break
    try:
        yield mine is not None
    finally:
        if mine is not None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtext(%s), %s)", [TASK, mine])


def delivered(message: Message, status: int) -> None:
    """It was taken."""
    _end(message, status, "", delivered_at=Now())


def given_up(message: Message, status: int | None, error: str) -> None:
    """It is tried no more."""
    _end(message, status, error, given_up_at=Now())


def later(message: Message, status: int | None, error: str, seconds: float) -> None:
    """It was not taken, and is tried again."""
    _end(message, status, error, next_at=Now() + timedelta(seconds=seconds))


def again(message: Message) -> None:
    """Send it once more, also where it was delivered or given up: under the same name, so that a
    billing system that has it knows it. Its tries are counted anew."""
    Message.objects.filter(pk=message.pk).update(
        delivered_at=None, given_up_at=None, attempts=0, next_at=Now()
    )
    announce()


def prune(now: datetime) -> None:
    """Forget what was delivered long ago, and questions that nobody waited for any more. What else
    was given up stays: somebody may still want it."""
    Message.objects.filter(delivered_at__lt=now - KEPT).delete()
    Message.objects.filter(type=MessageType.AUTHORISE, given_up_at__lt=now - KEPT).delete()


def _end(message: Message, status: int | None, error: str, **fields: object) -> None:
    undelivered = Message.objects.filter(pk=message.pk, delivered_at=None)
    undelivered.update(last_status=status, last_error=error[:300], **fields)
