"""One trail of operations, changes of records and the security log."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pghistory
import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs import audit_trail
from jobs.audit_trail import BadSince
from jobs.models import AuditEntry, Phase
from panel.accounts.security_log import security_entries
from panel.models import Mandate, SecurityEntry, SecurityKind
from storage.access import StaffRole
from storage.models import CachePlan, Customer, Host, PhysicalDisk, Volume
from storage.templatetags.money import amount
from tests import make
from tests.panel.portal.shop import plan
from tests.proven import sign_in
from tests.scene import job, scene, step

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(client: Client) -> Client:
    return sign_in(client, make.staff_user("boss@provider.org"))


def rows(client: Client, **query: str) -> list[str]:
    """The text of each row."""
    text = client.get(reverse("trail"), query).content.decode()
    body = text[text.find("<tbody>") : text.find("</tbody>")] if "<tbody>" in text else ""
    return [
        " ".join(re.sub(r"<[^>]*>", " ", row).split())
        for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)
    ]


def operation(name: str) -> None:
    """An operation on a volume with that label, sent and not answered yet."""
    there = scene(label=name)
    work = job(there, actor=make.staff_user(f"{name}@provider.org"))
    audit_trail.intent(work, step(work, op_id=uuid4()))


@pytest.mark.django_db(transaction=True)
def test_everything_stands_in_one_order_the_newest_first(boss: Client) -> None:
    operation("first")
    with pghistory.context(actor="second@provider.org"):
        make.customer("Second Ltd")
    security_entries.note(SecurityKind.SIGNED_IN, "third@provider.org")
    third, second, first = rows(boss)[:3]
    assert "first@provider.org" in first and "sent" in first
    assert "Created customer Second Ltd" in second
    assert "Signed in third@provider.org" in third


def test_a_new_price_says_what_it_was_and_who_changed_it(boss: Client) -> None:
    sold = plan(name="Fast")
    typed = {"name": "Fast", "size": "2", "unit": "GiB", "mode": "writethrough", "currency": "EUR"}
    address = reverse("cache-plan", args=[sold.key])
    assert boss.post(address, {**typed, "price": "9.90", "on_offer": "on"}).status_code == 302
    (changed,) = [row for row in rows(boss, kind="change") if "Changed plan Fast" in row]
    assert "boss@provider.org" in changed
    assert f"price: {amount(sold.price_minor, 'EUR')} → 9.90 EUR" in changed


def test_what_was_deleted_is_named_and_leads_nowhere(boss: Client) -> None:
    with pghistory.context(actor="boss@provider.org"):
        plan(name="Gone").delete()
    text = boss.get(reverse("trail"), {"kind": "change"}).content.decode()
    assert "Deleted plan" in text
    assert "/plans/" not in text[text.find("<tbody>") : text.find("</tbody>")]


def a_host() -> Host:
    return make.host(name="Gone")


def a_volume() -> Volume:
    return make.volume(label="Gone")


def a_customer() -> Customer:
    return make.customer("Gone")


def a_plan() -> CachePlan:
    return plan(name="Gone")


def a_disk() -> PhysicalDisk:
    disk = make.physical_disk(make.host(), identity="Gone")
    disk.accepted_reason = "seen"
    disk.save()
    return disk


def an_authorisation() -> Mandate:
    return Mandate.objects.create(customer=make.customer("Gone"), currency="EUR")


@pytest.mark.parametrize(
    ("make_one", "owner"),
    [
        (a_host, ""),
        (a_volume, ""),
        (a_customer, ""),
        (a_plan, ""),
        (a_disk, ""),
        (a_disk, "host"),
        (an_authorisation, ""),
        (an_authorisation, "customer"),
    ],
)
def test_no_record_that_was_deleted_breaks_it(
    boss: Client, make_one: Callable[[], Model], owner: str
) -> None:
    """Also where the record went with its host or customer."""
    with pghistory.context(actor="boss@provider.org"):
        record = make_one()
        (getattr(record, owner) if owner else record).delete()
    assert any("boss@provider.org" in row and "Gone" in row for row in rows(boss, kind="change"))


def test_it_is_narrowed_by_person_kind_and_time(boss: Client) -> None:
    operation("web12")
    security_entries.note(SecurityKind.SIGNED_IN, "ann@northwind.example")
    assert len(rows(boss, who="web12@")) == 1
    assert all("Signed in" in row for row in rows(boss, kind="security", who="ann"))
    later = timezone.now() + timedelta(hours=1)
    assert rows(boss, since=f"{later:%Y-%m-%dT%H:%M}") == []
    assert rows(boss, until=f"{later - timedelta(hours=2):%Y-%m-%dT%H:%M}") == []
    assert rows(boss, until=f"{later:%Y-%m-%d}", who="web12@")


def test_an_ip_address_finds_all_that_came_from_it(boss: Client) -> None:
    operation("web12")
    AuditEntry.objects.create(
        op_id=uuid4(), phase=Phase.INTENT, job_key="jjjj", host="h", host_key="hhhh",
        verb="volume.tag", args={}, actor="eve@provider.org", address="203.0.113.9",
    )  # fmt: skip
    with pghistory.context(actor="eve@provider.org", address="203.0.113.9"):
        make.customer("From There")
    with pghistory.context(actor="eve@provider.org", address="198.51.100.1"):
        make.customer("From Elsewhere")
    found = " ".join(rows(boss, who="203.0.113."))
    assert len(rows(boss, who="203.0.113.")) == 2
    assert "From There" in found and "volume.tag" in found


def test_only_admins_see_the_security_log_in_it(client: Client) -> None:
    operation("web12")
    security_entries.note(SecurityKind.FAILED, "ann@northwind.example")
    client.force_login(make.staff_user(staff_role=StaffRole.OPERATOR))
    text = client.get(reverse("trail")).content.decode()
    assert "web12@provider.org" in text
    assert "ann@northwind.example" not in text
    assert "Sign-in and access" not in text
    assert rows(client, kind="security", who="ann") == []


def test_a_time_that_is_none_is_said_to_be(boss: Client) -> None:
    for field in ("since", "until"):
        for name in ("trail", "audit", "security-log"):
            response = boss.get(reverse(name), {field: "yesterday"})
            assert response.status_code == 400
            assert "yesterday is not a date" in response.content.decode()


def test_until_a_day_is_until_its_end() -> None:
    end = audit_trail.parsed_moment({"until": "2026-11-21"}, "until")
    assert f"{end:%Y-%m-%d %H:%M}" == "2026-11-22 00:00"
    with pytest.raises(BadSince):
        audit_trail.parsed_moment({"until": "9999-12-31"}, "until")


def test_the_number_of_queries_does_not_depend_on_that_of_rows(boss: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            rows(boss)
        return len(captured)

    def fill(n: int) -> None:
        for number in range(n):
            operation(f"web{n}{number}")
            with pghistory.context(actor="boss@provider.org"):
                make.customer(f"Customer {n}-{number}")

    fill(2)
    few = queries()
    fill(9)
    # One more or less is the session.
    assert queries() <= few + 1


def test_an_export_stands_in_it(boss: Client) -> None:
    boss.get(reverse("audit-export"))
    assert SecurityEntry.objects.filter(kind=SecurityKind.EXPORTED).count() == 1
    assert "audit trail, CSV" in rows(boss, kind="security")[0]
