"""The messages to the billing system, and what its answers to questions do.

A question whose answer was lost is repeated under the same name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from panel.billing import outbox
from panel.billing.answer import BadAnswer, Decision, decision_of
from panel.deliveries import delivery_queue
from panel.deliveries.delivery_loop import (
    GONE,
    TRY_SECONDS,
    DeliveryKind,
    NotTaken,
    chance,
    deliver_due,
)
from panel.deliveries.http_post import Answer, Forbidden, post
from panel.deliveries.signature import sign
from panel.models import Endpoint, Message, MessageType
from panel.orders import authorisation
from storage.database_clock import database_now

Send = Callable[[Message], Answer]
SECONDS: Final = (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
"""The intervals of Standard Webhooks, 5 seconds to a day; then a message is given up."""
QUESTION_SECONDS: Final = 30
"""A customer waits for the answer to a question, so it is repeated without end."""
SWITCHED_OFF: Final = "The billing system answered that it is gone (410). Sending is disabled."


def _posted(message: Message) -> Answer:
    if not settings.TIERCEL_BILLING_SECRETS:
        raise Forbidden("Set TIERCEL_BILLING_SECRETS: nothing is sent unsigned.")
    body = json.dumps(message.payload, separators=(",", ":")).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Tiercel",
        **sign(message.name, body, settings.TIERCEL_BILLING_SECRETS, database_now()),
    }
    return post(
        settings.TIERCEL_BILLING_URL,
        body,
        headers,
        seconds=TRY_SECONDS,
        private_hosts=settings.TIERCEL_BILLING_PRIVATE_HOSTS,
    )


@dataclass(frozen=True)
class BillingDeliveryKind(DeliveryKind[Message]):
    """Messages to the billing system, and its answers to questions. While it does not answer at
    all, the other messages wait: each would only wait as long for no answer."""

    posted: Send
    task = outbox.TASK
    senders = outbox.SENDERS
    pauses = SECONDS

    def due(self) -> QuerySet[Message]:
        return Message.objects.due()

    def receiver(self, row: Message) -> str:
        return "billing system"

    def reason_to_drop(self, row: Message) -> str:
        return "The answer is no longer needed." if is_moot(row) else ""

    def send(self, row: Message) -> Answer:
        return self.posted(row)

    def accept(self, row: Message, answer: Answer | None) -> None:
        if answer is not None and answer.status == GONE:
            raise NotTaken(SWITCHED_OFF, GONE)
        # The answer and its effect: after any accident both are stored, or the question is asked
        # again.
        with transaction.atomic():
            if answer is not None and answer.is_success and row.type == MessageType.AUTHORISE:
                act(row.order, _decision(answer))
            super().accept(row, answer)

    def pause_seconds(self, row: Message, failure: NotTaken) -> float | None:
        is_question = row.type == MessageType.AUTHORISE
        return seconds_after(
            row.attempts, chance(), is_question=is_question, asked=failure.pause_seconds
        )

    def after_failure(self, row: Message, failure: NotTaken) -> bool:
        if failure.status == GONE:
            Endpoint.objects.filter(url=settings.TIERCEL_BILLING_URL).update(disabled_at=Now())
        return failure.status not in (None, GONE)


def send_due_messages(send: Send = _posted) -> int:
    """Try each message that is due, unless the billing system is switched off; how many were
    tried."""
    if not outbox.is_on() or outbox.endpoint().disabled_at is not None:
        return 0
    return deliver_due(BillingDeliveryKind(send))


def _decision(answer: Answer) -> Decision:
    try:
        return decision_of(answer.body)
    except BadAnswer as error:
        raise NotTaken(str(error), answer.status) from error


def is_moot(message: Message) -> bool:
    """Whether it asks what is decided already."""
    if message.type != MessageType.AUTHORISE or message.order is None:
        return False
    return message.order.state not in authorisation.ASKED


def act(order: Any, decision: Decision) -> bool:
    """Do as the billing system says; False where the order waits for no word any more."""
    if decision.word == "approve":
        return authorisation.approve(order)
    if decision.word == "refuse":
        return authorisation.refuse(order, decision.reason)
    return authorisation.hold_order(order)


def seconds_after(
    attempts: int, chance: float, *, is_question: bool = False, asked: float | None = None
) -> float | None:
    """How long to wait after the `attempts`-th attempt, None to give up;
    `delivery_queue.wait_seconds` says what `chance` and `asked` are."""
    if is_question:
        attempts, pauses = min(attempts, 2), (SECONDS[0], QUESTION_SECONDS)
        return delivery_queue.wait_seconds(attempts, pauses, chance, asked)
    return delivery_queue.wait_seconds(attempts, SECONDS, chance, asked)
