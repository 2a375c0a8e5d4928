"""Who sends a message, and what becomes of it: claimed by one sender, delivered, tried again, or
given up. The same for every kind of message (`panel.models.outgoing.Outgoing`).

A sender that dies between the other side's yes and our note of it sends once more, under the same
name: the other side can tell.
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
"""Longer than a try lasts: a message whose sender died is due again then."""
JITTER: Final = 0.2
TOO_MANY: Final = 429
LATER: Final = (TOO_MANY, 503)
"""With these the other side may say when to come again (Retry-After), within an hour."""
SOONEST_SECONDS, LATEST_SECONDS = 1, 3600
HELD: Final = "Held back after a restore: it may have been sent since the backup."
Kind = TypeVar("Kind", bound=Outgoing)


def claim(due: QuerySet[Kind]) -> Kind | None:
    """The first of those that are due, for one sender: it is due again only after `LEASE`."""
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
    """Whether there may be one more sender of that name now; its turn lasts until the end of the
    block. Where the other side is slow, not all workers wait for it."""
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
    """It was taken."""
    _end(row, status, "", delivered_at=Now())


def given_up(row: Outgoing, status: int | None, error: str) -> None:
    """It is tried no more."""
    _end(row, status, error, given_up_at=Now())


def later(row: Outgoing, status: int | None, error: str, seconds: float) -> None:
    """It was not taken, and is tried again."""
    _end(row, status, error, next_at=Now() + timedelta(seconds=seconds))


def again(row: Outgoing) -> None:
    """Send it once more, also where it was delivered or given up: under the same name, so that who
    has it knows it. Its tries are counted anew."""
    type(row)._default_manager.filter(pk=row.pk).update(
        delivered_at=None, given_up_at=None, attempts=0, next_at=Now()
    )


def hold_back(due: QuerySet[Kind]) -> None:
    """Try these no more: of a panel that was restored from a backup nobody knows whether they were
    sent since. `again` sends one all the same."""
    due.order_by().update(given_up_at=Now(), last_error=HELD)


def pause_asked(answer: Answer) -> float | None:
    """How many seconds the other side asks to be left alone; None where it does not."""
    if answer.status not in LATER or answer.retry_after_seconds is None:
        return None
    return min(max(answer.retry_after_seconds, SOONEST_SECONDS), LATEST_SECONDS)


def wait_seconds(
    attempts: int, pauses: Sequence[float], chance: float, asked: float | None = None
) -> float | None:
    """How long to wait after the `attempts`-th try, None for no more: what the other side `asked`
    for, or that try's pause. `chance` from 0 to 1 spreads the tries, so that what failed together
    does not come back together."""
    if attempts > len(pauses):
        return None
    pause = pauses[max(attempts, 1) - 1] if asked is None else asked
    return pause * (1 + JITTER * chance)


def _end(row: Outgoing, status: int | None, error: str, **fields: object) -> None:
    undelivered = type(row)._default_manager.filter(pk=row.pk, delivered_at=None)
    undelivered.update(held_until=None, last_status=status, last_error=error[:300], **fields)
