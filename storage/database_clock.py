"""The database's clock: the only one used to compare leases, due times and sample times."""

from __future__ import annotations

from datetime import datetime
from typing import cast

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
