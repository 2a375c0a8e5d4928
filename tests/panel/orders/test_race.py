"""Two people of a customer, or two tabs of one, at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest
from django.db import connection

from jobs.models import Job
from panel.models import Order, User
from panel.orders import place_order as placing
from panel.orders.order_request import OrderRefused, OrderRequest
from panel.orders.place_order import place_order
from storage import row_security
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
            with row_security.scope(str(person.pk)):
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
    return lambda person: place_order(
        OrderRequest(volume=volume, plan=fast, actor=person, idempotency_key=key)
    )


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


def test_two_orders_for_two_volumes_do_not_both_slip_under_the_months_cap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first_day = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    monkeypatch.setattr(placing, "database_now", lambda: first_day)
    acme, other, fast = shop(), shop("Zebra"), plan()
    Volume.objects.filter(pk=other.volume.pk).update(customer=acme.customer)
    mandate(acme.customer, cap_charge_minor=490, cap_period_minor=735, earliest_next_at=first_day)
    acts = [
        (acme.owner, ordered(acme.volume, fast)),
        (partner(acme), ordered(other.volume, fast)),
    ]
    assert at_once(acts) == ["over_cap", "taken"]
    assert Job.objects.count() == 1
