"""Suspensions, and what became of messages to the billing system."""

from __future__ import annotations

import pytest

from panel.models import Message
from tests import make
from tests.panel.api.asking import member, problem, staff

pytestmark = pytest.mark.django_db


def test_a_suspension_can_be_read_where_it_is_made_and_at_its_customer() -> None:
    asking, acme = staff("operator"), make.customer("Acme")
    customer, path = f"/customers/{acme.key}", f"/customers/{acme.key}/suspension"
    assert asking.get(customer).json()["suspended_at"] is None
    problem(asking.get(path), 404, "not_found")
    made = asking.send("put", path)
    assert made.status_code == 200, made.content
    at = made.json()["suspended_at"]
    assert at
    assert asking.get(path).json() == {"suspended_at": at}
    assert asking.send("put", path).json() == {"suspended_at": at}, "it stays the same one"
    assert asking.get(customer).json()["suspended_at"] == at
    assert asking.get("/customers/").json()["items"][0]["suspended_at"] == at
    assert asking.send("delete", path).status_code == 204
    assert asking.get(customer).json()["suspended_at"] is None


def test_people_of_a_customer_read_of_the_suspension_at_their_customer_alone() -> None:
    acme = make.customer("Acme")
    asking = member(acme)
    assert asking.get(f"/customers/{acme.key}").json()["suspended_at"] is None
    problem(asking.get(f"/customers/{acme.key}/suspension"), 404, "not_found")


def test_a_message_says_what_the_billing_system_answered_last() -> None:
    fields = {"type": "order.completed", "payload": {}}
    failed = Message.objects.create(
        name="msg_1", attempts=2, last_status=500, last_error="It answered with 500.", **fields
    )
    items = staff().get("/messages/").json()["items"]
    shown = {name: items[0][name] for name in ("name", "attempts", "status", "error")}
    assert shown == {
        "name": "msg_1",
        "attempts": 2,
        "status": 500,
        "error": "It answered with 500.",
    }
    assert items[0]["next_at"]
    Message.objects.filter(pk=failed.pk).update(delivered_at=failed.created_at)
    assert staff().get("/messages/").json()["items"][0]["next_at"] is None
