"""Webhooks: each event once by its id, in the order of its subject, whatever the receiver does."""

from __future__ import annotations

import base64
import json
import random
import socket
from collections.abc import Iterator
from datetime import UTC, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from django.db.models import F
from django.http import Http404
from django.utils import timezone
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from jobs.models import State
from panel import tasks
from panel.accounts.authentication.second_factor import seal, unseal
from panel.deliveries import delivery_queue, http_post
from panel.deliveries.delivery_loop import deliver_due
from panel.deliveries.http_post import Answer
from panel.deliveries.signature import new_secret
from panel.deliveries.webhooks import saved_webhooks, webhook_fanout, webhook_sending
from panel.deliveries.webhooks.webhook_forms import WebhookForm
from panel.deliveries.webhooks.webhook_sending import WEBHOOK_MESSAGES
from panel.models import Webhook, WebhookDelivery
from storage.models import Event
from tests import make
from tests.panel.cast import party
from tests.panel.deliveries.alerts.receivers import Place
from tests.panel.deliveries.webhooks.addresses import SECRET, webhook
from tests.scene import end, job, scene

pytestmark = pytest.mark.django_db
MOMENTS = {
    Event: ("at",),
    WebhookDelivery: (
        "created_at",
        "tried_since",
        "next_at",
        "held_until",
        "delivered_at",
        "given_up_at",
    ),
    Webhook: ("created_at", "rests_until", "disabled_at", "former_until"),
}


@pytest.fixture
def place(settings: Any) -> Iterator[Place]:
    settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    with Place() as made:
        yield made


def pass_time(time: timedelta) -> None:
    """Everything that is stored becomes older."""
    for model, names in MOMENTS.items():
        model._default_manager.update(**{name: F(name) - time for name in names})


def ids(place: Place) -> list[str]:
    return [each["headers"]["webhook-id"] for each in place.got]


def bodies(place: Place) -> list[dict[str, Any]]:
    return [json.loads(each["body"]) for each in place.got]


def sent(**fields: Any) -> list[WebhookDelivery]:
    return list(WebhookDelivery.objects.filter(**fields).order_by("pk"))


def test_saving_the_form_keeps_what_fan_out_and_sender_wrote_meanwhile(place: Place) -> None:
    row = webhook(place.url)
    form = WebhookForm({"name": "other", "is_on": "on"}, webhook=row)
    assert form.is_valid()
    rests_until = timezone.now()
    Webhook.objects.update(position=row.position + 7, failures=3, rests_until=rests_until)
    form.save(make.staff_user())
    now = Webhook.objects.get()
    assert (now.name, now.failures, now.rests_until) == ("other", 3, rests_until)
    assert now.position == row.position + 7


def test_saving_the_form_brings_no_deleted_webhook_back(place: Place) -> None:
    row = webhook(place.url)
    form = WebhookForm({"name": "other", "is_on": "on"}, webhook=row)
    assert form.is_valid()
    Webhook.objects.all().delete()
    with pytest.raises(Http404):
        form.save(make.staff_user())
    assert not Webhook.objects.exists()


def test_of_two_who_change_a_secret_the_second_keeps_the_secret_of_the_first(place: Place) -> None:
    row, by = webhook(place.url), make.staff_user()
    first = saved_webhooks.change_secret(row, by, 2)
    saved_webhooks.change_secret(row, by, 2)
    assert unseal(Webhook.objects.get().former_secret) == first


def test_an_event_is_sent_signed_under_its_own_name(place: Place) -> None:
    webhook(place.url)
    host = make.host(name="stor-1")
    tasks.send_webhooks()
    tasks.send_webhooks()
    (got,) = place.got
    event = Event.objects.get(host_key=host.key)
    assert got["headers"]["webhook-id"] == event.key
    body = Verifier(SECRET).verify(got["body"], got["headers"])
    assert body["id"] == event.key
    assert body["type"] == "host.added"
    assert body["data"]["name"] == "stor-1"
    assert [each.state for each in sent()] == ["delivered"]


