"""One time line of a host and of a volume: kinds, days, links, pages, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.engine import holds
from jobs.models import CheckKind, MediaCheck
from panel.models import Intent, Order, OrderState
from panel.staff.history.timeline_rows import KINDS, SOURCES, TimelineRow, by_day
from storage.models import HostChange, Placement
from tests import make
from tests.panel.deliveries.alerts.alert_messages import alert
from tests.panel.portal.shop import plan
from tests.proven import sign_in
from tests.scene import HOSTILE, Scene, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    return sign_in(client, make.staff_user())


def ago(hours: float) -> datetime:
    return timezone.now() - timedelta(hours=hours)


def ordered(there: Scene, at: datetime) -> Order:
    customer = make.customer("Acme")
    made = Order.objects.create(
        customer=customer, volume=there.volume, intent=Intent.UPGRADE, to_plan=plan("Boost S"),
        state=OrderState.COMPLETED, currency="EUR", price_minor=490, charge_minor=0,
        next_invoice_minor=490, next_invoice_at=timezone.now(),
    )  # fmt: skip
    Order.objects.filter(pk=made.pk).update(created_at=at)
    return made


def night() -> Scene:
    """A host on which one thing of each kind happened, the latest last."""
    there = scene(label="web12")
    Placement.objects.update(since=ago(100))
    HostChange.objects.create(
        host=there.host, kind="kernel", at=ago(60), before="6.1", after="6.12"
    )
    HostChange.objects.create(host=there.host, kind="disk_gone", at=ago(50), subject="SERIAL-7")
    check = MediaCheck.objects.create(
        host=there.host, kind=CheckKind.ARRAY, array="md0", array_uuid="u", state="passed"
    )
    MediaCheck.objects.filter(pk=check.pk).update(started_at=ago(40))
    ordered(there, ago(30))
    job(there, started_at=ago(20))
    alert(there.host, opened_at=ago(10))
    holds.begin_maintenance(there.host, "New disks", timezone.now() + timedelta(hours=2))
    return there


def page(client: Client, name: str, key: str, **query: str | int) -> str:
    response = client.get(reverse(name, args=[key]), query)
    assert response.status_code == 200
    return response.content.decode()


def rows(text: str) -> list[str]:
    found = text.partition('id="timeline"')[2].split("<tr>")
    return [" ".join(each.split()) for each in found if 'data-label="When"' in each]


IN_ORDER = (
    "Maintenance",
    "Alert: Array degraded",
    "Job: Add cache",
    "Order: new cache",
    "Array check",
    "Disk gone",
    "Kernel",
)


def test_all_that_happened_stands_in_one_list_newest_first(admin: Client) -> None:
    there = night()
    for name, key in (("host-history", there.host.key), ("volume-history", there.volume.key)):
        found = rows(page(admin, name, key))
        assert [kind in row for kind, row in zip(IN_ORDER, found, strict=True)] == [True] * 7, name
        assert all("href=" in row for row in found)


def test_an_alert_of_a_volume_names_it_by_its_label_and_leads_to_it(admin: Client) -> None:
    there = scene(label="web12 data")
    lvm = f"vg0/v-{there.volume.key}"
    message = f"{lvm} uses writeback on a degraded SSD mirror: 815 MiB was on one SSD only."
    alert(there.host, volume=there.volume, subject=lvm, message=message)
    (row,) = rows(page(admin, "host-history", there.host.key, kind="alerts"))
    assert lvm not in row
    link = f'href="{reverse("volume", args=[there.volume.key])}">web12 data</a> uses writeback'
    assert link in row


def test_alerts_stand_with_their_cause(admin: Client) -> None:
    host = scene().host
    cause = alert(host, opened_at=ago(2))
    for n in range(2):
        alert(host, opened_at=ago(1), cause=cause, subject=f"vg{n}", message=f"vg{n} lacks a copy.")
    alert(host, opened_at=ago(1), cause=alert(opened_at=ago(3)), message="md7 of another host.")
    found = rows(page(admin, "host-history", host.key, kind="alerts"))
    assert ["2 related alerts" in row for row in found] == [False, True]
    assert "vg0 lacks a copy." in found[1] and "vg1 lacks a copy." in found[1]
    assert "md7" in found[0]


def test_it_is_grouped_by_days(admin: Client) -> None:
    text = page(admin, "host-history", night().host.key)
    today = timezone.localtime().date()
    assert text.count('scope="rowgroup"') >= 3
    assert text.index(f"{today:%A}, {today.day}") < text.rindex(">Maintenance</a>")
    at = timezone.now()
    days = by_day([TimelineRow(at, "a"), TimelineRow(at, "b"), TimelineRow(at - timedelta(2), "c")])
    assert [len(those) for _, those in days] == [2, 1]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("alerts", ["Alert"]),
        ("disks", ["Alert", "Array check", "Disk gone"]),
        ("jobs", ["Job"]),
        ("maintenance", ["Maintenance"]),
        ("orders", ["Order"]),
        ("host", ["Kernel"]),
        ("volumes", []),
        ("nonsense", IN_ORDER),
    ],
)
def test_it_is_filtered_by_kind(admin: Client, kind: str, shown: Sequence[str]) -> None:
    there = night()
    for name, key in (("host-history", there.host.key), ("volume-history", there.volume.key)):
        found = rows(page(admin, name, key, kind=kind))
        assert [each in row for each, row in zip(shown, found, strict=True)] == [True] * len(shown)
    assert set(KINDS) == set(SOURCES)


def test_a_volume_shows_the_events_of_its_host_only_while_it_lay_there(admin: Client) -> None:
    there = night()
    Placement.objects.update(since=ago(25))
    found = "".join(rows(page(admin, "volume-history", there.volume.key)))
    assert "Alert: Array degraded" in found and "Order: new cache" in found
    assert "Disk gone" not in found and "Kernel" not in found
    other = scene(label="elsewhere")
    alert(other.host, opened_at=ago(1))
    assert len(rows(page(admin, "volume-history", there.volume.key))) == 4


def test_alerts_of_a_neighbour_are_not_the_volumes(admin: Client) -> None:
    there = night()
    neighbour = make.volume(label="neighbour")
    alert(there.host, code="volume_slow", volume=neighbour, opened_at=ago(1))
    assert len(rows(page(admin, "volume-history", there.volume.key))) == 7
    assert len(rows(page(admin, "host-history", there.host.key))) == 8


def test_an_empty_one_says_what_will_be_here(admin: Client) -> None:
    there = scene()
    assert "No events yet" in page(admin, "volume-history", there.volume.key)
    assert "No events of this kind" in page(admin, "volume-history", there.volume.key, kind="jobs")


def test_what_hosts_and_people_wrote_is_data(admin: Client) -> None:
    there = scene(label=HOSTILE)
    Placement.objects.update(since=ago(100))
    HostChange.objects.create(host=there.host, kind="disk_gone", at=ago(5), subject=HOSTILE)
    alert(there.host, opened_at=ago(1), message=HOSTILE)
    job(there)
    assert HOSTILE not in page(admin, "volume-history", there.volume.key)
    assert HOSTILE not in page(admin, "host-history", there.host.key)


def test_it_comes_in_pages_and_costs_no_more_for_more(admin: Client) -> None:
    there = night()

    def asked(name: str, key: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            page(admin, name, key)
        return len(queries)

    places: Any = (("host-history", there.host.key), ("volume-history", there.volume.key))
    few = [asked(*each) for each in places]
    for n in range(60):
        HostChange.objects.create(host=there.host, kind="boot", at=ago(n))
        alert(there.host, opened_at=ago(n), subject=f"md{n}")
        MediaCheck.objects.create(
            host=there.host, kind=CheckKind.ARRAY, array=f"md{n}", array_uuid=f"{n}", state="passed"
        )
    assert [asked(*each) for each in places] <= [each + 1 for each in few]
    assert len(rows(page(admin, "volume-history", there.volume.key))) == 50
    assert len(rows(page(admin, "volume-history", there.volume.key, page=4))) > 0


def test_customers_have_no_time_line(client: Client) -> None:
    there = night()
    client.force_login(make.user())
    assert client.get(reverse("volume-history", args=[there.volume.key])).status_code == 404
