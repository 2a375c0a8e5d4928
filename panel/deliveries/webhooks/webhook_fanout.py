"""Turns the list of events into messages: one for each webhook that wants the event."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models.functions import Now

from jobs import notify_workers
from panel.models import Webhook, WebhookDelivery
from storage import event_list
from storage.models import Event

TASK: Final = "panel.tasks.send_webhooks"
AT_ONCE: Final = 1000
GIVEN_UP_AFTER: Final = timedelta(hours=25)
"""A receiver that was down for a day still gets every event."""
TOO_OLD: Final = "Not accepted for 25 hours."
GONE: Final = "The receiver answered that it is gone (410). The webhook is disabled."
OFF: Final = "The webhook was switched off."


def fan_out() -> int:
    """Write the messages of all events that have none yet; returns their number. Safe to repeat and
    to interrupt: a webhook's position moves in the transaction of its messages."""
    event_list.give_places()
    keys = Webhook.objects.in_use().values_list("pk", flat=True)
    return sum(_fan_out(key) for key in list(keys))


@transaction.atomic
def _fan_out(key: int) -> int:
    locked = Webhook.objects.in_use().select_for_update(skip_locked=True)
    webhook = locked.filter(pk=key).first()
    if webhook is None:
        return 0
    events = list(Event.objects.listed().filter(position__gt=webhook.position)[:AT_ONCE])
    if not events:
        return 0
    rows = [
        WebhookDelivery(webhook=webhook, event=each, subject=each.subject)
        for each in events
        if webhook.wants(each)
    ]
    WebhookDelivery.objects.bulk_create(rows, ignore_conflicts=True)
    Webhook.objects.filter(pk=key).update(position=events[-1].position)
    return len(rows)


def write_test(webhook: Webhook) -> WebhookDelivery:
    """A test message, sent at once."""
    row = WebhookDelivery.objects.create(webhook=webhook, subject=f"webhook:{webhook.key}")
    transaction.on_commit(announce_events, robust=True)
    return row


def announce_events() -> None:
    """Have due messages sent; beat does so, too."""
    notify_workers.send(TASK)


def give_up_waiting(webhook: Webhook, why: str) -> None:
    """Give up all unsent messages of this webhook."""
    waiting = WebhookDelivery.objects.unsent().filter(webhook=webhook)
    waiting.update(given_up_at=Now(), last_error=why)


def prune_webhook_messages(now: datetime) -> None:
    """Give up messages that were not accepted for so long, and delete tests: messages of events are
    deleted with their events."""
    old = now - GIVEN_UP_AFTER
    WebhookDelivery.objects.unsent().filter(tried_since__lt=old, next_at__lt=now).update(
        given_up_at=Now(), last_error=TOO_OLD
    )
    WebhookDelivery.objects.filter(event=None, created_at__lt=now - event_list.KEPT).delete()