def test_what_happened_before_the_webhook_was_made_is_not_sent(place: Place) -> None:
    make.host()
    webhook(place.url)
    tasks.send_webhooks()
    assert place.got == []


def test_a_webhook_gets_the_types_and_the_families_that_it_wants(place: Place) -> None:
    webhook(place.url, kinds=["job.*", "volume.renamed"])
    there = scene()
    job(there)
    there.volume.label = "other"
    there.volume.size_bytes += 4096
    there.volume.save()
    tasks.send_webhooks()
    assert [each["type"] for each in bodies(place)] == ["job.queued", "volume.renamed"]


def test_a_webhook_of_a_customer_gets_what_their_people_see(place: Place) -> None:
    acme = party("acme")
    webhook(place.url, customer=acme.customer)
    party("zebra")
    acme.there.volume.label = "renamed"
    acme.there.volume.save()
    tasks.send_webhooks()
    (body,) = bodies(place)
    assert body["type"] == "volume.renamed"
    assert "host" not in body["data"]
    assert "managed" not in body["data"]


def test_two_secrets_sign_while_one_is_changed_and_one_alone_afterwards(place: Place) -> None:
    row = webhook(place.url)
    new = saved_webhooks.change_secret(row, make.staff_user(), 24)
    make.host()
    tasks.send_webhooks()
    for secret in (SECRET, new):
        assert Verifier(secret).verify(place.got[0]["body"], place.got[0]["headers"])
    pass_time(timedelta(hours=25))
    make.host()
    tasks.send_webhooks()
    assert Verifier(new).verify(place.got[1]["body"], place.got[1]["headers"])
    with pytest.raises(WebhookVerificationError):
        Verifier(SECRET).verify(place.got[1]["body"], place.got[1]["headers"])


def let_others_send(monkeypatch: pytest.MonkeyPatch, senders: int) -> None:
    """While a message is on its way, the next sender takes what is due meanwhile."""
    post, at_work = webhook_sending.send_event, []

    def posted(row: WebhookDelivery) -> Answer:
        at_work.append(row)
        try:
            if len(at_work) < senders:
                deliver_due(WEBHOOK_MESSAGES)
            return post(row)
        finally:
            at_work.pop()

    monkeypatch.setattr(webhook_sending, "send_event", posted)


@pytest.mark.parametrize("senders", [1, WEBHOOK_MESSAGES.senders])
def test_a_receiver_that_is_down_for_a_day_gets_each_event_once_in_order(
    place: Place, settings: Any, monkeypatch: pytest.MonkeyPatch, senders: int
) -> None:
    """Two days of a fleet, half an hour at a time; the receiver is down for the first one."""
    chance = random.Random(17)
    let_others_send(monkeypatch, senders)
    row = webhook(place.url)
    settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS = []
    scenes = [scene() for _ in range(5)]
    for half_hours in range(96):
        if half_hours < 40 or half_hours > 60:
            there = chance.choice(scenes)
            there.volume.size_bytes += 4096
            there.volume.save()
        if half_hours == 48:
            settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
        if half_hours == 49:
            # Nothing waits for its own next try once the receiver takes something.
            assert not WebhookDelivery.objects.unsent().exists()
        if 50 < half_hours < 60:
            place.statuses[:] = [chance.choice([200, 500, 503, 429]) for _ in range(3)]
        for _ in range(2):
            tasks.send_webhooks()
            webhook_fanout.prune_webhook_messages(timezone.now())
        pass_time(timedelta(minutes=30))
    events = list(Event.objects.listed().filter(position__gt=row.position))
    yes = [each for each in place.got if each["status"] == 200]
    taken = [each["headers"]["webhook-id"] for each in yes]
    assert len(place.got) > len(taken)
    assert len(taken) == len(set(taken))
    assert set(taken) == {each.key for each in events}
    for subject in {each.subject for each in events}:
        order = [each.key for each in events if each.subject == subject]
        assert [key for key in taken if key in order] == order
    assert not sent(given_up_at__isnull=False)


