"""From when on something on a host is a problem, and what Tiercel may do there by itself."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from storage.models import Host, TagLimit
from tests import make
from tests.one_line import on_one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(make.staff_user("admin@example.org"))
    return client


def saved(admin: Client, **data: str) -> Host:
    host = make.host()
    limits = {"dirty_limit_percent": "60", "slow_read_ms": "20", "busy_percent": "90"}
    given = {name: value for name, value in {**limits, **data}.items() if value}
    admin.post(reverse("host-limits", args=[host.key]), given)
    return Host.objects.get(pk=host.pk)


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        ({"dirty_limit_percent": "70", "leaves_writeback": "on"}, (70, True)),
        ({"dirty_limit_percent": "1"}, (1, False)),
        ({"dirty_limit_percent": "100"}, (100, False)),
        ({"dirty_limit_percent": "0", "leaves_writeback": "on"}, (50, False)),
        ({"dirty_limit_percent": "101", "leaves_writeback": "on"}, (50, False)),
        ({"dirty_limit_percent": "", "leaves_writeback": "on"}, (50, False)),
        ({"slow_read_ms": "0", "leaves_writeback": "on"}, (50, False)),
        ({"slow_read_ms": "10001", "leaves_writeback": "on"}, (50, False)),
        ({"busy_percent": "101", "leaves_writeback": "on"}, (50, False)),
        ({"busy_percent": "", "leaves_writeback": "on"}, (50, False)),
    ],
)
def test_all_are_saved_or_none(
    admin: Client, data: dict[str, str], stored: tuple[int, bool]
) -> None:
    host = saved(admin, **data)
    assert (host.dirty_limit_percent, host.leaves_writeback) == stored


def test_a_host_without_a_limit_of_its_own_names_the_one_that_holds(admin: Client) -> None:
    TagLimit.objects.create(tag="nvme", slow_read_ms=5)
    host = saved(admin, dirty_limit_percent="70", slow_read_ms="")
    assert (host.slow_read_ms, host.dirty_limit_percent) == (None, 70)
    for tags, words in (
        (["nvme"], "Empty: 5\xa0ms (tag nvme)."),
        ([], "Empty: 20\xa0ms (default)."),
    ):
        Host.objects.filter(pk=host.pk).update(tags=tags)
        page = admin.get(reverse("host-settings", args=[host.key])).content.decode()
        assert words in on_one_line(page)


def test_the_settings_show_what_is_saved_and_who_changed_it(admin: Client) -> None:
    limits = {"dirty_limit_percent": "70", "slow_read_ms": "5", "busy_percent": "80"}
    host = saved(admin, **limits, leaves_writeback="on")
    assert (host.slow_read_ms, host.busy_percent) == (5, 80)
    page = admin.get(reverse("host-settings", args=[host.key])).content.decode()
    for name, value in limits.items():
        assert re.search(rf'name="{name}"[^>]* value="{value}"', page), name
    assert 'name="leaves_writeback"' in page
    assert re.search(r'name="leaves_writeback"[^>]* checked', page)
    assert "leaves writeback" in page and "admin@example.org" in page
