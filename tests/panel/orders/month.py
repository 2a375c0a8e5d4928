"""A month that is not about to end: for the conftest of tests that look at what is charged."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import pytest

from panel.orders import place_order, plan_choices
from panel.orders.pricing.quote import period
from panel.portal import ordering
from storage.database_clock import database_now

EARLIER: Final = timedelta(minutes=50)
"""Less than the hour that the billing system has for its answer. What is left of a month by then
is worth a cent of the cheapest plan here; 44 minutes are worth none."""


def priced_at(at: datetime) -> datetime:
    """The moment by which an order that comes `at` is priced."""
    return at if period(at)[1] - at > EARLIER else at - EARLIER


@pytest.fixture(autouse=True)
def something_left_to_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the last minutes of a month orders are priced as if they came before them."""
    for module in (place_order, plan_choices, ordering):
        monkeypatch.setattr(module, "database_now", lambda: priced_at(database_now()))
