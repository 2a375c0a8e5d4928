"""Conditions on many primary keys."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models.expressions import RawSQL


def any_of(keys: Iterable[int]) -> RawSQL:
    """For `pk__in=` and its like: the keys as one array. Django's own list has a parameter for each
    key, and compiling those of a page of 100 rows takes as long as PostgreSQL needs to find the
    rows."""
    return RawSQL("SELECT unnest(%s::bigint[])", [list(keys)])
