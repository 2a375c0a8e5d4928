"""Sends what is due to webhooks: signed, in order, and again after a failure.

A receiver that fails is left alone for a while, five minutes at most, so that thousands of messages
do not each find out that it is down. The first one it takes again lets all others go.
"""

from __future__ import annotations

import json
import logging
import random
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db.models import F, Q
from django.db.models.functions import Now

from panel.accounts.authentication.second_factor import unseal
from panel.deliveries import delivery_queue, http_post
from panel.deliveries.http_post import Answer, Forbidden, NoResponse
from panel.deliveries.signature import sign
from panel.deliveries.webhooks import webhook_fanout
from panel.deliveries.webhooks.event_body import Json, event_json
from panel.models import Webhook, WebhookDelivery
from storage.database_clock import database_now

log = logging.getLogger(__name__)

SENDERS: Final = 4
AT_ONCE: Final = 100
TRY_SECONDS: Final = 10
PAUSES: Final = (5, 15, 30, 60, 120, 300, 600, 1800, *(3600,) * 48)
"""Seconds after each failed attempt, until `webhook_fanout.GIVEN_UP_AFTER`."""
RESTS: Final = (5, 10, 20, 40, 80, 160, *(300,) * 1000)
"""Pause in seconds of a receiver, by its number of failures in a row."""
GONE_STATUS: Final = 410
TEST: Final = "webhook.test"
INTERNAL: Final = "The panel itself failed with this message. See the worker's log."


def send_due_events() -> int:
    """Try each due message, at most `AT_ONCE`; returns the number of attempts."""
    with delivery_queue.turn(webhook_fanout.TASK, SENDERS) as is_ours:
        if not is_ours:
            return 0
        for tried in range(AT_ONCE):
            row = delivery_queue.claim(WebhookDelivery.objects.due())
            if row is None:
                return tried
            _try(row)
    webhook_fanout.announce_events()
    return AT_ONCE


def _try(row: WebhookDelivery) -> None:
    status: int | None = None
    asked: float | None = None
    try:
        answer = send_event(row)
        status, asked = answer.status, delivery_queue.pause_asked(answer)
        error = "" if 200 <= status < 300 else f"The receiver answered with {status}."
    except (NoResponse, Forbidden, ValueError) as failure:  # ValueError: no key opens the address
        error = str(failure)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # An unexpected error of one message must not block the others.
        log.exception("webhook message %s", row.key)
        error = INTERNAL
    if not error:
        delivery_queue.delivered(row, status)
        _let_all_go(row.webhook)
        return
    log.warning("event %s to %s was not taken: %s", row.name, row.webhook, error)
    if status == GONE_STATUS:
        delivery_queue.given_up(row, status, webhook_fanout.GONE)
        Webhook.objects.filter(pk=row.webhook_id).update(disabled_at=Now())
        webhook_fanout.give_up_waiting(row.webhook, webhook_fanout.GONE)
        return
    _retry(row, status, error, asked)
    if status is None or status >= 500 or status == delivery_queue.TOO_MANY:
        _leave_alone(row.webhook_id, asked)


def _retry(row: WebhookDelivery, status: int | None, error: str, asked: float | None) -> None:
    pause = delivery_queue.wait_seconds(row.attempts, PAUSES, _chance(), asked)
    is_old = database_now() - row.tried_since >= webhook_fanout.GIVEN_UP_AFTER
    if pause is None or is_old:
        delivery_queue.given_up(row, status, error)
    else:
        delivery_queue.later(row, status, error, pause)


def _leave_alone(webhook: int, asked: float | None) -> None:
    Webhook.objects.filter(pk=webhook).update(failures=F("failures") + 1)
    failures = Webhook.objects.values_list("failures", flat=True).get(pk=webhook)
    rests = RESTS if asked is None else (asked,) * len(RESTS)
    seconds = delivery_queue.wait_seconds(min(failures, len(rests)), rests, _chance()) or rests[-1]
    rest = Now() + timedelta(seconds=seconds)
    Webhook.objects.filter(pk=webhook).update(rests_until=rest)


def _let_all_go(webhook: Webhook) -> None:
    recovered = Webhook.objects.filter(pk=webhook.pk, failures__gt=0)
    if recovered.update(failures=0, rests_until=None):
        unsent = WebhookDelivery.objects.unsent().filter(webhook=webhook, next_at__gt=Now())
        # What another sender holds may be on its way.
        unheld = unsent.filter(Q(held_until=None) | Q(held_until__lte=Now()))
        unheld.update(next_at=Now())


def _chance() -> float:
    return random.random()  # noqa: S311 - spreads the tries, guards nothing


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
