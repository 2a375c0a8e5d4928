"""Two people of a customer, or two tabs of one, at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from jobs.models import Job
from panel.models import Order, User
from panel.orders.place import place
from panel.orders.quote import quote
from panel.orders.refusal import OrderRefused
from storage import wall
from storage.models import CachePlan, Volume
from tests import make
from tests.panel.orders.till import mandate
from tests.panel.portal.shop import Shop, plan, shop

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(acts: Sequence[tuple[User, Callable[[User], Order]]]) -> list[str]:
    """What came of each, all begun together, each within the wall of who asks: "taken" or the
    refusal's code."""
    together = Barrier(len(acts))

    def act(person: User, ask: Callable[[User], Order]) -> str:
        try:
            with wall.inside(str(person.pk)):
                together.wait(30)
                ask(person)
        except OrderRefused as refused:
            return refused.code
        finally:
            connection.close()
        return "taken"

    with ThreadPoolExecutor(len(acts)) as pool:
        return sorted(pool.map(lambda each: act(*each), acts))


def ordered(volume: Volume, fast: CachePlan, key: str = "") -> Callable[[User], Order]:
    return lambda person: place(volume=volume, plan=fast, actor=person, idempotency_key=key)


def partner(acme: Shop) -> User:
    person = make.user()
    acme.customer.members.create(user=person, role="operator")
    return person


def test_two_members_who_order_for_one_volume_get_one_order() -> None:
    acme, fast = shop(), plan()
    who = (acme.owner, partner(acme))
    assert at_once([(person, ordered(acme.volume, fast)) for person in who]) == [
        "order_running",
        "taken",
    ]
    assert (Order.objects.count(), Job.objects.count()) == (1, 1)


def test_a_form_that_is_sent_twice_is_one_order() -> None:
    acme, fast = shop(), plan()
    acts = [(acme.owner, ordered(acme.volume, fast, "same"))] * 3
    assert at_once(acts) == ["taken"] * 3
    assert (Order.objects.count(), Job.objects.count()) == (1, 1)


def test_two_orders_for_two_volumes_do_not_both_slip_under_the_months_cap() -> None:
    acme, other, fast = shop(), shop("Zebra"), plan(price_minor=100_000)
    Volume.objects.filter(pk=other.volume.pk).update(customer=acme.customer)
    first = mandate(acme.customer, cap_charge_minor=100_000, cap_period_minor=100_000)
    price = quote(timezone.now(), 0, fast.price_minor, "EUR").charge_minor
    first.cap_period_minor = price + price // 2
    first.save()
    acts = [
        (acme.owner, ordered(acme.volume, fast)),
        (partner(acme), ordered(other.volume, fast)),
    ]
    assert at_once(acts) == ["over_cap", "taken"]
    assert Job.objects.count() == 1
