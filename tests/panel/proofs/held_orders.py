"""Orders whose forecast was measured, without the measuring."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from panel.models import Intent, Order, OrderState, Proof
from tests import make
from tests.panel.proofs.results import RESULT, ready

AT = datetime(2026, 3, 1, tzinfo=UTC)
OWN: dict[str, Any] = {
    "kind": "own_traffic",
    "technology": "lvmcache",
    "hit_rate_low": 0.6,
    "hit_rate": 0.7,
    "hit_rate_high": 0.8,
    "read_ms_low": 1.5,
    "read_ms_high": 3.0,
    "observed_seconds": 12 * 86_400,
    "inputs": {"past": {"orders": 0, "within": 0, "widened": 1.0}},
}


def held_order(measured: float, *, days: int = 0, **expected: Any) -> Proof:
    """An order of a first cache, with what was forecast and the share of reads from SSD then."""
    order = Order.objects.create(
        customer=make.customer("Acme"),
        volume=make.volume(label="web12 disk"),
        intent=Intent.UPGRADE,
        state=OrderState.COMPLETED,
        currency="EUR",
        price_minor=490,
        charge_minor=0,
        next_invoice_minor=490,
        next_invoice_at=AT,
        ended_at=AT + timedelta(days=days),
        expected={**OWN, **expected},
    )
    proof = ready(order)
    proof.result = {**RESULT, "hit_rate_after": measured}
    proof.save(update_fields=["result"])
    return proof
