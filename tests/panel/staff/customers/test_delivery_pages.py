"""The log of deliveries."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from jobs import notify_workers
from panel.billing import outbox
from panel.billing.message_delivery import send_due_messages
from panel.deliveries import delivery_queue
from panel.models import Message, MessageType
from tests import make
from tests.panel.billing.desk import Desk

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Client:
    settings.TIERCEL_BILLING_URL = "https://billing.example.org/hook"
    monkeypatch.setattr(notify_workers, "send", lambda *args: True)
    client = Client()
    client.force_login(make.staff_user())
    return client


def page(admin: Client, **query: str) -> str:
    text: str = admin.get(reverse("billing"), query).content.decode()
    return text


def press(admin: Client, name: str, *args: str) -> Any:
    return admin.post(reverse(name, args=args), follow=True).content.decode()


def test_a_test_is_sent_and_its_answer_shown(admin: Client) -> None:
    assert "No messages yet" in page(admin)
    assert "being sent" in press(admin, "billing-test")
    assert "waiting" in page(admin)
    send_due_messages(Desk(500))
    text = page(admin)
    assert "The billing system answered with 500." in text and "retrying" in text
    assert page(admin, only="open").count("<code") == 1


def test_what_was_given_up_can_be_sent_again(admin: Client) -> None:
    outbox.write(MessageType.TEST, "abc", {})
    message = Message.objects.get()
    delivery_queue.given_up(message, None, "No answer within 10 s.")
    assert "given up" in page(admin)
    assert "being sent again" in press(admin, "billing-again", message.name)
    send_due_messages(Desk(200))
    assert "delivered" in page(admin)
    assert "All messages are delivered." in page(admin, only="open")


def test_an_address_that_said_it_is_gone_is_enabled_by_a_person(admin: Client) -> None:
    outbox.write(MessageType.TEST, "abc", {})
    send_due_messages(Desk(410))
    assert "answered that its address is gone (410)" in page(admin)
    assert "address is gone" not in press(admin, "billing-enable")


def test_without_a_billing_system_the_page_says_how_to_have_one(
    admin: Client, settings: Settings
) -> None:
    settings.TIERCEL_BILLING_URL = ""
    assert "No billing system" in page(admin)
    assert "Nothing was sent" in press(admin, "billing-test")
    assert not Message.objects.exists()
