"""The order of events: a list that can be read on from any place without missing a row.

An id is given when a row is written, but a row is seen only when its transaction is committed, and
transactions do not commit in the order in which they began. So a reader who went on "after id 7"
would miss a row 6 that is committed late. Instead each row gets its place once it is committed, by
one numberer at a time: a place that is seen has no unseen one before it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Max

from storage import row_security
from storage.models import Event

KEPT: Final = timedelta(days=30)
AT_ONCE: Final = 10_000
LOCK: Final = "storage.event_list"
NUMBER: Final = """
    WITH fresh AS MATERIALIZED (
        SELECT id FROM storage_event WHERE position IS NULL ORDER BY id LIMIT %s
    ), placed AS MATERIALIZED (
        SELECT id, nextval('storage_event_places') AS position FROM fresh
    )
    UPDATE storage_event SET position = placed.position
    FROM placed WHERE storage_event.id = placed.id
"""


@row_security.beyond()
def give_places() -> int:
    """Give each committed event without a position the next one, in the order in which they were
    written. Returns how many. Every reader of the list calls it first. 0 while another process
    does it: this reader sees the new events a moment later."""
    if not Event.objects.filter(position=None).exists():
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext(%s))", [LOCK])
        if not cursor.fetchone()[0]:
            return 0
        # A statement of its own: it sees what was committed until the lock was ours.
        cursor.execute(NUMBER, [AT_ONCE])
        return int(cursor.rowcount)


@row_security.beyond()
def head() -> int:
    """The place behind the newest event, 0 for none. What is read afterwards has all up to it."""
    give_places()
    return Event.objects.aggregate(last=Max("position"))["last"] or 0


def given_out() -> int:
    """The last place that was ever given, also to events that are forgotten by now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM storage_event_places")
        return int(cursor.fetchone()[0])


def prune_events(now: datetime) -> int:
    """Forget what is older than `KEPT`."""
    return Event.objects.filter(at__lt=now - KEPT, position__isnull=False).delete()[0]
