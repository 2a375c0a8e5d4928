"""Which volumes' customers saw a plan sold out: what is wanted and cannot be ordered."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db.models import F

from panel.models import SoldOutView
from storage.access import Person
from storage.models import Volume
from storage.volumes.plan_offers import REASONS, Offer

SEEN: Final = timedelta(days=30)
"""Older views say nothing of what is wanted now."""


def note_sold_out(volume: Volume, offers: Iterable[Offer], now: datetime) -> None:
    """Remember that these offers were shown, where one of them is sold out. One row for each volume
    and plan."""
    seen = [
        SoldOutView(volume=volume, plan=each.plan, seen_at=now)
        for each in offers
        if each.plan is not None and each.reason == REASONS["no_space"]
    ]
    if seen:
        SoldOutView.objects.bulk_create(
            seen,
            update_conflicts=True,
            unique_fields=["volume", "plan"],
            update_fields=["seen_at"],
        )


def saw_sold_out(user: Person, now: datetime) -> dict[int, set[int]]:
    """By primary key of the host, the volumes for which a plan was shown as sold out lately and
    that do not have it."""
    volumes = Volume.objects.visible_to(user).in_service()
    rows = SoldOutView.objects.filter(
        volume__in=volumes,
        seen_at__gt=now - SEEN,
        volume__placement__until=None,
        volume__placement__host__isnull=False,
    ).exclude(volume__cache_plan=F("plan"))
    by_host: dict[int, set[int]] = {}
    for host_id, volume_id in rows.values_list("volume__placement__host", "volume_id"):
        by_host.setdefault(host_id, set()).add(volume_id)
    return by_host
