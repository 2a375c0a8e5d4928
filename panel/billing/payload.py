"""The contents of messages: small, because the API has the details. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from panel.models import Order, UsageLine
from storage import currency
from storage.models import CachePlan

Json = dict[str, Any]


def message(kind: str, at: datetime, data: Json) -> Json:
    """The envelope of Standard Webhooks."""
    return {"type": kind, "timestamp": iso(at), "data": data}


def order_json(order: Order) -> Json:
    """An order, without host and layout of its volume. Amounts are minor units."""
    return {
        "order": order.key,
        "intent": order.intent,
        "customer": order.customer.key,
        "customer_external_id": order.customer.external_id,
        "volume": order.volume.key,
        "volume_external_id": order.volume.external_id,
        "from_plan": plan_json(order.from_plan),
        "to_plan": plan_json(order.to_plan),
        **currency.with_digits(order.currency),
        "price_minor": order.price_minor,
        "charge_minor": order.charge_minor,
        "credit_minor": order.credit_minor,
        "next_invoice_minor": order.next_invoice_minor,
        "next_invoice_at": iso(order.next_invoice_at),
        "answer_by": iso(order.authorise_by) if order.authorise_by is not None else None,
        "reason_code": order.reason_code,
        "reason": order.reason,
    }


def line_json(line: UsageLine) -> Json:
    """A line for an invoice; a credit is subtracted."""
    return {
        "id": line.name,
        "kind": line.kind,
        "customer": line.customer.key,
        "customer_external_id": line.customer.external_id,
        "volume": line.volume.key,
        "volume_external_id": line.volume.external_id,
        "order": line.order.key if line.order is not None else None,
        "description": line.description,
        **currency.with_digits(line.currency),
        "amount_minor": line.amount_minor,
        "period_start": iso(line.period_start),
        "period_end": iso(line.period_end),
    }


def plan_json(plan: CachePlan | None) -> Json | None:
    """A plan by key and name; None for no cache."""
    return {"key": plan.key, "name": plan.name} if plan is not None else None


def iso(at: datetime) -> str:
    """UTC, in whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
