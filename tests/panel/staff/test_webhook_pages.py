"""The pages of webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from panel import tasks
from panel.models import Webhook, WebhookDelivery
from tests import make
from tests.panel.cast import browser
from tests.panel.deliveries.alerts.receivers import Place
from tests.panel.deliveries.webhooks.addresses import SECRET, webhook

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(settings: Any) -> Iterator[Place]:
    settings.TIERCEL_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    with Place() as made:
        yield made


@pytest.fixture
def admin() -> Client:
    return browser(make.staff_user())


def text(answer: Any) -> str:
    body: str = answer.content.decode()
    return body


def test_the_page_without_webhooks_says_what_they_are(admin: Client) -> None:
    assert "A webhook sends events to a program" in text(admin.get(reverse("webhooks")))


def test_a_webhook_is_added_and_its_secret_shown_once(admin: Client, place: Place) -> None:
    form = {"name": "scripts", "url": place.url, "kinds": "job.*, host.added", "is_on": "on"}
    shown = text(admin.post(reverse("webhook-new"), form))
    assert "whsec_" in shown
    row = Webhook.objects.get()
    assert row.kinds == ["job.*", "host.added"]
    later = text(admin.get(reverse("webhook", args=[row.key])))
    assert "whsec_" not in later
    assert place.url not in later
    assert "job.*, host.added" in later


def test_a_refused_form_says_why(admin: Client) -> None:
    form = {"name": "scripts", "url": "http://scripts.example.org/", "kinds": "nonsense"}
    answer = admin.post(reverse("webhook-new"), form)
    assert answer.status_code == 422
    assert "TIERCEL_WEBHOOK_PRIVATE_HOSTS" in text(answer)
    assert "There is no type of event “nonsense”." in text(answer)


def test_the_log_shows_what_was_sent_and_sends_it_again(admin: Client, place: Place) -> None:
    row = webhook(place.url)
    place.statuses[:] = [500]
    make.host()
    tasks.send_webhooks()
    page = text(admin.get(reverse("webhooks") + "?only=open"))
    assert "The receiver answered with 500." in page
    assert "failing" in page
    sent = WebhookDelivery.objects.get()
    admin.post(reverse("webhook-message-again", args=[sent.key]))
    tasks.send_webhooks()
    assert "All messages are delivered." in text(admin.get(reverse("webhooks") + "?only=open"))
    admin.post(reverse("webhook-test", args=[row.key]))
    tasks.send_webhooks()
    assert "evt_test_" in text(admin.get(reverse("webhooks")))


def test_a_webhook_that_is_gone_is_shown_and_enabled_by_saving(admin: Client, place: Place) -> None:
    row = webhook(place.url)
    place.statuses[:] = [410]
    make.host()
    tasks.send_webhooks()
    assert "disabled" in text(admin.get(reverse("webhooks")))
    assert "Save to enable it again." in text(admin.get(reverse("webhook", args=[row.key])))
    admin.post(reverse("webhook", args=[row.key]), {"name": "scripts", "is_on": "on"})
    row.refresh_from_db()
    assert row.disabled_at is None


def test_a_new_secret_is_shown_once_and_the_former_one_signs_for_a_day(
    admin: Client, place: Place
) -> None:
    row = webhook(place.url)
    shown = text(admin.post(reverse("webhook-secret", args=[row.key])))
    assert "whsec_" in shown
    assert SECRET not in shown
    later = text(admin.get(reverse("webhook", args=[row.key])))
    assert "The former one signs until" in later


def test_a_webhook_is_deleted(admin: Client, place: Place) -> None:
    row = webhook(place.url)
    admin.post(reverse("webhook-delete", args=[row.key]))
    assert not Webhook.objects.exists()
