"""Hosts with SSDs, plans, and volumes that have them, for the tests of the owner's pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from panel.models import Intent, Order, OrderState
from storage.byte_sizes import GIB
from storage.models import CachePlan, Host, Volume
from storage.models.outline import HostOutline
from tests import make

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def plan(name: str, minor: int, currency: str = "EUR", gib: int = 8) -> CachePlan:
    fields = {"size_bytes": gib * GIB, "price_minor": minor, "currency": currency}
    return CachePlan.objects.create(name=name, **fields)


def host(
    name: str, total_gib: int = 100, free_gib: int = 60, *, days: float = 100, **fields: Any
) -> Host:
    """A host with an SSD that has been here for so many days."""
    host = make.host(name=name, **fields)
    Host.objects.filter(pk=host.pk).update(created_at=NOW - timedelta(days=days))
    sizes = {"fast_total_bytes": total_gib * GIB, "fast_free_bytes": free_gib * GIB}
    HostOutline.objects.update_or_create(host=host, defaults=sizes)
    return host


def sold(on: Host, of: CachePlan, **order: Any) -> Volume:
    """A volume with that plan, by an order where fields of one are given."""
    volume = make.volume(customer=make.customer(), cache_plan=of)
    make.placement(volume, on, cache_technology="lvmcache", cache_bytes=of.size_bytes)
    if order:
        fields = {
            "intent": Intent.UPGRADE,
            "state": OrderState.COMPLETED,
            "currency": of.currency,
            "price_minor": of.price_minor,
            "charge_minor": 0,
            "next_invoice_minor": 0,
            "next_invoice_at": NOW,
            "ended_at": timezone.now(),
            **order,
        }
        Order.objects.create(customer=volume.customer, volume=volume, to_plan=of, **fields)
    return volume
