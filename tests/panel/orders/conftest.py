"""Shops are open, and no broker is asked."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from jobs import notify_workers
from tests.panel.orders.month import something_left_to_charge as something_left_to_charge


@pytest.fixture(autouse=True)
def sent(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs that a worker was notified of."""
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    notified: list[int] = []
    monkeypatch.setattr(notify_workers, "job", notified.append)
    return notified
