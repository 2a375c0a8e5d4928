"""Which customer owns a volume. Changes here never reach a host.

A volume never passes directly from one customer to another: it is unassigned first, then assigned.
The new customer sees neither the orders nor the figures from before.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

from django.db import transaction
from django.db.models import F, Max, OuterRef, Subquery

from storage.models import Customer, Volume
from storage.planner import Refused


def refusal_to_give(volume: Volume, customer: Customer, *, is_busy: bool) -> Refused | None:
    """Why the volume cannot become the customer's; `is_busy`: a job changes it."""
    if volume.destroyed_at is not None:
        return Refused("not_found", "The volume was destroyed.", "There is nothing to assign.")
    if volume.customer_id == customer.pk:
        return Refused("unsupported", "The volume already belongs to this customer.", "")
    if volume.customer is not None:
        return Refused(
            "in_use", f"The volume belongs to {volume.customer}.", "First remove its customer."
        )
    return _unsettled(volume, is_busy=is_busy)


def refusal_to_take(volume: Volume, *, is_busy: bool) -> Refused | None:
    """Why the volume cannot be taken from its customer."""
    if volume.customer_id is None:
        return Refused("unsupported", "The volume has no customer.", "")
    return _unsettled(volume, is_busy=is_busy)


@transaction.atomic
def give(volume: Volume, customer: Customer, at: datetime) -> None:
    """Let the volume be the customer's; a found one counts as adopted from `at` on."""
    volume.customer = customer
    if not volume.managed and volume.adopted_at is None:
        volume.adopted_at = at
    volume.save(update_fields=["customer", "adopted_at"])


@transaction.atomic
def disown(volume: Volume) -> None:
    """Take the volume from its customer; the rest of its record stays."""
    volume.customer = None
    volume.save(update_fields=["customer"])


def owned_since(volume: Volume) -> datetime | None:
    """When another customer had the volume last, None where it never was another's: its customer
    sees no figures from before. One query."""
    others = _events(volume).exclude(customer=None).exclude(customer=volume.customer_id)
    since: datetime | None = others.aggregate(last=Max("pgh_created_at"))["last"]
    return since


def owned_since_by_volume(volumes: Iterable[Volume]) -> dict[int, datetime]:
    """`owned_since` of many, by primary key; those that never were another's are missing. One
    query."""
    events = cast("Any", Volume).pgh_event_model.objects
    others = events.filter(pgh_obj__in=[volume.pk for volume in volumes], customer__isnull=False)
    changes = others.exclude(customer=F("pgh_obj__customer")).values("pgh_obj")
    return dict(changes.annotate(last=Max("pgh_created_at")).values_list("pgh_obj", "last"))


def customer_then(volume: str, at: str) -> Subquery:
    """For the rows of a query, the customer (primary key) who had the volume at a time, None where
    the record has not changed since; `volume` and `at` are the names of those fields."""
    tracked = cast("Any", Volume)  # the tracker's model, which no type knows
    later = tracked.pgh_event_model.objects.filter(
        pgh_obj=OuterRef(volume), pgh_created_at__gte=OuterRef(at), customer__isnull=False
    )
    return Subquery(later.order_by("pgh_id").values("customer")[:1])


def _events(volume: Volume) -> Any:
    """The records of the volume as they were before each change."""
    return cast("Any", volume).events


def _unsettled(volume: Volume, *, is_busy: bool) -> Refused | None:
    if is_busy:
        return Refused(
            "busy",
            "A job is changing the volume.",
            "Wait until the job has ended, then try again.",
        )
    if volume.cache_plan_id is not None:
        return Refused(
            "in_use", "The customer pays for a cache plan of this volume.", "End the plan first."
        )
    return None
