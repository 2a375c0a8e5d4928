"""The one loop that sends outgoing messages. Each kind of message is a `DeliveryKind`: what is due,
how one is sent, and how long it waits between tries. `delivery_queue` stores what became of each.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from typing import ClassVar, Final, Generic, TypeVar

from django.db import InterfaceError, OperationalError
from django.db.models import QuerySet

from jobs import notify_workers
from panel.deliveries import delivery_queue
from panel.deliveries.failure_words import failure_words
from panel.deliveries.http_post import Answer, Forbidden, NoResponse
from panel.models.outgoing import Outgoing

log = logging.getLogger(__name__)

AT_ONCE: Final = 100
TRY_SECONDS: Final = 10
GONE: Final = 410
"""The status by which a receiver asks for nothing more."""
INTERNAL: Final = "The panel itself failed with this message. See the worker's log."
Row = TypeVar("Row", bound=Outgoing)


class NotTaken(Exception):
    """The receiver did not take a message. `status` is that of its answer, None without one;
    `pause_seconds` is the pause that it asks for, None where it asks for none."""

    def __init__(
        self, reason: str, status: int | None = None, pause_seconds: float | None = None
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.pause_seconds = pause_seconds


class DeliveryKind(Generic[Row]):
    """One kind of outgoing message. `task` is the Celery task that sends it, `senders` how many
    workers do so at the same time, `pauses` the seconds after each failed try."""

    task: ClassVar[str]
    senders: ClassVar[int] = 2
    pauses: ClassVar[Sequence[float]]

    def due(self) -> QuerySet[Row]:
        """The messages whose time has come, in order."""
        raise NotImplementedError

    def receiver(self, row: Row) -> str:
        """What an error calls the other side."""
        return "receiver"

    def reason_to_drop(self, row: Row) -> str:
        """Why it need not be sent any more; "" where it must be."""
        return ""

    def send(self, row: Row) -> Answer | None:
        """Send it, now; the answer, None for a mail. Raises `NoResponse`, `Forbidden`, `OSError`,
        or `ValueError` for an address or a secret that cannot be used."""
        raise NotImplementedError

    def accept(self, row: Row, answer: Answer | None) -> None:
        """Record what the answer says; raises `NotTaken`."""
        if answer is not None and not answer.is_success:
            reason = f"The {self.receiver(row)} answered with {answer.status}."
            raise NotTaken(reason, answer.status, delivery_queue.pause_asked(answer))
        delivery_queue.delivered(row, None if answer is None else answer.status)

    def pause_seconds(self, row: Row, failure: NotTaken) -> float | None:
        """The pause before the next try; None gives the message up."""
        return delivery_queue.wait_seconds(
            row.attempts, self.pauses, chance(), failure.pause_seconds
        )

    def after_failure(self, row: Row, failure: NotTaken) -> bool:
        """What else a failure means: called after each that is not the panel's own. Returns whether
        to send the next message now."""
        return True


def deliver_due(kind: DeliveryKind[Row]) -> int:
    """Try each message that is due, at most `AT_ONCE`; how many were tried."""
    with delivery_queue.turn(kind.task, kind.senders) as is_ours:
        if not is_ours:
            return 0
        for tried in range(AT_ONCE):
            row = delivery_queue.claim(kind.due())
            if row is None:
                return tried
            if not _try(kind, row):
                return tried + 1
    notify_workers.send(kind.task)
    return AT_ONCE


def chance() -> float:
    """From 0 to 1."""
    return random.random()  # noqa: S311 - spreads the tries, guards nothing


def _try(kind: DeliveryKind[Row], row: Row) -> bool:
    """Whether to go on with the next message."""
    if reason := kind.reason_to_drop(row):
        delivery_queue.given_up(row, None, reason)
        return True
    try:
        kind.accept(row, _answer(kind, row))
    except NotTaken as refusal:
        _retry(kind, row, refusal)
        return kind.after_failure(row, refusal)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # A defect in one message must not hold up all others, and is no failure of the receiver.
        log.exception("%s %s", type(row).__name__, row.pk)
        _retry(kind, row, NotTaken(INTERNAL))
    return True


def _retry(kind: DeliveryKind[Row], row: Row, failure: NotTaken) -> None:
    """Have it tried again after its pause, or give it up."""
    pause = kind.pause_seconds(row, failure)
    if pause is None:
        log.error("%s %s was given up: %s", type(row).__name__, row.pk, failure)
        delivery_queue.given_up(row, failure.status, str(failure))
    else:
        log.warning("%s %s was not taken: %s", type(row).__name__, row.pk, failure)
        delivery_queue.later(row, failure.status, str(failure), pause)


def _answer(kind: DeliveryKind[Row], row: Row) -> Answer | None:
    try:
        return kind.send(row)
    except (NoResponse, Forbidden, OSError, ValueError) as error:  # smtplib's are OSErrors
        raise NotTaken(failure_words(error, kind.receiver(row))) from error
