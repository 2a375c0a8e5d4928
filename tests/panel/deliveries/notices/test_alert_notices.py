"""What customers are notified of alerts: of their volume, in their words, once, and its end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from jobs.alerts import alert_judge
from jobs.models import Alert
from panel import tasks
from panel.deliveries.notices import alert_notices
from panel.models import Mute, Notice, User
from storage.models import Host, HostOutline, Volume
from tests import make
from tests.panel.deliveries.alerts.alert_messages import alert

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(minutes=10)


@pytest.fixture
def vera() -> User:
    return make.user("vera@example.org", name="Vera")


@pytest.fixture
def volume(vera: User) -> Volume:
    customer = make.customer("Acme")
    customer.members.create(user=vera, role="viewer")
    return make.volume(label="Acme mail", customer=customer)


def wrong(volume: Volume, code: str = "ssd_lost", **fields: Any) -> Alert:
    host = make.host(name="stor-hel-03")
    return alert(
        host, volume=volume, code=code, family=code, subject="vg0/secret", **{
            "message": "The SSD under the cache of vg0/secret is missing.",
            "opened_at": timezone.now() - LONG_AGO,
            **fields,
        },
    )  # fmt: skip


def test_a_customer_is_notified_once_and_once_of_the_end(volume: Volume) -> None:
    there = wrong(volume)
    for _ in range(3):
        tasks.send_notices()
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["vera@example.org"], "Problem: Acme mail")
    there.resolved_at = timezone.now()
    there.save()
    for _ in range(3):
        tasks.send_notices()
    assert [each.subject for each in mail.outbox[1:]] == ["Resolved: Acme mail"]


def test_a_problem_of_many_months_notifies_once_and_so_does_its_end(volume: Volume) -> None:
    there = wrong(volume, opened_at=timezone.now() - timedelta(days=100))
    tasks.send_notices()
    Notice.objects.update(delivered_at=timezone.now() - timedelta(days=99))
    for _ in range(2):
        tasks.prune_messages()
        tasks.send_notices()
    assert [each.subject for each in mail.outbox] == ["Problem: Acme mail"]
    there.resolved_at = timezone.now()
    there.save()
    tasks.prune_messages()
    tasks.send_notices()
    assert mail.outbox[1].subject == "Resolved: Acme mail"


def test_no_host_and_no_technology_is_named(volume: Volume) -> None:
    wrong(volume)
    tasks.send_notices()
    body = str(mail.outbox[0].body)
    address = f"/my/volumes/{volume.key}/"
    assert address in body
    assert "restart it once the problem is resolved" in body
    for word in ("stor-hel-03", "vg0", "secret", "lvm", "bcache"):
        assert word not in body.replace(address, ""), "random letters of the address do not count"


@pytest.mark.parametrize(
    ("code", "english", "german"),
    [
        ("volume_frozen", "has stopped answering", "antwortet nicht mehr"),
        ("cache_unregistered", "offline until the cache is back", "bis der Cache wieder da ist"),
    ],
)
def test_a_volume_that_hangs_or_stands_still_is_shown_in_both_languages(
    volume: Volume, vera: User, code: str, english: str, german: str
) -> None:
    wrong(volume, code)
    tasks.send_notices()
    assert english in str(mail.outbox[0].body)
    Notice.objects.all().delete()
    User.objects.filter(pk=vera.pk).update(language="de")
    tasks.send_notices()
    assert german in str(mail.outbox[1].body)


def test_in_german_for_who_speaks_it(volume: Volume, vera: User) -> None:
    User.objects.filter(pk=vera.pk).update(language="de")
    wrong(volume, "volume_inactive")
    tasks.send_notices()
    assert mail.outbox[0].subject == "Störung: Acme mail"
    assert "Ihr Volume ist abgeschaltet" in str(mail.outbox[0].body)


@pytest.mark.parametrize(
    "fields",
    [
        {"opened_at": None},
        {"muted_by": "maintenance"},
        {"muted_by": "silence"},
        {"is_flapping": True},
        {"code": "drift"},
        {"code": "writeback_degraded"},
    ],
)
def test_what_is_no_business_of_theirs_does_not_notify(
    volume: Volume, fields: dict[str, Any]
) -> None:
    wrong(volume, **fields)
    alert_notices.notify_customers()
    assert not Notice.objects.exists()


def test_what_is_mended_within_minutes_does_not_notify(volume: Volume) -> None:
    there = wrong(volume, opened_at=timezone.now() - timedelta(minutes=1))
    alert_notices.notify_customers()
    there.resolved_at = timezone.now()
    there.save()
    alert_notices.notify_customers()
    assert not Notice.objects.exists()


def test_what_follows_from_another_alert_notifies_all_the_same(volume: Volume) -> None:
    cause = alert(code="pv_missing")
    wrong(volume, cause=cause, notified_at=None)
    tasks.send_notices()
    assert len(mail.outbox) == 1


def test_what_follows_from_another_alert_does_not_notify_in_maintenance_of_its_host(
    volume: Volume,
) -> None:
    since = timezone.now() - timedelta(hours=1)
    host = make.host(last_seen_at=timezone.now(), maintenance_since=since)
    found = {"severity": "error", "message": "m", "correction": "c", "since": since.isoformat()}
    lost = {"code": "ssd_lost", "subject": "vg0/web", "volume": volume.key}
    missing = {"code": "pv_missing", "subject": "vg0"}
    HostOutline.objects.create(host=host, findings=[found | missing, found | lost])
    for minute in range(3):
        alert_judge.judge(timezone.now() + timedelta(minutes=minute))
    assert Alert.objects.get(code="ssd_lost").cause == Alert.objects.get(code="pv_missing")
    Alert.objects.update(opened_at=timezone.now() - LONG_AGO)
    tasks.send_notices()
    assert mail.outbox == []
    Host.objects.update(maintenance_since=None)
    alert_judge.judge(timezone.now() + timedelta(minutes=3))
    tasks.send_notices()
    assert [each.subject for each in mail.outbox] == ["Problem: Acme mail"]


def test_no_one_else_is_notified_and_no_one_who_does_not_want_it(
    volume: Volume, vera: User
) -> None:
    stranger = make.user("otto@example.org")
    make.customer("Zebra").members.create(user=stranger, role="owner")
    Mute.objects.create(user=vera, kind="wrong")
    wrong(volume)
    tasks.send_notices()
    assert mail.outbox == []


def test_who_got_the_volume_meanwhile_is_not_notified_that_a_problem_of_before_is_over(
    volume: Volume,
) -> None:
    there = wrong(volume)
    tasks.send_notices()
    zebra = make.customer("Zebra")
    zebra.members.create(user=make.user("otto@example.org"), role="owner")
    Volume.objects.filter(pk=volume.pk).update(customer=zebra)
    there.resolved_at = timezone.now()
    there.save()
    tasks.send_notices()
    assert [each.to for each in mail.outbox] == [["vera@example.org"]]
