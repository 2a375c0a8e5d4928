"""State transitions of a row, for every state machine of the project."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from django.db.models import Model, Q
from django.db.models.functions import Now

S = TypeVar("S", bound=str)


class IllegalTransition(Exception):
    """A transition that is not in the table: a mistake in the program."""


def transition(
    row: Model,
    from_: S,
    to: S,
    allowed: Mapping[S, Collection[S]],
    condition: Q | None = None,
    *,
    reads_again: bool = True,
    **fields: Any,
) -> bool:
    """Set `row.state` to `to`, and `fields`, in one UPDATE that names the state it comes from and
    `condition`: of two processes that try at once, one succeeds.

    False, and nothing changes, where the row is not in `from_` (any more) or `condition` does not
    hold. A state from which `allowed` leads nowhere is an end: `ended_at` becomes the database's
    time. `row` is then read again; with `reads_again` False only its state changes. Raises
    `IllegalTransition`.
    """
    if to not in allowed.get(from_, ()):
        raise IllegalTransition(f"{row._meta.model_name} {row.pk}: {from_} -> {to}")
    if to not in allowed:
        fields["ended_at"] = Now()
    rows = type(row)._default_manager.filter(condition or Q(), pk=row.pk, state=from_)
    if not rows.update(state=to, **fields):
        return False
    if reads_again:
        row.refresh_from_db()
    else:
        row.state = to  # type: ignore[attr-defined]
    return True
