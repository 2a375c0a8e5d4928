"""Case-insensitive search: every word must match one of the fields."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q


def every_word(words: Iterable[str], fields: Iterable[str]) -> Q:
    """Rows in which each word is part of some field, in any case; all rows for no words."""
    fields = tuple(fields)
    every = Q()
    for word in words:
        some = Q()
        for field in fields:
            some |= Q(**{f"{field}__icontains": word})
        every &= some
    return every
