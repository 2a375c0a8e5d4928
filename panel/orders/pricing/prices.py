"""The present and past prices of a volume's plan."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.models import Job, State
from panel.models import Order, OrderState
from storage.models import Volume


@dataclass(frozen=True, slots=True)
class Price:
    """A month's, in minor units."""

    minor: int
    currency: str


def last_completed(volume: Volume) -> Order | None:
    """The order that made the volume's plan what it is, unless somebody changed it otherwise."""
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
