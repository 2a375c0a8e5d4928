"""The messages of webhooks: signed, in order, and again after a failure.

A receiver that fails rests for a while, five minutes at most, so that thousands of messages do not
each find out that it is down. The first message that it takes again makes all others due.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from panel.accounts.authentication.second_factor import unseal
from panel.deliveries import delivery_queue, http_post
from panel.deliveries.delivery_loop import GONE, TRY_SECONDS, DeliveryKind, NotTaken, chance
from panel.deliveries.http_post import Answer
from panel.deliveries.signature import sign
from panel.deliveries.webhooks import webhook_fanout
from panel.deliveries.webhooks.event_body import Json, event_json
from panel.models import Webhook, WebhookDelivery
from storage.database_clock import database_now

RESTS: Final = (5, 10, 20, 40, 80, 160, *(300,) * 1000)
"""Seconds for which a receiver rests, by how often in a row it failed."""
TEST: Final = "webhook.test"


class WebhookDeliveryKind(DeliveryKind[WebhookDelivery]):
    """Events to webhooks. A receiver that is gone (410) has its webhook disabled."""

    task = webhook_fanout.TASK
    senders = 4
    pauses = (5, 15, 30, 60, 120, 300, 600, 1800, *(3600,) * 48)
    """`webhook_fanout.GIVEN_UP_AFTER` ends them."""

    def due(self) -> QuerySet[WebhookDelivery]:
        return WebhookDelivery.objects.due()

    def send(self, row: WebhookDelivery) -> Answer:
        return send_event(row)

    def accept(self, row: WebhookDelivery, answer: Answer | None) -> None:
        if answer is not None and answer.status == GONE:
            raise NotTaken(webhook_fanout.GONE, GONE)
        super().accept(row, answer)
        _resume(row.webhook)

    def pause_seconds(self, row: WebhookDelivery, failure: NotTaken) -> float | None:
        is_old = database_now() - row.tried_since >= webhook_fanout.GIVEN_UP_AFTER
        if is_old or failure.status == GONE:
            return None
        return super().pause_seconds(row, failure)

    def after_failure(self, row: WebhookDelivery, failure: NotTaken) -> bool:
        status = failure.status
        if status == GONE:
            Webhook.objects.filter(pk=row.webhook_id).update(disabled_at=Now())
            webhook_fanout.give_up_waiting(row.webhook, webhook_fanout.GONE)
        elif status is None or status >= 500 or status == delivery_queue.TOO_MANY:
            _rest(row.webhook_id, failure.pause_seconds)
        return True


WEBHOOK_MESSAGES: Final = WebhookDeliveryKind()


def _rest(webhook: int, asked: float | None) -> None:
    Webhook.objects.filter(pk=webhook).update(failures=F("failures") + 1)
    failures = Webhook.objects.values_list("failures", flat=True).get(pk=webhook)
    rests = RESTS if asked is None else (asked,) * len(RESTS)
    seconds = delivery_queue.wait_seconds(min(failures, len(rests)), rests, chance()) or rests[-1]
    rest = Now() + timedelta(seconds=seconds)
    Webhook.objects.filter(pk=webhook).update(rests_until=rest)


def _resume(webhook: Webhook) -> None:
    recovered = Webhook.objects.filter(pk=webhook.pk, failures__gt=0)
    if recovered.update(failures=0, rests_until=None):
        unsent = WebhookDelivery.objects.unsent().filter(webhook=webhook, next_at__gt=Now())
        # What another sender holds may be on its way.
        unheld = unsent.filter(Q(held_until=None) | Q(held_until__lte=Now()))
        unheld.update(next_at=Now())


def send_event(row: WebhookDelivery) -> Answer:
    """Send one message now; returns the answer. Raises `NoResponse` and `Forbidden`."""
    at = database_now()
    body = json.dumps(body_of(row, at), separators=(",", ":")).encode()
    return http_post.post(
        unseal(row.webhook.url),
        body,
        {
            "Content-Type": "application/json",
            "User-Agent": "Tiercel",
            **sign(row.name, body, secrets_of(row.webhook, at), at),
        },
        seconds=TRY_SECONDS,
        private_hosts=settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS,
        purpose=http_post.WEBHOOKS,
    )


def body_of(row: WebhookDelivery, at: datetime) -> Json:
    """The body: the event, limited to what the webhook's customer may see."""
    if row.event is not None:
        return event_json(row.event, for_staff=row.webhook.customer_id is None)
    return {
        "id": row.name,
        "type": TEST,
        "version": 1,
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S.%fZ}",
        "subject": row.subject,
        "data": {"text": "This is a test message."},
    }


def secrets_of(webhook: Webhook, at: datetime) -> list[str]:
    """The signing secrets: the current one and, for a while, the former one."""
    secrets = [unseal(webhook.secret)]
    if webhook.former_secret and webhook.former_until is not None and webhook.former_until > at:
        secrets.append(unseal(webhook.former_secret))
    return secrets
