"""The list of hosts: found by name, by state, with what is wrong, in as many queries for many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from storage.byte_sizes import GIB
from storage.models import HostOutline
from tests import make
from tests.scene import scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def listed(client: Client, **asked: str) -> str:
    response = client.get(reverse("hosts"), asked)
    assert response.status_code == 200
    return response.content.decode()


def four(**host: Any) -> None:
    """One of each: well, silent, new and in maintenance."""
    now = timezone.now()
    make.host(name="well", last_seen_at=now, address="192.0.2.1")
    make.host(name="quiet", last_seen_at=None)
    make.host(name="fresh", state="pending", host_key="")
    make.host(name="paused", last_seen_at=now, maintenance_since=now)


def test_a_host_is_found_by_a_part_of_its_name_or_address(staff: Client) -> None:
    four()
    for text in ("WEL", "192.0.2"):
        page = listed(staff, q=text)
        assert ">well</a>" in page
        assert ">quiet</a>" not in page
    assert "No matching hosts" in listed(staff, q="zzz")


@pytest.mark.parametrize(
    ("state", "names"),
    [
        ("", ["fresh", "paused", "quiet", "well"]),
        ("nonsense", ["fresh", "paused", "quiet", "well"]),
        ("up", ["paused", "well"]),
        ("trouble", ["quiet"]),
        ("new", ["fresh"]),
        ("maintenance", ["paused"]),
    ],
)
def test_the_address_says_which_hosts_are_shown(
    staff: Client, state: str, names: list[str]
) -> None:
    four()
    page = listed(staff, state=state)
    every = ("fresh", "paused", "quiet", "well")
    assert [name for name in every if f">{name}</a>" in page] == names


def test_a_state_in_which_no_host_is_makes_no_filter(staff: Client) -> None:
    make.host(last_seen_at=timezone.now())
    page = listed(staff)
    assert "Not answering" not in page
    assert "state=up" in page


def test_what_an_inventory_shows_to_be_wrong_is_shown_with_the_rest_counted(staff: Client) -> None:
    host = make.host(last_seen_at=timezone.now())
    finding = {"code": "array_degraded", "severity": "error", "subject": "md0", "correction": ""}
    findings = [{**finding, "message": f"md{n} misses a disk."} for n in range(3)]
    HostOutline.objects.create(host=host, findings=findings)
    page = listed(staff)
    assert "md0 misses a disk." in page
    assert "2 more problems" in page
    assert "3 problems" in page
    # One state, and not that it is active as well.
    assert "active" not in page[page.index("<tbody>") :]


def test_an_empty_list_leads_to_the_first_host(client: Client) -> None:
    client.force_login(make.staff_user())
    assert reverse("host-new") in listed(client)
    client.force_login(make.staff_user(staff_role="operator"))
    page = listed(client)
    assert reverse("host-new") not in page
    assert "Adding a host requires the admin role" in page


def test_more_hosts_cost_no_more_queries(staff: Client) -> None:
    for _ in range(2):
        scene()
    with CaptureQueriesContext(connection) as few:
        listed(staff)
    for _ in range(8):
        scene()
    with CaptureQueriesContext(connection) as many:
        listed(staff)
    assert len(many) == len(few)
    assert not any('"storage_host"."facts"' in query["sql"] for query in many)


def test_space_that_is_nearly_gone_stands_out_and_old_figures_tell_their_age(
    staff: Client,
) -> None:
    full = {"fast_total_bytes": 100 * GIB, "slow_total_bytes": 100 * GIB}
    there = scene()
    HostOutline.objects.create(
        host=there.host, fast_free_bytes=2 * GIB, slow_free_bytes=50 * GIB, **full
    )
    assert listed(staff).count("stack-tight") == 1
    make.activity(there.host, at=timezone.now() - timedelta(hours=2))
    page = listed(staff)
    assert "last sample: <time" in page
    assert "2\xa0h ago" in page
