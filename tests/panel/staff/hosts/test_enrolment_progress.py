"""How far a new host has come."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from panel.staff.hosts.enrol_pages import arrival
from storage.models import Host

NOW = timezone.now()
ERROR = {"code": "unreachable", "message": "no route", "correction": ""}


@pytest.mark.parametrize(
    ("fields", "has_line", "steps"),
    [
        ({"state": "pending"}, True, "now later later later"),
        ({"state": "pending"}, False, "trouble later later later"),
        ({"state": "unverified"}, False, "done now later later"),
        ({"state": "active"}, False, "done done now later"),
        ({"state": "active", "error": ERROR}, False, "done done trouble later"),
        ({"state": "active", "hello_at": NOW}, False, "done done done now"),
        ({"state": "active", "hello_at": NOW, "error": ERROR}, False, "done done done trouble"),
        ({"state": "active", "hello_at": NOW, "facts_at": NOW}, False, "done done done done"),
        ({"state": "active", "hello_at": NOW, "facts_at": NOW}, True, "now done done done"),
        ({"state": "quarantined", "hello_at": NOW}, False, "done trouble later later"),
    ],
)
def test_each_step_is_done_waits_or_comes_later(
    fields: dict[str, Any], *, has_line: bool, steps: str
) -> None:
    found = arrival(Host(**fields), has_line=has_line)
    assert f"{found.line} {found.trust} {found.answer} {found.inventory}" == steps
    assert found.is_over == (steps == "done done done done")