def test_later_events_of_a_subject_wait_for_the_first_and_others_do_not(place: Place) -> None:
    webhook(place.url)
    one, other = scene(), scene()
    tasks.send_webhooks()
    place.got.clear()
    place.statuses[:] = [400]
    job(one)
    end(job(other), State.SUCCEEDED)
    tasks.send_webhooks()
    end(job(scene()))
    first = f"volume:{one.volume.key}"
    one.volume.label = "later"
    one.volume.save()
    tasks.send_webhooks()
    about_one = [each["type"] for each in bodies(place) if each["subject"] == first]
    assert about_one == ["job.queued"]
    about_other = [each["type"] for each in bodies(place) if each["subject"] != first]
    assert about_other.count("job.succeeded") == 2
    pass_time(timedelta(minutes=1))
    tasks.send_webhooks()
    about_one = [each["type"] for each in bodies(place) if each["subject"] == first]
    assert about_one == ["job.queued", "job.queued", "volume.renamed"]


def test_a_receiver_that_comes_back_is_not_sent_what_another_sender_holds(place: Place) -> None:
    row = webhook(place.url)
    make.host()
    make.host()
    webhook_fanout.fan_out()
    Webhook.objects.update(failures=3)
    held = delivery_queue.claim(WebhookDelivery.objects.due())
    assert held is not None
    deliver_due(WEBHOOK_MESSAGES)
    row.refresh_from_db()
    assert row.failures == 0
    assert len(ids(place)) == 1
    assert held.name not in ids(place)
    pass_time(delivery_queue.LEASE)
    deliver_due(WEBHOOK_MESSAGES)
    assert ids(place)[1:] == [held.name], "its sender died"


def test_a_receiver_that_is_down_is_not_asked_for_each_event(place: Place, settings: Any) -> None:
    settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS = []
    row = webhook(place.url)
    for _ in range(20):
        make.host()
    for _ in range(5):
        tasks.send_webhooks()
    assert sum(each.attempts for each in sent()) == 1
    row.refresh_from_db()
    assert row.failures == 1
    assert row.rests_until is not None
    for _ in range(30):
        pass_time(timedelta(hours=1))
        tasks.send_webhooks()
    row.refresh_from_db()
    assert (row.rests_until or timezone.now()) - timezone.now() < timedelta(minutes=6)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("200", 200, 240),
        ("1", 1, 2),
        ("86400", 3600, 4320),
        ("0", 1, 2),
        ("in a minute", 5, 6),
        ("-5", 5, 6),
        ("9" * 30, 5, 6),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 1, 2),
    ],
)
def test_a_receiver_says_when_to_come_again_within_an_hour(
    place: Place, status: int, said: str, least: float, most: float
) -> None:
    row = webhook(place.url)
    place.statuses[:] = [status]
    place.headers["Retry-After"] = said
    make.host()
    make.host()
    tasks.send_webhooks()
    row.refresh_from_db()
    [tried] = sent(attempts=1)
    for at in (tried.next_at, row.rests_until):
        assert at is not None
        left = (at - timezone.now()).total_seconds()
        assert least - 3 < left <= most
    assert len(place.got) == 1


def test_a_receiver_may_say_it_as_a_date(place: Place) -> None:
    webhook(place.url)
    place.statuses[:] = [503]
    at = timezone.now() + timedelta(minutes=10)
    place.headers["Retry-After"] = format_datetime(at.astimezone(UTC), usegmt=True)
    make.host()
    tasks.send_webhooks()
    [tried] = sent()
    assert 595 < (tried.next_at - timezone.now()).total_seconds() < 725


def test_what_is_no_refusal_for_now_has_no_say_in_it(place: Place) -> None:
    webhook(place.url)
    place.statuses[:] = [500]
    place.headers["Retry-After"] = "3000"
    make.host()
    tasks.send_webhooks()
    [tried] = sent()
    assert (tried.next_at - timezone.now()).total_seconds() < 7


