"""Whatever is in the way of an order: the customer reads why, is charged nothing, and keeps what
they had. The page was open already when the way was closed."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from jobs.models import Job, State
from panel.models import Mandate, Order, OrderState
from panel.models.billing import UsageLine
from panel.orders import authorisation
from panel.orders.due_orders import sweep_orders
from storage.models import CachePlan, Customer, Host
from tests import make, scene
from tests.demo.visitor import Form, FormReader
from tests.panel.portal.shop import Shop, browser, clean, plan, shop
from tests.proven import is_asked, prove

pytestmark = pytest.mark.django_db

NOTHING: Final = "Nothing was charged"


@dataclass(frozen=True, slots=True)
class Sale:
    """A customer at the confirmation of `plan`, with all that an order needs."""

    shop: Shop
    plan: CachePlan
    client: Client

    @property
    def url(self) -> str:
        return reverse("my-plan-confirm", args=[self.shop.volume.key, self.plan.key])

    def form(self) -> Form:
        """The confirmation's form, filled as the page comes."""
        reply = self.client.get(self.url)
        assert reply.status_code == 200
        reader = FormReader()
        reader.feed(clean(reply.content.decode()))
        return next(form for form in reader.forms if self.plan.key in form.action)

    def send(self, form: Form) -> Any:
        return self.client.post(self.url, form.fields)


@pytest.fixture
def sale(settings: Settings) -> Sale:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = True
    there = shop()
    Mandate.objects.create(
        customer=there.customer, currency="EUR", cap_charge_minor=5000, cap_period_minor=9000,
        earliest_next_at=timezone.now() - timedelta(days=1),
    )  # fmt: skip
    return Sale(there, plan(), prove(browser(there.owner), there.owner))


def words(reply: Any) -> str:
    """What the page says, without what no customer may read."""
    text = re.sub(r"<[^>]*>", " ", clean(reply.content.decode()))
    return " ".join(html.unescape(text).split())


@contextmanager
def unchanged(sale: Sale) -> Iterator[None]:
    """Nothing is charged, and the volume is and shall be what it was."""
    volume = sale.shop.volume
    yield
    after = sale.shop.volume
    assert (after.cache_plan_id, after.wish) == (volume.cache_plan_id, volume.wish)
    assert not Order.objects.filter(state=OrderState.COMPLETED).exists()
    assert not UsageLine.objects.exists()
    assert not Job.objects.exclude(kind="extend-volume").filter(state=State.SUCCEEDED).exists()


def mandate(**fields: Any) -> Callable[[Sale], object]:
    return lambda sale: Mandate.objects.update(**fields)


def full(sale: Sale) -> None:
    there = sale.shop.there
    facts = make.facts(there.lv, pvs=(make.pv(), make.fast_pv(free_bytes=0)))
    Host.objects.filter(pk=there.host.pk).update(facts=make.inventory(facts))


WAYS: Final[dict[str, tuple[str, int, Callable[[Sale], object], str]]] = {
    "a charge above the cap": (
        "over_cap", 402, mandate(cap_charge_minor=1), "exceed your payment authorisation by",
    ),
    "the month's cap used up": (
        "over_cap", 402, mandate(cap_period_minor=0), "0.00 EUR are left this month",
    ),
    "a charge before its time": (
        "too_soon", 402, mandate(earliest_next_at=timezone.now() + timedelta(days=2)),
        "allows no charge until",
    ),
    "an unknown cap": (
        "cap_unknown", 402, mandate(cap_charge_minor=None), "authorisation are unknown",
    ),
    "no authorisation": (
        "cap_unknown", 402, lambda sale: Mandate.objects.all().delete(),
        "your account has no payment authorisation",
    ),
    "no room": ("no_capacity", 422, full, "Sold out"),
    "a plan sold no more": (
        "plan_retired", 422, lambda sale: CachePlan.objects.update(on_offer=False),
        "no longer available",
    ),
    "a suspended customer": (
        "suspended", 422, lambda sale: Customer.objects.update(suspended_at=timezone.now()),
        "Your account is suspended",
    ),
    "another change": (
        "order_running", 409,
        lambda sale: scene.job(sale.shop.there, kind="extend-volume"),
        "changing this volume at the moment",
    ),
    "another price": (
        "price_changed", 422, lambda sale: CachePlan.objects.update(price_minor=491),
        "The price has changed",
    ),
    "a right that was taken": (
        "not_allowed", 422, lambda sale: sale.shop.customer.members.update(role="viewer"),
        "Your role allows you to view, but not to order",
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_closed_way_is_told_and_nothing_is_written(sale: Sale, way: str) -> None:
    code, status, close, says = WAYS[way]
    form = sale.form()
    close(sale)
    before = Order.objects.count(), Job.objects.count()
    with unchanged(sale):
        reply = sale.send(form)
        assert (reply.status_code, says in words(reply)) == (status, True), words(reply)
        assert f'data-code="{code}"' in reply.content.decode()
        assert NOTHING in words(reply)
        assert (Order.objects.count(), Job.objects.count()) == before


def test_a_proof_that_is_too_old_is_asked_for_anew_and_nothing_is_done(sale: Sale) -> None:
    form = sale.form()
    late = Client()
    late.force_login(sale.shop.owner)
    prove(late, sale.shop.owner, age=100_000)
    with unchanged(sale):
        reply = late.post(sale.url, form.fields)
        assert is_asked(reply)
        assert (Order.objects.count(), Job.objects.count()) == (0, 0)


@pytest.fixture
def asked(sale: Sale, settings: Settings) -> Order:
    """An order that waits for the billing system's word."""
    settings.TIERCEL_BILLING_URL = "https://billing.example/hook"
    reply = sale.send(sale.form())
    order = Order.objects.get()
    assert (reply.status_code, reply["Location"]) == (302, reverse("my-order", args=[order.key]))
    assert (order.state, order.charge_minor > 0) == ("authorising", True)
    return order


def order_page_text(sale: Sale, order: Order) -> str:
    order.refresh_from_db()
    return words(sale.client.get(reverse("my-order", args=[order.key])))


def test_the_billing_systems_refusal_is_told_in_its_words(sale: Sale, asked: Order) -> None:
    with unchanged(sale):
        assert authorisation.refuse(asked, "Your card has expired.")
        assert "Your card has expired." in order_page_text(sale, asked)
        assert "Charged nothing" in order_page_text(sale, asked)
        assert asked.job is not None
        asked.job.refresh_from_db()
        assert (asked.state, asked.job.state) == ("refused", State.CANCELLED)


def test_a_billing_system_that_does_not_answer_costs_nothing(sale: Sale, asked: Order) -> None:
    Order.objects.update(authorise_by=timezone.now() - timedelta(seconds=1))
    with unchanged(sale):
        sweep_orders()
        assert "did not answer in time" in order_page_text(sale, asked)
        assert "Charged nothing" in order_page_text(sale, asked)
        assert (asked.state, asked.reason_code) == ("refused", "billing_timeout")


def test_a_job_that_fails_after_the_authorisation_costs_nothing(sale: Sale, asked: Order) -> None:
    assert authorisation.approve(asked)
    assert asked.job is not None
    with unchanged(sale):
        error = {"code": "command_failed", "message": "lvconvert ended with code 5"}
        scene.end(asked.job, State.FAILED, error=error)
        sweep_orders()
        assert "Charged nothing" in order_page_text(sale, asked)
        assert "nothing was charged" in order_page_text(sale, asked).lower()
        assert asked.state == "failed"
