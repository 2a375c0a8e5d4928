"""The database's clock: the only one used to compare leases, due times, sample times, and what
changed since."""

from __future__ import annotations

from datetime import datetime
from typing import cast

import pgtrigger
from django.db import connection
from django.db.models import DateTimeField, Func


class ClockNow(Func):
    """`database_now` as part of a query."""

    function = "clock_timestamp"
    arity = 0
    output_field = DateTimeField()


def database_now() -> datetime:
    """The time on the database server, also inside a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cast("datetime", cursor.fetchone()[0])


def touched(name: str, *passed_over: str) -> pgtrigger.Trigger:
    """Keeps `updated_at` true, whichever way a row is written; changes of the columns
    `passed_over` are none."""
    return pgtrigger.Trigger(
        name=name,
        operation=pgtrigger.Update,
        when=pgtrigger.Before,
        condition=pgtrigger.AnyChange(exclude=["updated_at", *passed_over]),
        func="NEW.updated_at = clock_timestamp(); RETURN NEW;",
    )
