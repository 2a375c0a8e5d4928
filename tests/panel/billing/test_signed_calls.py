"""Signed calls of the billing system."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from pytest_django import Settings

from jobs import notify_workers
from jobs.models import Job, Kind, Origin, State
from panel.models import (
    BillingCall,
    LoginLink,
    Mandate,
    Message,
    MessageType,
    Order,
    OrderState,
    User,
)
from panel.orders import authorisation
from storage.access import MemberRole
from storage.models import Customer, Volume
from tests import make
from tests.panel.api.asking import problem
from tests.panel.billing.desk import OTHER, SECRET, call, ok
from tests.panel.orders.till import buy, finish
from tests.panel.portal.shop import Shop, plan, shop
from tests.scene import end, job, scene

pytestmark = pytest.mark.django_db
ACME = {"customer_external_id": "c-1"}
NEW = {"external_id": "c-1", "name": "Acme", "email": "Ann@acme.example"}


@pytest.fixture(autouse=True)
def signed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TIERCEL_BILLING_IN_SECRETS = [SECRET]
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    monkeypatch.setattr(notify_workers, "send", lambda *args: True)


def acme() -> Shop:
    """The customer `ACME` with its volume `v-1`."""
    found = shop()
    Customer.objects.filter(pk=found.customer.pk).update(external_id="c-1")
    Volume.objects.filter(pk=found.volume.pk).update(external_id="v-1")
    return found


# The signature and the book


@pytest.mark.parametrize(
    "how",
    [
        {"secrets": [OTHER]},
        {"raw": b'{"customer_external_id": "c-2"}'},
        {"id": "with.stop"},
    ],
)
def test_an_unsigned_call_does_nothing(how: dict[str, Any]) -> None:
    acme()
    problem(call("suspend", ACME, **how), 401, "bad_signature")
    assert Customer.objects.get().suspended_at is None
    assert not BillingCall.objects.exists()


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_call_of_another_time_does_nothing(minutes: int) -> None:
    acme()
    at = datetime.now(UTC) + timedelta(minutes=minutes)
    problem(call("suspend", ACME, at=at), 401, "bad_signature")
    assert Customer.objects.get().suspended_at is None


def test_without_a_secret_in_the_settings_every_call_is_refused(settings: Settings) -> None:
    settings.TIERCEL_BILLING_IN_SECRETS = []
    problem(call("suspend", ACME), 401, "bad_signature")


def test_a_body_that_names_its_call_is_good_for_no_other() -> None:
    acme()
    problem(call("suspend", {**ACME, "call": "unsuspend"}), 422, "invalid")
    assert Customer.objects.get().suspended_at is None
    ok(call("suspend", {**ACME, "call": "suspend"}))
    assert Customer.objects.get().suspended_at is not None


def test_while_the_secret_is_changed_both_are_good(settings: Settings) -> None:
    settings.TIERCEL_BILLING_IN_SECRETS = [OTHER, SECRET]
    acme()
    ok(call("suspend", ACME, secrets=[SECRET]))
    ok(call("unsuspend", ACME, secrets=[OTHER]))


def test_the_same_call_again_is_answered_again_and_done_once() -> None:
    acme()
    first = call("suspend", ACME, id="same")
    call("unsuspend", ACME)
    again = call("suspend", ACME, id="same", at=datetime.now(UTC) + timedelta(seconds=9))
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again["Idempotency-Replayed"] == "true"
    assert Customer.objects.get().suspended_at is None


def test_another_call_under_an_old_id_is_a_conflict() -> None:
    acme()
    ok(call("suspend", ACME, id="same"))
    problem(call("suspend", {"customer_external_id": "c-2"}, id="same"), 409, "webhook_id_reused")
    problem(call("unsuspend", ACME, id="same"), 409, "webhook_id_reused")
    assert Customer.objects.get().suspended_at is not None


def test_a_refusal_stays_a_refusal_under_its_id() -> None:
    problem(call("suspend", ACME, id="early"), 404, "not_found")
    acme()
    assert call("suspend", ACME, id="early").status_code == 404
    ok(call("suspend", ACME, id="late"))


def test_what_failed_by_our_own_fault_may_be_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    acme()
    with monkeypatch.context() as broken:
        broken.setattr("panel.billing.signed_calls.SignedCall.read", lambda *args: 1 / 0)
        problem(call("suspend", ACME, id="same"), 500, "internal")
    ok(call("suspend", ACME, id="same"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("suspend", {}),
        ("suspend", {**ACME, "customer": "x"}),
        ("suspend", {**ACME, "why": "late"}),
        ("suspend", []),
        ("create-customer", {"name": "Acme"}),
        ("create-customer", {**NEW, "email": "ann"}),
        ("create-customer", {**NEW, "mandate": {"currency": "euro"}}),
        ("create-customer", {**NEW, "mandate": {"currency": "ABC"}}),
        ("set-mandate", {**ACME, "mandate": {"currency": "EUR", "cap_charge_minor": -1}}),
        ("change-plan", {"volume_external_id": "v-1"}),
        ("change-plan", {"volume_external_id": "v-1", "plan": None, "price_minor": 1}),
        ("decide-order", {"order": "x", "decision": "pending"}),
        ("bind-volume", ACME),
        ("terminate", {**ACME, "volume": "x"}),
        ("login-link", {**ACME, "seconds": 9999}),
        ("status", {}),
    ],
)
def test_a_body_that_says_something_else_is_refused(name: str, said: Any) -> None:
    acme()
    problem(call(name, said), 422, "invalid")


def test_a_change_carries_the_billing_system_in_its_history() -> None:
    there = acme()
    Volume.objects.filter(pk=there.volume.pk).update(external_id="", customer=None)
    ok(call("bind-volume", {**ACME, "volume": there.volume.key}, id="bind1"))
    context = Volume.pgh_event_model.objects.order_by("-pgh_id").first().pgh_context  # type: ignore[attr-defined]
    assert (context["actor"], context["call"]) == ("billing", "bind1")


# Customers


def test_a_customer_is_made_with_owner_and_mandate_and_once() -> None:
    mandate = {"currency": "EUR", "cap_charge_minor": 2000, "earliest_next_at": None}
    made = ok(call("create-customer", {**NEW, "mandate": mandate}))
    again = ok(call("create-customer", {**NEW, "name": "Another name"}))
    assert (made["is_new"], again["is_new"]) == (True, False)
    assert made["customer"] == again["customer"]
    customer = Customer.objects.get()
    assert (customer.name, customer.external_id) == ("Acme", "c-1")
    owner = customer.members.get()
    assert (owner.user.email.lower(), owner.role) == ("ann@acme.example", MemberRole.OWNER)
    assert not owner.user.has_usable_password()
    found = Mandate.objects.get(customer=customer)
    assert (found.cap_charge_minor, found.cap_period_minor, found.currency) == (2000, None, "EUR")


def test_a_person_who_is_there_keeps_their_role_and_password() -> None:
    there = acme()
    viewer = make.user("ann@acme.example", password="a good password")
    there.customer.members.create(user=viewer, role=MemberRole.VIEWER)
    ok(call("create-customer", NEW))
    assert there.customer.members.get(user=viewer).role == MemberRole.VIEWER
    assert User.objects.get(pk=viewer.pk).has_usable_password()


def test_a_member_of_staff_becomes_no_customer() -> None:
    make.staff_user("ann@acme.example")
    problem(call("create-customer", NEW), 422, "is_staff")
    assert not Customer.objects.exists()


def test_a_mandate_is_set_whole() -> None:
    acme()
    whole = {"currency": "EUR", "cap_charge_minor": 1, "cap_period_minor": 2}
    ok(call("set-mandate", {**ACME, "mandate": whole}))
    ok(call("set-mandate", {**ACME, "mandate": {"currency": "EUR", "cap_charge_minor": 5}}))
    found = Mandate.objects.get()
    assert (found.cap_charge_minor, found.cap_period_minor) == (5, None)


def test_a_link_signs_an_owner_in_and_leads_to_the_plans() -> None:
    there = acme()
    said = ok(call("login-link", {**ACME, "volume_external_id": "v-1"}))
    link = LoginLink.objects.get()
    assert link.user == there.owner
    assert link.next_path == reverse("my-plan", args=[there.volume.key])
    assert said["seconds"] == 60


def test_a_link_is_shown_once_and_kept_nowhere() -> None:
    acme()
    token = ok(call("login-link", ACME, id="link"))["url"].rpartition("/")[2]
    problem(call("login-link", ACME, id="link"), 409, "told_once")
    assert token not in str(BillingCall.objects.values())
    assert LoginLink.objects.count() == 1


def test_a_link_is_for_the_customers_own_people_and_volumes() -> None:
    acme()
    zebra = shop("Zebra")
    problem(call("login-link", {**ACME, "email": zebra.owner.email}), 404, "not_found")
    problem(call("login-link", {**ACME, "volume": zebra.volume.key}), 404, "not_found")
    assert not LoginLink.objects.exists()


# Volumes


def test_a_volume_is_bound_under_the_billing_systems_name() -> None:
    customer = make.customer()
    there = scene()
    said = {"customer": customer.key, "volume": there.volume.key, "volume_external_id": "v-9"}
    ok(call("bind-volume", said))
    volume = Volume.objects.get(pk=there.volume.pk)
    assert (volume.customer, volume.external_id) == (customer, "v-9")
    ok(call("bind-volume", said))


def test_a_volume_of_another_customer_stays_with_them() -> None:
    there = acme()
    other = make.customer()
    said = {"customer": other.key, "volume_external_id": "v-1"}
    problem(call("bind-volume", said), 409, "in_use")
    assert there.volume.customer == there.customer


def test_a_volume_at_work_is_not_bound() -> None:
    customer, there = make.customer(), scene()
    job(there)
    said = {"customer": customer.key, "volume": there.volume.key}
    problem(call("bind-volume", said), 409, "busy")


def test_terminate_switches_volumes_off_by_jobs_and_bars_the_customer() -> None:
    there = acme()
    said = ok(call("terminate", ACME), 202)
    retiring = Job.objects.get()
    assert said["jobs"] == [
        {"job": retiring.key, "volume": there.volume.key, "state": State.QUEUED}
    ]
    assert said["undo_hours"] == there.there.host.undo_hours
    assert (retiring.kind, retiring.origin) == (Kind.RETIRE_VOLUME, Origin.API)
    assert retiring.token == "billing"
    assert Customer.objects.get().suspended_at is not None
    assert ok(call("terminate", ACME), 202)["jobs"] == said["jobs"]
    assert Job.objects.count() == 1


def test_terminate_takes_all_volumes_of_a_customer_or_none() -> None:
    there = acme()
    busy = scene(make.lv("busy-lv"))
    Volume.objects.filter(pk=busy.volume.pk).update(customer=there.customer)
    job(busy)
    problem(call("terminate", ACME), 409, "busy")
    assert Job.objects.filter(kind=Kind.RETIRE_VOLUME).count() == 0
    assert Customer.objects.get().suspended_at is None


def test_terminate_withdraws_an_order_that_waits_for_its_word(pending: Order) -> None:
    ok(call("terminate", ACME), 202)
    pending.refresh_from_db()
    assert pending.state == OrderState.CANCELLED
    assert Job.objects.get(state=State.QUEUED).kind == Kind.RETIRE_VOLUME


def test_what_is_off_already_is_done() -> None:
    there = acme()
    Volume.objects.filter(pk=there.volume.pk).update(retired_at=datetime.now(UTC))
    assert ok(call("terminate", {"volume_external_id": "v-1"}))["jobs"] == []
    assert Customer.objects.get().suspended_at is None


# Orders


def test_a_change_of_plan_is_an_order_without_authorisation(settings: Settings) -> None:
    settings.TIERCEL_BILLING_URL = "http://localhost:9/"
    acme()
    fast = plan()
    said = {"volume_external_id": "v-1", "plan": "Fast", "price_minor": 490, "currency": "EUR"}
    answer = ok(call("change-plan", said, id="change1"), 202)
    order = Order.objects.get()
    assert (answer["order"], answer["job"]) == (order.key, Job.objects.get().key)
    assert (order.state, order.to_plan, order.origin) == (OrderState.RUNNING, fast, Origin.API)
    assert ok(call("change-plan", said, id="change1"), 202)["order"] == order.key
    problem(call("change-plan", said), 409, "order_running")
    assert Order.objects.count() == 1


def test_the_key_of_a_plan_goes_before_another_plans_name() -> None:
    acme()
    fast = plan()
    plan(fast.key, price_minor=1)
    ok(call("change-plan", {"volume_external_id": "v-1", "plan": fast.key}), 202)
    assert Order.objects.get().to_plan == fast


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"price_minor": 1, "currency": "EUR"}, "price_changed"),
        ({"plan": "None such"}, "not_found"),
    ],
)
def test_a_refused_change_says_why_and_changes_nothing(said: dict[str, Any], code: str) -> None:
    acme()
    plan()
    response = call("change-plan", {"volume_external_id": "v-1", "plan": "Fast", **said})
    problem(response, response.status_code, code)
    assert response.status_code in (404, 422)
    assert not Order.objects.exists() and not Job.objects.exists()


def test_a_suspended_customer_gets_no_new_plan() -> None:
    acme()
    plan()
    call("suspend", ACME)
    problem(call("change-plan", {"volume_external_id": "v-1", "plan": "Fast"}), 403, "suspended")


@pytest.fixture
def pending(settings: Settings) -> Order:
    """An order that the billing system will decide later."""
    settings.TIERCEL_BILLING_URL = "http://localhost:9/"
    settings.TIERCEL_MANDATE_REQUIRED = False
    order = buy(acme(), plan())
    assert authorisation.hold_order(order)
    return order


def test_a_pending_order_is_approved_later_and_its_job_let_go(pending: Order) -> None:
    assert Job.objects.get().awaits
    said = {"order": pending.key, "decision": "approve"}
    assert ok(call("decide-order", said))["state"] == "running"
    assert not Job.objects.get().awaits
    assert ok(call("decide-order", said))["state"] == "running"
    refuse = {"order": pending.key, "decision": "refuse"}
    problem(call("decide-order", refuse), 409, "decided")


def test_an_answer_that_comes_by_two_ways_at_once_is_no_conflict(
    pending: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    approve = authorisation.approve

    def second(order: Order) -> bool:
        assert approve(Order.objects.get(pk=order.pk))
        return approve(order)

    monkeypatch.setattr(authorisation, "approve", second)
    said = {"order": pending.key, "decision": "approve"}
    assert ok(call("decide-order", said))["state"] == "running"


def test_a_pending_order_is_refused_later_and_nothing_is_done(pending: Order) -> None:
    said = {"order": pending.key, "decision": "refuse", "reason": "No\nfunds."}
    assert ok(call("decide-order", said))["state"] == "refused"
    order = Order.objects.get()
    assert (order.reason, Job.objects.get().state) == ("No funds.", State.CANCELLED)
    problem(call("decide-order", {**said, "decision": "approve"}), 409, "decided")


def test_the_status_tells_when_it_is_over(pending: Order) -> None:
    assert ok(call("status", {"order": pending.key}, id="poll"), 202)["state"] == "pending"
    authorisation.refuse(pending, "No funds.")
    answer = call("status", {"order": pending.key}, id="poll").json()
    assert (answer["result"], answer["state"], answer["reason"]) == (
        "error",
        "refused",
        "No funds.",
    )
    assert not BillingCall.objects.exists()


def test_the_status_of_a_job_ends_with_success() -> None:
    working = job(scene())
    assert ok(call("status", {"job": working.key}), 202)["state"] == State.QUEUED
    end(working)
    assert ok(call("status", {"job": working.key}))["state"] == State.SUCCEEDED


def test_the_lines_of_a_month_are_those_that_were_sent(settings: Settings) -> None:
    settings.TIERCEL_BILLING_URL = "http://localhost:9/"
    settings.TIERCEL_MANDATE_REQUIRED = False
    order = buy(acme(), plan(price_minor=99_000), by="billing")
    finish(order)
    month = f"{order.created_at:%Y-%m}"
    [line] = ok(call("usage-lines", {**ACME, "month": month}))["lines"]
    sent = Message.objects.get(type=MessageType.USAGE).payload["data"]
    assert line == sent
    assert ok(call("usage-lines", {**ACME, "month": "2020-01"}))["lines"] == []
    problem(call("usage-lines", {**ACME, "month": "2020-13"}), 422, "invalid")