def test_what_no_server_took_for_25_hours_is_given_up_and_said(place: Place, settings: Any) -> None:
    settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS = []
    webhook(place.url)
    make.host()
    make.host()
    tasks.send_webhooks()
    pass_time(timedelta(hours=24, minutes=50))
    tasks.prune_messages()
    assert not sent(given_up_at__isnull=False)
    pass_time(timedelta(minutes=20))
    tasks.send_webhooks()
    tasks.prune_messages()
    assert [each.state for each in sent()] == ["given_up", "given_up"]
    assert webhook_fanout.TOO_OLD in {each.last_error for each in sent()}


def test_410_disables_until_a_person_saves_the_webhook_again(place: Place) -> None:
    row = webhook(place.url)
    place.statuses[:] = [410]
    make.host()
    make.host()
    tasks.send_webhooks()
    make.host()
    tasks.send_webhooks()
    row.refresh_from_db()
    assert row.disabled_at is not None
    assert len(place.got) == 1
    assert {each.last_error for each in sent()} == {webhook_fanout.GONE}
    form = WebhookForm({"name": "scripts", "is_on": "1"}, webhook=row)
    assert form.is_valid(), form.errors
    form.save(make.staff_user())
    make.host(name="after")
    tasks.send_webhooks()
    assert [each["data"]["name"] for each in bodies(place)][1:] == ["after"]


def test_a_message_is_sent_again_under_the_same_id(place: Place) -> None:
    webhook(place.url)
    make.host()
    tasks.send_webhooks()
    pass_time(timedelta(days=3))
    saved_webhooks.send_again(sent()[0])
    tasks.send_webhooks()
    first, second = ids(place)
    assert first == second


def test_a_test_message_says_what_it_is(place: Place) -> None:
    webhook_fanout.write_test(webhook(place.url))
    tasks.send_webhooks()
    (body,) = bodies(place)
    assert body["type"] == "webhook.test"
    assert Verifier(SECRET).verify(place.got[0]["body"], place.got[0]["headers"])


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/hook",
        "https://localhost/hook",
        "https://[::1]/hook",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.7/hook",
        "https://2130706433/hook",
        "https://0x7f.1/hook",
        "https://0/hook",
        "https://[::ffff:10.0.0.7]/hook",
        "https://[64:ff9b::a00:7]/hook",
        "https://[2002:a00:7::]/hook",
    ],
)
def test_a_webhook_leads_to_no_private_network(url: str) -> None:
    webhook(url)
    make.host()
    tasks.send_webhooks()
    (row,) = sent()
    assert row.delivered_at is None
    assert "TIERCEL_WEBHOOK_PRIVATE_HOSTS" in row.last_error


def test_a_name_that_changes_its_address_leads_to_the_one_that_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DNS rebinding: public when it is looked at, this machine when it is called."""
    answers = ["93.184.215.14", "127.0.0.1", "127.0.0.1"]
    asked, called = [], []

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        address = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(address: tuple[str, int], **_: Any) -> socket.socket:
        called.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", connect)
    row = WebhookDelivery.objects.create(
        webhook=webhook("https://rebind.example.org/hook"), subject="test"
    )
    with pytest.raises(http_post.NoResponse):
        webhook_sending.send_event(row)
    assert asked == ["rebind.example.org"]
    assert called == [("93.184.215.14", 443)]


def test_a_redirect_is_not_followed(place: Place) -> None:
    webhook(place.url)
    place.statuses[:] = [302]
    make.host()
    tasks.send_webhooks()
    assert len(place.got) == 1
    assert sent()[0].last_error == "The receiver answered with 302."


def test_an_unforeseen_error_of_one_message_stops_no_other_one(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(place.url, name="broken", secret=seal("whsec_"))
    webhook(place.url)
    make.host()
    tasks.send_webhooks()
    assert len(place.got) == 1
    assert {each.webhook.name: each.state for each in sent()} == {
        "broken": "waiting",
        "scripts": "delivered",
    }


def test_a_new_secret_can_sign() -> None:
    secret = new_secret()
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
