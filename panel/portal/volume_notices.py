"""Notices on a volume's pages: suspension, scheduled plan change."""

from __future__ import annotations

from panel.models import OrderState
from panel.portal.member_scope import orders_of
from storage.access import Person
from storage.models import Volume


def standing(user: Person, volume: Volume) -> dict[str, object]:
    """The context of `portal/_suspended.html` and `portal/_planned.html`. Two queries."""
    customer = volume.customer
    scheduled = orders_of(user).filter(volume=volume, state=OrderState.SCHEDULED)
    return {
        "suspended": customer is not None and customer.suspended_at is not None,
        "planned": scheduled.first(),
        "may_order": Volume.objects.orderable_by(user).filter(pk=volume.pk).exists(),
    }
