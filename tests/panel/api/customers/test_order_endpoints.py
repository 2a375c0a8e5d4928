"""Orders by a customer's program: the rules of the page, and problems that say the way out."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from jobs import notify_workers
from jobs.models import Job, State
from panel.api.framework.problem import ORDER_STATUS
from panel.models import Mandate, Order
from panel.orders.pricing import prices
from storage.models import CachePlan, Customer
from tests import make
from tests.panel.api.asking import Program, member, problem, program, staff
from tests.panel.orders.till import buy, finish, has_cache, mandate
from tests.panel.portal.shop import Shop, clean, plan, shop
from tests.scene import end

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _shop_is_open(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    monkeypatch.setattr(notify_workers, "send", lambda task, *args: True)


@pytest.fixture
def acme() -> Shop:
    return shop()


@pytest.fixture
def fast() -> CachePlan:
    return plan()


@pytest.fixture
def asking(acme: Shop) -> Program:
    return program(acme.owner)


def post(asking: Program, path: str, body: Any = None, key: str = "") -> Any:
    return asking.send("post", path, body, **{"Idempotency-Key": key or uuid.uuid4().hex})


def order(asking: Program, acme: Shop, plan: CachePlan | None, key: str = "", **body: Any) -> Any:
    wanted = {"cache_plan": plan.key if plan else None, **body}
    return post(asking, f"/volumes/{acme.volume.key}/orders", wanted, key)


def test_an_order_is_made_with_its_money_and_found_again(
    asking: Program, acme: Shop, fast: CachePlan
) -> None:
    response = order(asking, acme, fast, price_minor=490, currency="EUR")
    made = Order.objects.get()
    assert response.status_code == 201
    assert response["Location"] == f"/api/v1/orders/{made.key}"
    said = response.json()
    assert (said["state"], said["intent"], said["price_minor"]) == ("running", "upgrade", 490)
    assert said["charge_minor"] == made.charge_minor
    assert said["to_plan"]["key"] == fast.key
    assert made.job is not None
    assert (made.origin, made.job.token) == ("api", asking.text[4:16])
    assert said["job"]["key"] == made.job.key
    assert asking.get(said["job"]["url"].removeprefix("/api/v1")).status_code == 200
    assert asking.get(f"/orders/{made.key}").json() == said
    assert [each["key"] for each in asking.get("/orders/").json()["items"]] == [made.key]
    clean(response.content.decode())


def test_sent_again_it_is_the_same_order(asking: Program, acme: Shop, fast: CachePlan) -> None:
    first, second = (order(asking, acme, fast, key="k") for _ in range(2))
    assert first.json() == second.json()
    assert second["Idempotency-Replayed"] == "true"
    assert Order.objects.count() == 1


def test_without_a_key_nothing_is_ordered(asking: Program, acme: Shop, fast: CachePlan) -> None:
    path = f"/volumes/{acme.volume.key}/orders"
    problem(asking.send("post", path, {"cache_plan": fast.key}), 400, "idempotency_key_required")


def test_a_dry_run_says_the_price_and_orders_nothing(
    asking: Program, acme: Shop, fast: CachePlan, settings: Settings
) -> None:
    path = f"/volumes/{acme.volume.key}/orders?dry_run=true"
    said = asking.send("post", path, {"cache_plan": fast.key}).json()
    assert (said["intent"], said["price_minor"], said["due_at"]) == ("upgrade", 490, None)
    settings.TIERCEL_MANDATE_REQUIRED = True
    problem(asking.send("post", path, {"cache_plan": fast.key}), 402, "cap_unknown")
    assert not Order.objects.exists()


def test_refusals_have_a_status_a_code_and_a_way_out(
    asking: Program, acme: Shop, fast: CachePlan, settings: Settings
) -> None:
    settings.TIERCEL_MANDATE_REQUIRED = True
    settings.TIERCEL_REAUTHORISE_URL = "https://shop.example/authorise"
    assert problem(order(asking, acme, fast), 402, "cap_unknown")["correction"].endswith(
        "https://shop.example/authorise"
    )
    given = mandate(acme.customer, cap_charge_minor=0)
    found = order(asking, acme, plan("Vast", price_minor=10**6))
    assert problem(found, 402, "over_cap")["correction"]
    Mandate.objects.update(earliest_next_at=timezone.now() + timedelta(days=1))
    problem(order(asking, acme, fast), 402, "too_soon")
    given.delete()
    settings.TIERCEL_MANDATE_REQUIRED = False
    problem(order(asking, acme, fast, price_minor=1, currency="EUR"), 422, "price_changed")
    problem(order(asking, acme, fast, when="period_end"), 422, "unavailable")
    problem(order(asking, acme, fast, trial=True), 422, "trial")
    Customer.objects.update(suspended_at=timezone.now())
    problem(order(asking, acme, fast), 403, "suspended")
    assert not Order.objects.exists()
    assert not Job.objects.exists()
    assert set(ORDER_STATUS.values()) == {402, 403, 409}


def test_a_running_order_is_a_conflict_that_names_its_job(
    asking: Program, acme: Shop, fast: CachePlan
) -> None:
    made = order(asking, acme, fast).json()
    found = problem(order(asking, acme, plan("Big")), 409, "order_running")
    assert [each["url"] for each in found["conflicting_jobs"]] == [made["job"]["url"]]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/cache_plan"),
        ({"cache_plan": "nothing"}, "/cache_plan"),
        ({"cache_plan": None, "when": "soon"}, "/when"),
        ({"cache_plan": None, "price_minor": 1}, "/currency"),
        ({"cache_plan": None, "customer": "x"}, "/customer"),
    ],
)
def test_a_body_that_says_something_else_is_pointed_at(
    asking: Program, acme: Shop, body: dict[str, Any], pointer: str
) -> None:
    response = post(asking, f"/volumes/{acme.volume.key}/orders", body)
    assert problem(response, 422, "invalid")["errors"][0]["pointer"] == pointer


def test_who_may_not_order_has_no_scope_for_it_and_staff_neither(
    acme: Shop, fast: CachePlan
) -> None:
    for asking in (member(acme.customer, "viewer"), staff()):
        problem(order(asking, acme, fast), 403, "insufficient_scope")


def test_who_may_order_no_more_is_refused_whatever_the_token_says(
    asking: Program, acme: Shop, fast: CachePlan
) -> None:
    made = order(asking, acme, fast).json()
    acme.customer.members.update(role="viewer")
    end(Job.objects.get())
    problem(order(asking, acme, plan("Big")), 403, "not_allowed")
    for verb in ("cancel", "revert"):
        problem(post(asking, f"/orders/{made['key']}/{verb}"), 403, "not_allowed")


def test_orders_of_others_are_not_there(asking: Program, fast: CachePlan) -> None:
    zebra = shop("Zebra")
    foreign = buy(zebra, fast)
    problem(order(asking, zebra, fast), 404, "not_found")
    for path in (f"/orders/{foreign.key}", f"/customers/{zebra.customer.key}/mandate"):
        problem(asking.get(path), 404, "not_found")
    for verb in ("cancel", "revert"):
        problem(post(asking, f"/orders/{foreign.key}/{verb}"), 404, "not_found")
    assert asking.get("/orders/", volume=zebra.volume.key).json()["items"] == []


def test_a_scheduled_order_is_cancelled_and_a_done_one_taken_back(
    asking: Program, acme: Shop, fast: CachePlan
) -> None:
    first = order(asking, acme, fast).json()
    problem(post(asking, f"/orders/{first['key']}/cancel"), 422, "too_late")
    finish(Order.objects.get())
    has_cache(acme)
    later = order(asking, acme, None).json()
    assert (later["state"], later["intent"]) == ("scheduled", "downgrade")
    assert post(asking, f"/orders/{later['key']}/cancel").json()["state"] == "cancelled"
    path = f"/orders/{first['key']}/revert"
    quoted = asking.send("post", f"{path}?dry_run=true").json()
    assert (quoted["intent"], quoted["price_minor"]) == ("revert", 0)
    back = post(asking, path)
    assert (back.status_code, back.json()["reverts"]["key"]) == (201, first["key"])
    assert prices.last_completed(acme.volume) is not None


def test_orders_are_filtered_by_state(asking: Program, acme: Shop, fast: CachePlan) -> None:
    finish(buy(acme, fast), State.FAILED)
    buy(acme, fast)
    found = asking.get("/orders/", state="failed", customer=acme.customer.key).json()["items"]
    assert [each["reason_code"] for each in found] == ["failed"]
    problem(asking.get("/orders/", state="gone"), 400, "invalid_parameter")


def test_staff_read_who_ordered(acme: Shop, fast: CachePlan) -> None:
    made = buy(acme, fast)
    said = staff("read_only").get(f"/orders/{made.key}").json()
    assert (said["door"], said["actor"]) == ("portal", acme.owner.email)


def test_operators_set_a_mandate_and_the_customer_reads_it(asking: Program, acme: Shop) -> None:
    path = f"/customers/{acme.customer.key}/mandate"
    problem(asking.get(path), 404, "not_found")
    body = {
        "currency": "EUR",
        "cap_charge_minor": 500,
        "cap_period_minor": None,
        "earliest_next_at": "2026-11-21T00:00:00Z",
    }
    assert staff("operator").send("put", path, body).status_code == 200
    said = asking.get(path).json()
    assert {name: said[name] for name in body} == body
    for currency in ("euro", "ABC"):
        asked = staff("operator").send("put", path, {**body, "currency": currency})
        problem(asked, 422, "invalid")
    problem(staff("read_only").send("put", path, body), 403, "insufficient_scope")
    assert make.customer().pk != Mandate.objects.get().customer_id
