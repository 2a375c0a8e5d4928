"""Whose a volume is. Nothing of it reaches a host."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from storage.models import Customer, Volume
from storage.plan import Refused


def refusal_to_give(volume: Volume, customer: Customer) -> Refused | None:
    """Why the volume cannot become the customer's."""
    if volume.destroyed_at is not None:
        return Refused("not_found", "It was destroyed.", "There is nothing to give.")
    if volume.customer_id == customer.pk:
        return Refused("unsupported", "It is theirs already.", "")
    if volume.cache_plan_id is not None:
        return Refused("in_use", "Its customer pays for a cache plan.", "End that plan first.")
    return None


@transaction.atomic
def give(volume: Volume, customer: Customer, at: datetime) -> Refused | None:
    """Let the volume be the customer's; a found one counts as adopted from `at` on. Returns why
    not, where something has changed since it was asked."""
    held = Volume.objects.select_for_update().get(pk=volume.pk)
    if refused := refusal_to_give(held, customer):
        return refused
    held.customer = customer
    if not held.managed and held.adopted_at is None:
        held.adopted_at = at
    held.save(update_fields=["customer", "adopted_at"])
    return None
