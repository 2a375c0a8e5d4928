"""A volume changes hands only when nothing of it is under way, and takes nothing along."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from storage.models import Customer, Volume
from storage.volumes.ownership import (
    disown,
    give,
    owned_since,
    owned_since_by_volume,
    refusal_to_give,
    refusal_to_take,
)
from tests import make

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def said(volume: Volume, customer: Customer | None, *, is_busy: bool = False) -> str:
    """Why it cannot be assigned to the customer, or to none."""
    if customer is None:
        refused = refusal_to_take(volume, is_busy=is_busy)
    else:
        refused = refusal_to_give(volume, customer, is_busy=is_busy)
    return refused.message if refused is not None else ""


def test_a_volume_without_customer_is_assigned_and_a_found_one_counts_as_adopted() -> None:
    volume, acme = make.volume(managed=False), make.customer("Acme")
    assert said(volume, acme) == ""
    give(volume, acme, NOON)
    volume.refresh_from_db()
    assert (volume.customer, volume.adopted_at) == (acme, NOON)


def test_it_is_taken_from_one_customer_before_another_gets_it() -> None:
    volume, acme, zebra = make.volume(), make.customer("Acme"), make.customer("Zebra")
    give(volume, acme, NOON)
    assert said(volume, zebra) == "The volume belongs to Acme."
    assert said(volume, acme) == "The volume already belongs to this customer."
    disown(volume)
    assert said(volume, zebra) == ""
    assert said(volume, None) == "The volume has no customer."


def test_while_a_job_changes_it_it_stays_whose_it_is() -> None:
    volume, acme = make.volume(), make.customer("Acme")
    assert said(volume, acme, is_busy=True) == "A job is changing the volume."
    give(volume, acme, NOON)
    assert said(volume, None, is_busy=True) == "A job is changing the volume."


def test_it_is_another_customers_past_that_counts_and_not_ones_own() -> None:
    volume, acme, zebra = make.volume(), make.customer("Acme"), make.customer("Zebra")
    give(volume, acme, NOON)
    assert owned_since(volume) is None
    disown(volume)
    give(volume, zebra, NOON)
    since = owned_since(volume)
    assert since is not None and timezone.now() - since < timedelta(minutes=5)
    Volume.objects.filter(pk=volume.pk).update(size_bytes=F("size_bytes") + 1)
    assert owned_since(volume) == since
    never = make.volume()
    give(never, acme, NOON)
    assert owned_since_by_volume([volume, never]) == {volume.pk: since}
