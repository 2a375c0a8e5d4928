"""How long a host's page waits for the inventory that a person asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from panel.staff.hosts.pages import pending_refresh

ASKED = datetime(2030, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TEXT = f"{ASKED.timestamp():.3f}"


@pytest.mark.parametrize("facts_at", [None, ASKED - SECOND])
def test_a_page_waits_for_a_newer_inventory(facts_at: datetime | None) -> None:
    reading = pending_refresh(TEXT, facts_at, ASKED + 2 * SECOND)
    assert reading is not None
    assert (reading.asked, reading.is_late) == (TEXT, False)


def test_a_newer_inventory_ends_the_waiting() -> None:
    assert pending_refresh(TEXT, ASKED + SECOND, ASKED + 2 * SECOND) is None


def test_a_page_does_not_wait_for_ever() -> None:
    reading = pending_refresh(TEXT, None, ASKED + 61 * SECOND)
    assert reading is not None
    assert reading.is_late


@pytest.mark.parametrize("asked", ["", "soon", "nan", "inf", "-inf"])
def test_a_page_without_a_refresh_waits_for_nothing(asked: str) -> None:
    assert pending_refresh(asked, None, ASKED) is None
