"""The life of a message: claimed by one sender, delivered, tried again, or given up. The same for
every kind of message (`panel.models.outgoing.Outgoing`).

If a sender dies after the receiver accepted a message but before that is recorded, the message is
sent again under the same id: the receiver can recognise it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Final, TypeVar

from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from panel.deliveries.http_post import Answer
from panel.models.outgoing import Outgoing

LEASE: Final = timedelta(seconds=60)
"""Longer than an attempt: a message whose sender died is due again after it."""
JITTER: Final = 0.2
TOO_MANY: Final = 429
LATER: Final = (TOO_MANY, 503)
"""With these the receiver may say when to retry (Retry-After), within an hour."""
SOONEST_SECONDS, LATEST_SECONDS = 1, 3600
HELD: Final = "Held back after a restore: it may have been sent since the backup."
Kind = TypeVar("Kind", bound=Outgoing)


def claim(due: QuerySet[Kind]) -> Kind | None:
    """Claim the first due message for one sender: it is due again only after `LEASE`."""
    with transaction.atomic():
        row = due.select_for_update(skip_locked=True, of=("self",)).first()
        if row is None:
            return None
        taken = type(row)._default_manager.filter(pk=row.pk)
        end = Now() + LEASE
        taken.update(next_at=end, held_until=end, attempts=F("attempts") + 1)
        row.refresh_from_db()
    return row


@contextmanager
def turn(name: str, senders: int) -> Iterator[bool]:
    """Whether one more sender of that name may run now, until the end of the block. The limit keeps
    a slow receiver from occupying all workers."""
    mine = None
    with connection.cursor() as cursor:
        for each in range(1, senders + 1):
            cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s), %s)", [name, each])
            if cursor.fetchone()[0]:
                mine = each
                break
    try:
        yield mine is not None
    finally:
        if mine is not None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtext(%s), %s)", [name, mine])


def delivered(row: Outgoing, status: int | None = None) -> None:
    """Record the delivery."""
    _end(row, status, "", delivered_at=Now())


def given_up(row: Outgoing, status: int | None, error: str) -> None:
    """Give the message up."""
    _end(row, status, error, given_up_at=Now())


def later(row: Outgoing, status: int | None, error: str, seconds: float) -> None:
    """Record a failed attempt; the message is tried again in `seconds`."""
    _end(row, status, error, next_at=Now() + timedelta(seconds=seconds))


def again(row: Outgoing) -> None:
    """Send the message again, even if it was delivered or given up: under the same id, so that the
    receiver can recognise it. Its attempts are counted anew."""
    type(row)._default_manager.filter(pk=row.pk).update(
        delivered_at=None, given_up_at=None, attempts=0, next_at=Now()
    )


def hold_back(due: QuerySet[Kind]) -> None:
    """Give these up: after a restore from a backup it is unknown whether they have been sent since.
    `again` sends one anyway."""
    due.order_by().update(given_up_at=Now(), last_error=HELD)


def pause_asked(answer: Answer) -> float | None:
    """The pause in seconds that the receiver asks for; None where it asks for none."""
    if answer.status not in LATER or answer.retry_after_seconds is None:
        return None
    return min(max(answer.retry_after_seconds, SOONEST_SECONDS), LATEST_SECONDS)


def wait_seconds(
    attempts: int, pauses: Sequence[float], chance: float, asked: float | None = None
) -> float | None:
    """The pause in seconds after attempt number `attempts`, None for no more: what the receiver
    `asked` for, or the pause of that attempt. `chance` from 0 to 1 spreads the attempts, so that
    messages that failed together are not retried together."""
    if attempts > len(pauses):
        return None
    pause = pauses[max(attempts, 1) - 1] if asked is None else asked
    return pause * (1 + JITTER * chance)


def _end(row: Outgoing, status: int | None, error: str, **fields: object) -> None:
    undelivered = type(row)._default_manager.filter(pk=row.pk, delivered_at=None)
    undelivered.update(held_until=None, last_status=status, last_error=error[:300], **fields)
