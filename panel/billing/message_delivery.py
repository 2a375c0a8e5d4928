"""Posts due messages to the billing system, and acts on its answers to questions.

Level-triggered: `send_due_messages` sends what the database says is due, from any caller. After a
lost answer, the question is repeated under the same id.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from panel.billing import outbox
from panel.billing.answer import BadAnswer, Decision, decision_of
from panel.deliveries import delivery_queue
from panel.deliveries.http_post import Answer, Forbidden, NoResponse, post
from panel.deliveries.signature import sign
from panel.models import Endpoint, Message, MessageType
from panel.orders import authorisation
from storage.database_clock import database_now

log = logging.getLogger(__name__)

TRY_SECONDS = 10
AT_ONCE = 100
GONE = 410
Send = Callable[[Message], Answer]


def send_due_messages(send: Send | None = None) -> int:
    """Try each message that is due, at most `AT_ONCE`; how many were tried. It stops at the first
    that gets no answer at all: the others would wait as long for the same nothing."""
    if not outbox.is_on() or outbox.endpoint().disabled_at is not None:
        return 0
    with delivery_queue.turn(outbox.TASK, outbox.SENDERS) as is_ours:
        return _send_due(send or _posted) if is_ours else 0


def _send_due(send: Send) -> int:
    for tried in range(AT_ONCE):
        message = outbox.claim_message()
        if message is None:
            return tried
        if not _try(message, send):
            return tried + 1
    outbox.announce_messages()
    return AT_ONCE


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


def _try(message: Message, send: Send) -> bool:
    """False where the billing system did not answer."""
    if is_moot(message):
        delivery_queue.given_up(message, None, "The answer is no longer needed.")
        return True
    try:
        answer = send(message)
    except (NoResponse, Forbidden) as error:
        _retry(message, None, str(error))
        return False
    if answer.status == GONE:
        Endpoint.objects.filter(url=settings.TIERCEL_BILLING_URL).update(disabled_at=Now())
        _retry(
            message,
            GONE,
            "The billing system answered 410 (gone). Sending is disabled.",
        )
        log.error("the billing system answered 410: sending is disabled")
        return False
    if not 200 <= answer.status < 300:
        refusal = f"The billing system answered with {answer.status}."
        _retry(message, answer.status, refusal, delivery_queue.pause_asked(answer))
        return True
    if message.type == MessageType.AUTHORISE:
        _judge(message, answer)
    else:
        delivery_queue.delivered(message, answer.status)
    return True


def is_moot(message: Message) -> bool:
    """Whether it asks what is decided already."""
    if message.type != MessageType.AUTHORISE or message.order is None:
        return False
    return message.order.state not in authorisation.ASKED


def _judge(message: Message, answer: Answer) -> None:
    try:
        decision = decision_of(answer.body)
    except BadAnswer as error:
        _retry(message, answer.status, str(error))
        return
    # Store the answer and act on it together: after a crash both are done, or the question is
    # repeated.
    with transaction.atomic():
        act(message.order, decision)
        delivery_queue.delivered(message, answer.status)


def act(order: Any, decision: Decision) -> bool:
    """Do as the billing system says; False where the order waits for no word any more."""
    if decision.word == "approve":
        return authorisation.approve(order)
    if decision.word == "refuse":
        return authorisation.refuse(order, decision.reason)
    return authorisation.hold_order(order)


def _retry(message: Message, status: int | None, error: str, asked: float | None = None) -> None:
    is_question = message.type == MessageType.AUTHORISE
    chance = random.random()  # noqa: S311 - spreads the tries, guards nothing
    seconds = seconds_after(message.attempts, chance, is_question=is_question, asked=asked)
    if seconds is None:
        delivery_queue.given_up(message, status, error)
        log.error("%s was given up after %s tries: %s", message.name, message.attempts, error)
    else:
        delivery_queue.later(message, status, error, seconds)


SECONDS = (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
"""The intervals of Standard Webhooks, 5 seconds to a day; then it is given up."""
QUESTION_SECONDS = 30
"""Interval of repeated questions, since a customer waits for the answer."""


def seconds_after(
    attempts: int, chance: float, *, is_question: bool = False, asked: float | None = None
) -> float | None:
    """How long to wait after the `attempts`-th attempt, None to give up;
    `delivery_queue.wait_seconds` says what `chance` and `asked` are."""
    if is_question:
        attempts, pauses = min(attempts, 2), (SECONDS[0], QUESTION_SECONDS)
        return delivery_queue.wait_seconds(attempts, pauses, chance, asked)
    return delivery_queue.wait_seconds(attempts, SECONDS, chance, asked)
