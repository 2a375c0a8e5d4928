"""Webhooks by the API: made, changed, tested, their secrets changed, their log read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from standardwebhooks.webhooks import Webhook as Verifier

from panel import tasks
from panel.models import ApiToken, SecurityEntry, SecurityKind, Webhook, WebhookDelivery
from tests import make
from tests.panel.api.asking import Program, problem, program, staff
from tests.panel.deliveries.alerts.receivers import Place
from tests.panel.deliveries.webhooks.addresses import webhook

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(settings: Any) -> Iterator[Place]:
    settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    with Place() as made:
        yield made


@pytest.fixture
def asking() -> Program:
    return staff()


def test_a_webhook_is_made_with_a_secret_that_is_shown_once(asking: Program, place: Place) -> None:
    body = {"name": "scripts", "address": place.url, "types": ["host.*"]}
    made = asking.send("post", "/webhooks/", body)
    assert made.status_code == 201, made.content
    assert made["Location"] == made.json()["url"]
    secret = made.json()["secret"]
    shown = asking.get(f"/webhooks/{made.json()['key']}")
    assert "secret" not in shown.json()
    assert shown.json()["server"] == "127.0.0.1"
    assert place.url not in shown.content.decode()
    make.host()
    tasks.send_webhooks()
    assert Verifier(secret).verify(place.got[0]["body"], place.got[0]["headers"])
    assert SecurityEntry.objects.get(kind=SecurityKind.WEBHOOK).detail == (
        f"scripts added, to 127.0.0.1, by token {ApiToken.objects.get().key}"
    )
    (listed,) = asking.get("/webhooks/").json()["items"]
    assert listed == shown.json()


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"address": "http://scripts.example.org/"}, "/address"),
        ({"address": "https://localhost:99999/"}, "/address"),
        ({"address": ""}, "/address"),
        ({"types": ["job.nonsense"]}, "/types/0"),
        ({"customer": "unknown"}, "/customer"),
        ({"name": ""}, "/name"),
    ],
)
def test_a_bad_field_is_named(asking: Program, change: dict[str, Any], pointer: str) -> None:
    body = {"name": "scripts", "address": "https://scripts.example.org/", **change}
    refused = problem(asking.send("post", "/webhooks/", body), 422, "invalid")
    assert [each["pointer"] for each in refused["errors"]] == [pointer]


def test_what_a_patch_leaves_out_stays(asking: Program, place: Place) -> None:
    row = webhook(place.url)
    Webhook.objects.update(kinds=["job.*"])
    changed = asking.send("patch", f"/webhooks/{row.key}", {"name": "other"})
    assert changed.status_code == 200, changed.content
    shown = changed.json()
    assert (shown["name"], shown["server"], shown["types"]) == ("other", "127.0.0.1", ["job.*"])
    off = asking.send("patch", f"/webhooks/{row.key}", {"on": False}).json()
    assert (off["name"], off["on"]) == ("other", False)
    renamed = asking.send("patch", f"/webhooks/{row.key}", {"name": "third"}).json()
    assert (renamed["name"], renamed["on"]) == ("third", False)
    problem(asking.send("post", f"/webhooks/{row.key}/test"), 409, "off")
    problem(asking.send("patch", f"/webhooks/{row.key}", {}), 422, "invalid")


def test_another_name_does_not_enable_what_a_410_disabled(asking: Program, place: Place) -> None:
    row = webhook(place.url)
    Webhook.objects.update(disabled_at=timezone.now())
    renamed = asking.send("patch", f"/webhooks/{row.key}", {"name": "other"}).json()
    assert renamed["disabled_at"] is not None
    enabled = asking.send("patch", f"/webhooks/{row.key}", {"on": True}).json()
    assert (enabled["on"], enabled["disabled_at"]) == (True, None)


def test_a_put_names_each_field_that_it_lacks(asking: Program, place: Place) -> None:
    row = webhook(place.url)
    whole = {"name": "n", "address": None, "types": [], "customer": None, "on": True}
    for name in whole:
        body = {other: value for other, value in whole.items() if other != name}
        refused = problem(asking.send("put", f"/webhooks/{row.key}", body), 422, "invalid")
        assert [(each["pointer"], each["code"]) for each in refused["errors"]] == [
            (f"/{name}", "required")
        ]
    replaced = asking.send("put", f"/webhooks/{row.key}", whole).json()
    assert (replaced["name"], replaced["server"]) == ("n", "127.0.0.1")


def test_a_secret_is_changed_with_an_overlap(asking: Program, place: Place) -> None:
    row = webhook(place.url)
    changed = asking.send("post", f"/webhooks/{row.key}/secret", {"former_hours": 2})
    assert changed.json()["secret"].startswith("whsec_")
    assert changed.json()["former_secret_until"] is not None
    at_once = asking.send("post", f"/webhooks/{row.key}/secret", {"former_hours": 0})
    assert at_once.json()["former_secret_until"] is None
    row.refresh_from_db()
    assert row.former_secret == ""


def test_the_log_has_what_was_sent_and_sends_it_again(asking: Program, place: Place) -> None:
    row = webhook(place.url)
    place.statuses[:] = [400]
    make.host()
    tasks.send_webhooks()
    sent = asking.send("post", f"/webhooks/{row.key}/test")
    assert sent.status_code == 202, sent.content
    tasks.send_webhooks()
    test, event = asking.get(f"/webhooks/{row.key}/deliveries").json()["items"]
    assert (test["type"], test["state"], test["status"]) == ("webhook.test", "delivered", 200)
    assert (event["type"], event["state"], event["status"]) == ("host.added", "waiting", 400)
    assert event["error"] == "The receiver answered with 400."
    again = asking.send("post", f"/webhooks/{row.key}/deliveries/{event['key']}/redeliver")
    assert again.status_code == 202, again.content
    tasks.send_webhooks()
    _, event = asking.get(f"/webhooks/{row.key}/deliveries").json()["items"]
    assert event["state"] == "delivered"
    assert [each["headers"]["webhook-id"] for each in place.got].count(event["id"]) == 2


def test_a_deleted_webhook_forgets_what_was_sent(asking: Program, place: Place) -> None:
    row = webhook(place.url)
    make.host()
    tasks.send_webhooks()
    assert asking.send("delete", f"/webhooks/{row.key}").status_code == 204
    assert not Webhook.objects.exists()
    assert not WebhookDelivery.objects.exists()


def test_a_message_of_another_webhook_is_not_found(asking: Program, place: Place) -> None:
    one, other = webhook(place.url), webhook(place.url, name="other")
    row = WebhookDelivery.objects.create(webhook=other, subject="x")
    path = f"/webhooks/{one.key}/deliveries/{row.key}/redeliver"
    problem(asking.send("post", path), 404, "not_found")


def test_webhooks_need_their_own_scope() -> None:
    person = make.staff_user()
    body = {"name": "scripts", "address": "https://scripts.example.org/"}
    for scopes in (["read"], ["read", "alert-routes:write"]):
        answer = program(person, *scopes).send("post", "/webhooks/", body)
        problem(answer, 403, "insufficient_scope")
