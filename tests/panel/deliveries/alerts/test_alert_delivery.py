"""Messages of alerts: what they say, and that each is taken once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings
from standardwebhooks.webhooks import Webhook

from panel import tasks
from panel.deliveries.alerts import alert_delivery, alert_routing
from panel.deliveries.alerts.alert_delivery import ALERT_MESSAGES
from panel.deliveries.delivery_loop import INTERNAL, deliver_due
from panel.models import AlertDelivery, AlertRoute
from tests import make
from tests.panel.deliveries.alerts.alert_messages import (
    SECRET,
    alert,
    event,
    mail_route,
    route_to,
    routed,
)
from tests.panel.deliveries.alerts.receivers import Place
from tests.scene import HOSTILE

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(settings: Settings) -> Iterator[Place]:
    settings.TIERCEL_ALERT_PRIVATE_HOSTS = ["127.0.0.1"]
    with Place() as made:
        yield made


def later() -> None:
    """Let the pauses have passed."""
    AlertDelivery.objects.unsent().update(next_at=Now() - timedelta(seconds=1))


def test_one_mail_says_what_is_wrong_and_what_to_do() -> None:
    mail_route()
    there = alert(make.host(name="stor-hel-03"))
    event(there)
    tasks.send_alerts()
    (sent,) = mail.outbox
    assert sent.to == ["anna@example.org"]
    assert sent.subject == "[Tiercel] stor-hel-03: md0 (raid1) is missing 1 disk (data at risk)"
    body = str(sent.body)
    assert "A second disk failure can destroy all data on this array." in body
    assert "What to do: Replace the disk." in body
    assert f"/alerts/{there.key}/" in body
    assert sent.extra_headers["Message-ID"].startswith(f"<alert-{AlertDelivery.objects.get().key}@")


def test_a_mail_has_commands_without_the_marks_of_pages() -> None:
    mail_route()
    there = alert(
        make.host(), message="`lvs -a` (pid 12) hangs.", correction="Look at `dmesg` on the host."
    )
    event(there)
    tasks.send_alerts()
    (sent,) = mail.outbox
    assert "lvs -a (pid 12) hangs" in sent.subject
    assert "What to do: Look at dmesg on the host." in str(sent.body)


def test_one_mail_says_that_it_is_over() -> None:
    mail_route()
    there = alert(make.host(name="stor-hel-03"))
    event(there)
    tasks.send_alerts()
    there.resolved_at = there.opened_at + timedelta(minutes=42)
    there.save()
    event(there, "resolved")
    tasks.send_alerts()
    tasks.send_alerts()
    first, last = mail.outbox
    assert last.subject == "[Tiercel] Resolved: stor-hel-03: md0 (raid1) is missing 1 disk"
    assert "Resolved after 42 min." in str(last.body)
    assert first.extra_headers["References"] == last.extra_headers["References"]


def test_a_failed_job_that_is_no_longer_listed_is_not_called_resolved() -> None:
    mail_route()
    there = alert(make.host(name="stor-hel-03"), code="job_failed", message="Add cache failed.")
    event(there)
    tasks.send_alerts()
    event(there, "resolved", text="It failed 2 days ago and is no longer reported.")
    tasks.send_alerts()
    last = mail.outbox[1]
    assert last.subject == "[Tiercel] No longer reported: stor-hel-03: Add cache failed"
    assert "It failed 2 days ago and is no longer reported. The problem was: Add cache" in str(
        last.body
    )
    assert "Resolved" not in str(last.body)


def test_the_end_does_not_arrive_before_the_beginning() -> None:
    mail_route()
    there = alert(make.host(name="stor-hel-03"))
    event(there)
    routed()
    # Its mail was refused some times, and is tried again in a while.
    AlertDelivery.objects.update(attempts=8, next_at=Now() + timedelta(minutes=10))
    event(there, "resolved")
    event(alert(make.host(name="other")))
    tasks.send_alerts()
    assert [each.subject.partition(":")[0] for each in mail.outbox] == ["[Tiercel] other"]
    # It waits; that is no failure to send.
    assert not AlertDelivery.objects.due().exists()
    later()
    tasks.send_alerts()
    assert ["Resolved" in each.subject for each in mail.outbox[1:]] == [False, True]


def test_an_end_does_not_wait_for_a_beginning_that_was_given_up() -> None:
    mail_route()
    there = alert()
    event(there)
    routed()
    AlertDelivery.objects.update(given_up_at=Now())
    event(there, "resolved")
    tasks.send_alerts()
    assert len(mail.outbox) == 1


def test_several_alerts_of_one_moment_are_one_mail_the_gravest_first() -> None:
    mail_route()
    event(alert(make.host(name="b"), rank=2, code="drift", message="It differs."))
    event(alert(make.host(name="a")))
    tasks.send_alerts()
    (sent,) = mail.outbox
    assert sent.subject == "[Tiercel] 2 alerts: a, b (data at risk)"
    assert str(sent.body).index("a: Array degraded") < str(sent.body).index("b: Volume differs")


def test_an_alert_names_what_follows_from_it() -> None:
    mail_route()
    there = alert()
    for n in range(12):
        alert(
            there.host, cause=there, volume=make.volume(label=f"web{n}"), code="writeback_degraded"
        )
    event(there)
    tasks.send_alerts()
    assert "web9 and 2 more." in str(mail.outbox[0].body)


def test_what_a_host_says_breaks_no_header() -> None:
    mail_route()
    event(alert(message=f"one\r\nBcc: all@example.org\r\n{HOSTILE} " + "x" * 300))
    tasks.send_alerts()
    (sent,) = mail.outbox
    assert "\n" not in sent.subject
    assert len(sent.subject) <= 150


def test_a_mail_server_that_is_away_loses_and_doubles_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mail_route()
    event(alert())
    send = EmailMessage.send

    def refuse(*args: Any, **kwargs: Any) -> int:
        raise ConnectionRefusedError("connection refused")

    monkeypatch.setattr(EmailMessage, "send", refuse)
    tasks.send_alerts()
    tasks.send_alerts()
    row = AlertDelivery.objects.get()
    assert (row.attempts, row.delivered_at, row.last_error) == (
        1,
        None,
        "The mail server refused the connection.",
    )
    assert row.next_at > timezone.now()
    monkeypatch.setattr(EmailMessage, "send", send)
    for _ in range(3):
        later()
        tasks.send_alerts()
    assert len(mail.outbox) == 1
    row.refresh_from_db()
    assert row.delivered_at is not None


def test_ten_minutes_of_outage_are_over_within_five() -> None:
    """However long the pauses have become."""
    waited, tries = 0.0, 0
    while waited < 600:
        waited += ALERT_MESSAGES.pauses[tries] * 1.2
        tries += 1
    assert waited - 600 <= 300
    assert sum(ALERT_MESSAGES.pauses) > 86_400


def test_a_webhook_is_signed_and_says_what_changed(place: Place) -> None:
    route_to(f"{place.url}/hook")
    there = alert(make.host(name="stor-hel-03"), volume=make.volume(label="web12"))
    event(there)
    tasks.send_alerts()
    (got,) = place.got
    body = Webhook(SECRET).verify(got["body"], got["headers"])
    assert got["headers"]["webhook-id"] == f"alert_{AlertDelivery.objects.get().key}"
    assert body["type"] == "alert.opened"
    (entry,) = body["data"]["alerts"]
    assert (entry["key"], entry["code"], entry["data_at_risk"]) == (
        there.key,
        "array_degraded",
        True,
    )
    assert entry["host"]["name"] == "stor-hel-03"
    assert entry["volume"]["label"] == "web12"


def test_a_webhook_that_fails_is_sent_again_under_its_name(place: Place) -> None:
    route_to(f"{place.url}/hook")
    place.statuses[:] = [503, 500]
    event(alert())
    for _ in range(5):
        tasks.send_alerts()
        later()
    assert len({each["headers"]["webhook-id"] for each in place.got}) == 1
    assert len(place.got) == 3
    assert AlertDelivery.objects.get().last_status == 200


@pytest.mark.parametrize(
    ("status", "least", "most"), [(429, 600, 720), (503, 600, 720), (500, 5, 6)]
)
def test_who_asks_for_a_pause_gets_it(place: Place, status: int, least: int, most: int) -> None:
    route_to(f"{place.url}/hook")
    place.statuses[:] = [status]
    place.headers["Retry-After"] = "600"
    event(alert())
    before = timezone.now()
    tasks.send_alerts()
    after = timezone.now()
    tried = AlertDelivery.objects.get()
    assert (tried.last_status, tried.attempts) == (status, 1)
    assert before + timedelta(seconds=least) <= tried.next_at <= after + timedelta(seconds=most)


def test_who_says_that_it_is_gone_is_asked_no_more(place: Place) -> None:
    route_to(f"{place.url}/hook")
    place.statuses[:] = [410]
    event(alert())
    tasks.send_alerts()
    assert AlertDelivery.objects.get().given_up_at is not None


def test_one_address_that_fails_keeps_no_other_from_its_message(place: Place) -> None:
    route_to("http://127.0.0.1:9/away", "slack", "")
    mail_route()
    event(alert())
    tasks.send_alerts()
    assert len(mail.outbox) == 1
    failed = AlertDelivery.objects.get(route__kind="slack")
    assert "refused" in failed.last_error


def test_a_message_that_cannot_be_written_keeps_no_other_from_its_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mail_route()
    event(alert(message="cannot be written"))
    alert_routing.route_events()
    event(alert(message="is fine"))
    alert_routing.route_events()
    written = alert_delivery._letter

    def letter(row: AlertDelivery, stories: Any) -> Any:
        if any(each.alert.message == "cannot be written" for each in stories):
            raise LookupError("of the test")
        return written(row, stories)

    monkeypatch.setattr(alert_delivery, "_letter", letter)
    deliver_due(ALERT_MESSAGES)
    assert len(mail.outbox) == 1
    (waiting,) = AlertDelivery.objects.unsent()
    assert waiting.last_error == INTERNAL
    AlertDelivery.objects.unsent().update(attempts=len(ALERT_MESSAGES.pauses))
    later()
    deliver_due(ALERT_MESSAGES)
    waiting.refresh_from_db()
    assert waiting.given_up_at is not None


def test_ntfy_gets_a_topic_with_a_priority(place: Place) -> None:
    route_to(f"{place.url}/base/storage", "ntfy", "tk_abc")
    event(alert(make.host(name="höst")))
    tasks.send_alerts()
    (got,) = place.got
    body = json.loads(got["body"])
    assert (got["path"], body["topic"], body["priority"]) == ("/base/", "storage", 5)
    assert "höst" in body["title"]
    assert body["tags"] == ["rotating_light"]
    assert got["headers"]["authorization"] == "Bearer tk_abc"
    assert "/alerts/" in body["click"]


def test_slack_gets_text_without_marks_of_a_host(place: Place) -> None:
    route_to(f"{place.url}/services/x", "slack", "")
    event(alert(message="<!channel> & more"))
    tasks.send_alerts()
    text = json.loads(place.got[0]["body"])["text"]
    assert "&lt;!channel&gt; &amp; more" in text


def test_matrix_gets_an_event_under_one_transaction(place: Place) -> None:
    route_to(f"{place.url}/rooms/!r:example.org/send/m.room.message", "matrix", "token")
    place.statuses[:] = [502]
    event(alert(message=HOSTILE))
    tasks.send_alerts()
    later()
    tasks.send_alerts()
    first, second = place.got
    assert (first["method"], first["path"]) == ("PUT", second["path"])
    assert first["path"].endswith(f"/m.room.message/{AlertDelivery.objects.get().key}")
    content = json.loads(first["body"])
    assert HOSTILE not in content["formatted_body"]
    assert first["headers"]["authorization"] == "Bearer token"


def test_a_test_message_goes_out_at_any_hour(place: Place) -> None:
    quiet = {"quiet_start": "00:00", "quiet_end": "23:59"}
    route = route_to(f"{place.url}/hook", **quiet)
    alert_routing.write_test(AlertRoute.objects.get(pk=route.pk))
    tasks.send_alerts()
    assert json.loads(place.got[0]["body"])["type"] == "alert.test"


def test_a_digest_lists_what_is_open() -> None:
    mail_route(most_rank=-1)
    AlertRoute.objects.update(digest_hour=timezone.now().hour)
    alert(make.host(name="stor-hel-03"))
    alert(resolved_at=timezone.now())
    tasks.send_alerts()
    (sent,) = mail.outbox
    assert "1 alert open (data at risk)" in sent.subject
    assert "1 resolved in the last 24 hours" in str(sent.body)
    assert "- stor-hel-03: Array degraded." in str(sent.body)


def test_a_digest_is_about_the_hosts_of_its_route() -> None:
    route = mail_route(most_rank=-1, sites=["Hel"], digest_hour=0)
    mine, other = make.host(name="stor-hel-03", site="Hel"), make.host(name="stor-fra-01")
    alert(mine, code="drift", rank=2)
    alert(other)
    alert(other, resolved_at=timezone.now())
    # What stands for it is not on this route's hosts.
    away = alert(other, code="silent", rank=1)
    alert(mine, code="silent", rank=1, cause=away)
    group = alert(mine, code="pv_missing")
    alert(mine, code="ssd_lost", cause=group)
    tasks.send_alerts()
    (sent,) = mail.outbox
    assert sent.to == [route.user.email]
    assert "3 alerts open, 0 resolved in the last 24 hours." in str(sent.body)
    assert "stor-fra-01" not in str(sent.body)


def test_a_digest_says_what_is_silenced_or_acknowledged() -> None:
    mail_route(most_rank=-1, digest_hour=0)
    alert(make.host(name="a"), muted_by="silence")
    alert(make.host(name="b"), muted_by="maintenance")
    alert(make.host(name="c"), acknowledged_at=timezone.now(), acknowledged_reason="Ordered.")
    tasks.send_alerts()
    body = str(mail.outbox[0].body)
    lines = [each for each in body.splitlines() if each.startswith("- ")]
    ends = [each.rpartition(" (")[2] for each in lines]
    assert ends == ["silenced)", "maintenance)", "acknowledged: Ordered.)"]


def test_a_test_message_goes_out_in_a_pause_and_nothing_else_does() -> None:
    route = mail_route(paused_until=timezone.now() + timedelta(hours=1))
    alert_routing.write_test(route)
    AlertDelivery.objects.create(route=route)
    tasks.send_alerts()
    assert [each.subject for each in mail.outbox] == ["[Tiercel] Test message"]
    assert AlertDelivery.objects.get(purpose="events").given_up_at is not None


def test_what_waits_for_a_route_that_was_switched_off_is_given_up() -> None:
    mail_route()
    event(alert())
    routed()
    AlertRoute.objects.update(is_on=False)
    tasks.send_alerts()
    assert mail.outbox == []
    assert AlertDelivery.objects.get().given_up_at is not None


def test_an_address_that_no_key_opens_says_so(place: Place) -> None:
    route = route_to(f"{place.url}/hook")
    AlertRoute.objects.filter(pk=route.pk).update(url="sealed:AAAA")
    event(alert())
    tasks.send_alerts()
    assert "TIERCEL_SECRET_KEY" in AlertDelivery.objects.get().last_error


class Killed(BaseException):
    pass


def test_a_worker_that_dies_while_it_sends_holds_the_message_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mail_route()
    event(alert())

    def die(*args: Any, **kwargs: Any) -> int:
        raise Killed

    with monkeypatch.context() as dying, pytest.raises(Killed):
        dying.setattr(EmailMessage, "send", die)
        tasks.send_alerts()
    tasks.send_alerts()
    assert mail.outbox == []
    later()
    tasks.send_alerts()
    assert len(mail.outbox) == 1
