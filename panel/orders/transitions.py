"""How an order's state may change, and the only code that changes it.

Every move is one UPDATE that names the state it comes from: of two who try at once, one does.
"""

from __future__ import annotations

from typing import Any, Final

from django.db.models.functions import Now

from panel.models import Order, OrderState

MOVES: Final = {
    OrderState.SCHEDULED: (
        OrderState.RUNNING,
        OrderState.CANCELLED,
        OrderState.FAILED,
    ),
    OrderState.AUTHORISING: (
        OrderState.PENDING,
        OrderState.RUNNING,
        OrderState.REFUSED,
        OrderState.CANCELLED,
        OrderState.FAILED,
    ),
    OrderState.PENDING: (
        OrderState.RUNNING,
        OrderState.REFUSED,
        OrderState.CANCELLED,
        OrderState.FAILED,
    ),
    OrderState.RUNNING: (OrderState.COMPLETED, OrderState.FAILED),
}
"""By the state they come from; from the others there is no way on."""

ENDS: Final = (
    OrderState.COMPLETED,
    OrderState.FAILED,
    OrderState.REFUSED,
    OrderState.CANCELLED,
)


class IllegalMove(Exception):
    """A move that no order may ever make: a mistake in the program."""


def move(order: Order, from_: OrderState, to: OrderState, **fields: Any) -> bool:
    """Move `order` and set `fields`, or return False and change nothing where it was not in
    `from_`. At an end `ended_at` is now, by the database's clock."""
    if to not in MOVES.get(from_, ()):
        raise IllegalMove(f"{from_} -> {to}")
    if to in ENDS:
        fields["ended_at"] = Now()
    if not Order.objects.filter(pk=order.pk, state=from_).update(state=to, **fields):
        return False
    order.refresh_from_db()
    return True
