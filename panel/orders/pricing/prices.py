"""The present and past prices of a volume's plan."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F, QuerySet

from jobs.models import Job, State
from panel.models import Intent, Order, OrderState
from storage.models import Volume


@dataclass(frozen=True, slots=True)
class Price:
    """A month's, in minor units."""

    minor: int
    currency: str


def last_completed(volume: Volume) -> Order | None:
    """The order that set the volume's plan, unless the plan was changed without an order."""
    done = Order.objects.filter(volume=volume, customer=volume.customer)
    return done.filter(state=OrderState.COMPLETED).order_by("-ended_at", "-id").first()


def paid(volume: Volume) -> Price | None:
    """What was agreed on with the change that led to the plan the volume has, else the plan's own
    price; None without a plan."""
    plan = volume.cache_plan
    if plan is None:
        return None
    last = last_completed(volume)
    if last is not None and last.to_plan_id == plan.pk:
        return Price(last.price_minor, last.currency)
    changes = Job.objects.filter(volume=volume, dry_run=False, state=State.SUCCEEDED)
    job = changes.filter(price_minor__isnull=False).asked_by_customer().first()
    if job is not None and job.cache_plan_id == plan.pk and job.price_minor is not None:
        return Price(job.price_minor, job.currency)
    return Price(plan.price_minor, plan.currency)


def paid_before(order: Order) -> Price:
    """What a month costs of the plan that taking the order back leads to: what it cost before."""
    minor = order.from_price_minor if order.plan_back is not None else 0
    return Price(minor, order.currency)


@dataclass(frozen=True, slots=True)
class Agreed:
    """A month's price of a volume's plan, and whether that is on trial: then it is owed once the
    trial is over and the plan is kept."""

    price: Price
    is_trial: bool


def agreed(volumes: QuerySet[Volume]) -> dict[int, Agreed]:
    """`paid` of many volumes, by primary key, in three queries; without a plan, missing."""
    done = Order.objects.filter(volume__in=volumes, customer=F("volume__customer"))
    done = done.filter(state=OrderState.COMPLETED)
    last = done.order_by("volume_id", "-ended_at", "-id").distinct("volume_id")
    orders = {
        order.volume_id: order
        for order in last.only("volume", "to_plan", "price_minor", "currency", "intent")
    }
    changes = Job.objects.filter(volume__in=volumes, dry_run=False, state=State.SUCCEEDED)
    changes = changes.filter(price_minor__isnull=False).asked_by_customer()
    jobs = {
        volume_id: (plan_id, Price(minor or 0, currency))
        for volume_id, plan_id, minor, currency in changes.order_by("volume_id", "-id")
        .distinct("volume_id")
        .values_list("volume_id", "cache_plan_id", "price_minor", "currency")
    }
    result = {}
    for volume in volumes.filter(cache_plan__isnull=False).select_related("cache_plan"):
        plan, order = volume.cache_plan, orders.get(volume.pk)
        if plan is None:
            continue
        plan_id, price = jobs.get(volume.pk, (None, Price(plan.price_minor, plan.currency)))
        if order is not None and order.to_plan_id == plan.pk:
            is_trial = order.intent == Intent.TRIAL
            result[volume.pk] = Agreed(Price(order.price_minor, order.currency), is_trial)
        elif plan_id == plan.pk:
            result[volume.pk] = Agreed(price, is_trial=False)
        else:
            result[volume.pk] = Agreed(Price(plan.price_minor, plan.currency), is_trial=False)
    return result
