"""The limit of dirty data of a host, and what Tiercel may do there by itself."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from storage.models import Host
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make.staff_user("admin@example.org"))
    return client


def saved(admin: Client, **data: str) -> Host:
    host = make.host()
    admin.post(reverse("host-writeback", args=[host.key]), data)
    return Host.objects.get(pk=host.pk)


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        ({"dirty_limit_percent": "70", "leaves_writeback": "on"}, (70, True)),
        ({"dirty_limit_percent": "1"}, (1, False)),
        ({"dirty_limit_percent": "100"}, (100, False)),
        ({"dirty_limit_percent": "0", "leaves_writeback": "on"}, (50, False)),
        ({"dirty_limit_percent": "101", "leaves_writeback": "on"}, (50, False)),
        ({"leaves_writeback": "on"}, (50, False)),
    ],
)
def test_both_are_saved_or_neither(
    admin: Client, data: dict[str, str], stored: tuple[int, bool]
) -> None:
    host = saved(admin, **data)
    assert (host.dirty_limit_percent, host.leaves_writeback) == stored


def test_the_settings_show_what_is_saved_and_who_changed_it(admin: Client) -> None:
    host = saved(admin, dirty_limit_percent="70", leaves_writeback="on")
    page = admin.get(reverse("host-settings", args=[host.key])).content.decode()
    assert 'value="70"' in page and 'name="leaves_writeback"' in page
    assert re.search(r'name="leaves_writeback"[^>]* checked', page)
    assert "leaves writeback" in page and "admin@example.org" in page
