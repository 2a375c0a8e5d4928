"""An order outlives the processes that work on it."""

from __future__ import annotations

from functools import partial

import pytest
from django.db.models import Sum

from jobs.models import State
from panel.models import Order
from storage.models import Host
from tests.demo.visitor import Visitor
from tests.integration.accidents import kill_worker
from tests.integration.buying import PASSWORD, buyer, completed, ordered
from tests.integration.machine import Machine
from tests.integration.person import Person, finished, words
from tests.integration.running import Running

pytestmark = pytest.mark.parametrize("machine", ["fake"], indirect=True)


def test_a_worker_that_dies_in_the_middle_costs_nothing_until_another_one_has_done_the_work(
    machine: Machine, host: Host, panel: Running, person: Person
) -> None:
    of = buyer(person, host, "mail disk")
    visitor = Visitor(panel.url)
    visitor.sign_in(of.user.email, PASSWORD)
    with machine.hold("lvconvert") as held:
        order = ordered(visitor, of)
        assert order.job is not None
        kill_worker(panel, held, order.job, meanwhile=partial(still_running, visitor, order))
        assert finished(order.job).state == State.SUCCEEDED
    completed(order)
    assert "Done: this volume now has the plan" in text_of(visitor, order)
    charged = Order.objects.filter(volume=of.volume, state="completed")
    assert charged.aggregate(total=Sum("charge_minor"))["total"] == order.charge_minor
    of.volume.refresh_from_db()
    assert of.volume.cache_plan == of.small


def still_running(visitor: Visitor, order: Order) -> None:
    """Nothing is charged or changed while no worker runs, and the page says where it stands."""
    order.refresh_from_db()
    assert (order.state, order.volume.cache_plan) == ("running", None)
    says = text_of(visitor, order)
    assert "Charge on completion" in says
    assert "Done:" not in says


def text_of(visitor: Visitor, order: Order) -> str:
    return words(visitor.get(f"/my/orders/{order.key}/").text)
