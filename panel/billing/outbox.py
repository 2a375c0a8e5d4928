"""Messages to the billing system: one record for each message name, written in the transaction of
its event and sent by one sender at a time. `panel.billing.message_delivery` sends them."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from jobs import notify_workers
from panel.billing import payload
from panel.deliveries import delivery_queue
from panel.models import Endpoint, Message, MessageType, Order
from storage.database_clock import database_now

TASK = "panel.tasks.send_messages"
KEPT = timedelta(days=90)
SENDERS = 4
"""Messages sent in parallel."""


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
    announce_messages()


def announce_messages() -> None:
    """Have what is due sent once this transaction is committed; the sweep does it too."""
    transaction.on_commit(lambda: notify_workers.send(TASK), robust=True)


def endpoint() -> Endpoint:
    """The record of the address in the settings, made when it is first used."""
    return Endpoint.objects.get_or_create(url=settings.TIERCEL_BILLING_URL)[0]


def since() -> datetime:
    """Since when there has been a billing system, under whatever address."""
    return min(endpoint().created_at, *Endpoint.objects.values_list("created_at", flat=True))


def send_message_again(message: Message) -> None:
    """Send it once more, now."""
    delivery_queue.again(message)
    announce_messages()


def prune_billing_messages(now: datetime) -> None:
    """Delete messages delivered long ago, and questions given up long ago. Other messages that were
    given up stay, so that an admin can still send them."""
    Message.objects.filter(delivered_at__lt=now - KEPT).delete()
    Message.objects.filter(type=MessageType.AUTHORISE, given_up_at__lt=now - KEPT).delete()
