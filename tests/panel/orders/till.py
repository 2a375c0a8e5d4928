"""A shop that sells, for the tests of orders."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from jobs.models import Job, State
from panel.models import Mandate, Order, User
from panel.orders.completion import settle_order
from panel.orders.order_request import OrderRefused, OrderRequest
from panel.orders.place_order import place_order
from panel.orders.reversal import reversal_of
from storage.models import CachePlan, Customer, Volume
from tests import make
from tests.panel.portal.shop import Shop
from tests.scene import end


def buy(acme: Shop, plan: CachePlan | None, **fields: Any) -> Order:
    """The owner orders it, at once by default."""
    asked = {"volume": acme.volume, "plan": plan, "actor": acme.owner, "when": "now", **fields}
    return place_order(OrderRequest(**asked))


def take_back(order: Order, actor: User | None, **fields: Any) -> Order:
    """Order the reversal of the order."""
    return place_order(reversal_of(order, actor, **fields))


def finish(order: Order, state: State = State.SUCCEEDED, **fields: Any) -> None:
    """Let the order's job have ended, as the runner does, and the order with it. What the host says
    stays as it was: `has_cache` tells of a cache there."""
    assert order.job is not None
    job = Job.objects.get(pk=order.job.pk)
    end(job, state, **fields)
    if state == State.SUCCEEDED:
        Volume.objects.filter(pk=order.volume_id).update(cache_plan=order.to_plan)
    settle_order(order)
    order.refresh_from_db()


def has_cache(acme: Shop, **fields: Any) -> None:
    """The host says that the volume has a cache now, of 2 GiB by default."""
    placement = acme.volume.placed
    assert placement is not None
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa_cpool", **fields)
    lv = make.lv("vm-101-disk-0", uuid=placement.lv_uuid, cache=cache)
    lv = replace(lv, tags=make.tags(acme.volume.key))
    host = placement.host
    host.facts = make.inventory(make.facts(lv))
    host.save(update_fields=["facts"])


def has_no_cache(acme: Shop, **fields: Any) -> None:
    """The host says that the cache is gone."""
    host = acme.there.host
    host.facts = make.inventory(replace(acme.there.facts, **fields))
    host.save(update_fields=["facts"])


def mandate(customer: Customer, **fields: Any) -> Mandate:
    """10 EUR a charge, 20 EUR a month, from yesterday on."""
    defaults = {
        "currency": "EUR",
        "cap_charge_minor": 1000,
        "cap_period_minor": 2000,
        "earliest_next_at": timezone.now() - timedelta(days=1),
    }
    return Mandate.objects.create(customer=customer, **{**defaults, **fields})


def refusal(acme: Shop, plan: CachePlan | None, **fields: Any) -> OrderRefused:
    """Why it is refused, once it is sure that nothing was written for it."""
    volume, before = acme.volume, (Order.objects.count(), Job.objects.count())
    had = (volume.cache_plan_id, volume.wish)
    try:
        made = buy(acme, plan, **fields)
    except OrderRefused as refused:
        volume.refresh_from_db()
        assert (Order.objects.count(), Job.objects.count()) == before
        assert (volume.cache_plan_id, volume.wish) == had
        return refused
    raise AssertionError(f"it was taken: {made}")
