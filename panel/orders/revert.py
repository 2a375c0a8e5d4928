"""Taking an order back."""

from __future__ import annotations

from typing import Any

from panel.models import Order, User
from panel.orders.asking import Ask
from panel.orders.evaluate import Weighed
from panel.orders.place import preview, take


def revert(order: Order, *, actor: User | None, **asked: Any) -> Order:
    """The order that brings the volume back to the plan it had before `order`, at once and at the
    price it had; `asked` are more fields of `Ask`. Raises `OrderRefused`."""
    return take(_ask(order, actor, asked))


def preview_revert(order: Order, actor: User | None) -> Weighed:
    """What that would be and cost, and what is in its way."""
    return preview(_ask(order, actor, {}))


def _ask(order: Order, actor: User | None, asked: dict[str, Any]) -> Ask:
    return Ask(order.volume, order.plan_back, actor, when="now", takes_back=order, **asked)
