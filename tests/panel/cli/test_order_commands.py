"""Plans, orders and how forecasts held, at a live panel."""

from __future__ import annotations

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs import notify_workers
from jobs.models import Job
from panel.cli.exit_codes import ExitCode
from panel.models import User
from tests.panel.cli.conftest import Tiercel, be, said
from tests.panel.portal.shop import Shop, plan, shop
from tests.panel.proofs.held_orders import held_order
from tests.scene import Scene, end

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(
    admin: User, live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Shop:
    """A customer with a volume, whose owner has the token."""
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    monkeypatch.setattr(notify_workers, "send", lambda task, *arguments: True)
    there = shop()
    be(there.owner, live_server, monkeypatch)
    return there


def test_what_each_plan_would_bring_is_shown_with_its_price(tiercel: Tiercel, acme: Shop) -> None:
    plan()
    ran = tiercel("volumes", "plans", acme.volume.key)
    assert ran.code == 0, ran.error
    assert "4.90 EUR" in ran.out
    assert "Fast: No forecast yet" in ran.out


def test_an_order_shows_its_money_before_it_is_placed(tiercel: Tiercel, acme: Shop) -> None:
    sold = plan()
    assert "4.90 EUR" in tiercel("plans").out
    place = ("orders", "place", acme.volume.key, sold.name)
    quote = tiercel(*place, "--dry-run")
    assert quote.code == 0, quote.error
    assert "4.90 EUR" in quote.out
    unconfirmed = tiercel(*place)
    assert unconfirmed.code == ExitCode.USAGE and "4.90 EUR" in unconfirmed.error
    assert tiercel("orders", "list").out == "No orders.\n"
    unknown = tiercel("orders", "place", acme.volume.key, "Turbo")
    assert unknown.code == ExitCode.NOT_FOUND and sold.name in unknown.error


def test_staff_see_how_forecasts_held(tiercel: Tiercel, there: Scene) -> None:
    assert tiercel("calibration").out == "No forecast has been measured yet.\n"
    held_order(0.4)
    shown = tiercel("calibration").out
    assert "own_traffic" in shown and "30.0 points" in shown


def test_a_customer_orders_and_follows_the_job_without_its_output(
    tiercel: Tiercel, acme: Shop
) -> None:
    placed = tiercel("orders", "place", acme.volume.key, plan().name, "--yes", "--json")
    assert placed.code == 0, placed.error
    work = Job.objects.get()
    assert placed.data["price_minor"] == 490
    said(work, "device-mapper: secret")
    end(work)
    followed = tiercel("jobs", "follow", work.key)
    assert followed.code == 0, followed.error
    assert followed.out == f"Job {work.key}: succeeded\n"
    shown = tiercel("orders", "show", placed.data["key"])
    assert work.key in shown.out
    again = tiercel("orders", "place", acme.volume.key, "--none", "--yes")
    assert again.code in (ExitCode.IN_THE_WAY, ExitCode.REFUSED), again.error
