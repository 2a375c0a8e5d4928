"""Turns events of orders into messages and usage lines, in the same transaction."""

from __future__ import annotations

from typing import Any

from panel.billing import outbox, usage_lines
from panel.billing.payload import Json, order_json
from panel.models import MessageType, Order, OrderState
from panel.orders import events


def connect_orders() -> None:
    """Listen to orders; called once, at start."""
    events.placed.connect(on_placed, dispatch_uid="billing-placed")
    events.completed.connect(on_completed, dispatch_uid="billing-completed")
    events.failed.connect(on_failed, dispatch_uid="billing-failed")
    events.refused.connect(on_refused, dispatch_uid="billing-refused")
    events.cancelled.connect(on_cancelled, dispatch_uid="billing-cancelled")
    events.proof_ready.connect(on_proof_ready, dispatch_uid="billing-proof-ready")


def on_placed(order: Order, **_: Any) -> None:
    """Ask, where the order waits for an answer."""
    if order.state == OrderState.AUTHORISING:
        _notify(MessageType.AUTHORISE, order)


def on_completed(order: Order, **_: Any) -> None:
    """Tell, and write what it costs."""
    _notify(MessageType.COMPLETED, order)
    if outbox.is_on():
        usage_lines.write_of(order)


def on_failed(order: Order, **_: Any) -> None:
    """Tell: nothing is charged."""
    _notify(MessageType.FAILED, order)


def on_refused(order: Order, **_: Any) -> None:
    """Notify the billing system, even if it refused: its answer may have come too late."""
    _notify(MessageType.REFUSED, order)


def on_cancelled(order: Order, **_: Any) -> None:
    """Notify the billing system: it can release what it authorised."""
    _notify(MessageType.CANCELLED, order)


def on_proof_ready(order: Order, **_: Any) -> None:
    """Tell that the order's gain was measured, and in one word with what result."""
    proof = getattr(order, "proof", None)
    _notify(MessageType.PROOF, order, {"verdict": proof.verdict if proof is not None else ""})


def _notify(kind: MessageType, order: Order, more: Json | None = None) -> None:
    outbox.write(kind, order.key, {**order_json(order), **(more or {})}, order)
