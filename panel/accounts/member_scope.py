"""What a member may see on the customers' pages: their customers' volumes, orders and changes,
and no others. Staff see every volume elsewhere; here they count as members or strangers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec

from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from jobs.models import Job, JobQuerySet, State
from panel.models import Order, OrderState
from panel.models.order import OrderQuerySet
from storage.access import Person, member
from storage.models import Member, Volume
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def member_view(view: View[P]) -> View[P]:
    """A view for people of a customer; for others it does not exist (404)."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not Member.objects.filter(user=request.user.pk).exists():
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


def volumes_of(user: Person) -> QuerySet[Volume]:
    """The volumes of the customers the person is a member of, without what is switched off."""
    mine = member(user, "customer__members")
    own = Volume.objects.visible_to(user).in_service().filter(mine)
    return own.select_related("customer", "cache_plan")


def changes_of(user: Person) -> JobQuerySet:
    """The changes of plan that members asked for on those volumes, newest first."""
    own = volumes_of(user).values("pk")
    changes = Job.objects.visible_to(user).filter(volume__in=own, dry_run=False)
    return (
        changes.asked_by_customer()
        .with_names()
        .select_related("cache_plan", "order__from_plan", "order__to_plan")
    )


def orders_of(user: Person) -> OrderQuerySet:
    """The orders of the customers who have those volumes now, newest first."""
    own = volumes_of(user).values("pk")
    orders = Order.objects.visible_to(user).filter(volume__in=own, customer=F("volume__customer"))
    return orders.select_related(
        "volume", "actor", "job__cache_plan", "from_plan", "to_plan", "proof", "reverts"
    ).defer("job__wish", "job__fallback", "proof__before")  # large, and not read here


def several_customers(user: Person) -> bool:
    """True for a person who belongs to more than one customer: only they need the names."""
    return Member.objects.filter(user=user.pk).count() > 1


def row_of(request: HttpRequest, key: str) -> VolumeSnapshot:
    """The volume with that key as the pages show it; 404 for a stranger's."""
    return snapshots_of([get_object_or_404(volumes_of(request.user), key=key)])[0]


@dataclass(frozen=True, slots=True)
class Paid:
    """The price a month of the volume's plan; `since` is None where no change set it."""

    price_minor: int
    currency: str
    since: datetime | None


def paid_for(user: Person, volume: Volume) -> Paid | None:
    """What was agreed on with the order or change that led to the plan the volume has, else the
    plan's own price; None without a plan."""
    plan = volume.cache_plan
    if plan is None:
        return None
    order = orders_of(user).filter(volume=volume, state=OrderState.COMPLETED).first()
    if order is not None and order.to_plan_id == plan.pk:
        return Paid(order.price_minor, order.currency, order.ended_at)
    last = changes_of(user).filter(volume=volume, state=State.SUCCEEDED).first()
    if last is None or last.cache_plan_id != plan.pk or last.price_minor is None:
        return Paid(plan.price_minor, plan.currency, None)
    return Paid(last.price_minor, last.currency, last.ended_at)


def volume_notices(user: Person, volume: Volume) -> dict[str, object]:
    """The context of `portal/_suspended.html` and `portal/_planned.html`. Two queries."""
    customer = volume.customer
    scheduled = orders_of(user).filter(volume=volume, state=OrderState.SCHEDULED)
    return {
        "suspended": customer is not None and customer.suspended_at is not None,
        "planned": scheduled.first(),
        "may_order": Volume.objects.orderable_by(user).filter(pk=volume.pk).exists(),
    }
