"""Forecast accuracy, as a page and in the API."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from panel.accounts.api_tokens import issue
from panel.proofs.calibration import ENOUGH_ORDERS, HeldForecast, judge_forecasts
from panel.proofs.scatter import scatter
from storage.naming import new_key
from tests import make
from tests.one_line import on_one_line
from tests.panel.proofs.held_orders import AT, held_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def text_of(client: Client) -> str:
    return on_one_line(client.get(reverse("calibration")).content.decode())


def test_without_measured_orders_the_page_says_what_it_will_show(staff: Client) -> None:
    text = text_of(staff)
    assert "No forecast was measured yet" in text
    assert f"From {ENOUGH_ORDERS} orders on" in text


def test_forecast_and_measured_stand_side_by_side_and_misses_lead_to_their_report(
    staff: Client,
) -> None:
    held_order(0.75)
    missed = held_order(0.4)
    text = text_of(staff)
    assert 'Measured orders that lie in their forecast range: <strong class="num">1 of 2' in text
    assert "say little" in text
    assert text.count('<g class="scatter-point') == 2
    assert text.count("scatter-miss") == 1
    assert reverse("report", args=[missed.order.key]) in text
    assert "forecast 1.50\xa0ms to 3.00\xa0ms" in text


def test_ranges_that_held_too_seldom_are_said_to_be_widened(staff: Client) -> None:
    for n in range(ENOUGH_ORDERS):
        held_order(0.4 if n % 2 else 0.7)
    judge_forecasts(AT)
    text = text_of(staff)
    assert "lvmcache</span>: 10 of the last 20 ranges held" in text
    assert "3.0</span> times as wide" in text
    assert "fewer than promised" in text


def test_the_page_asks_as_much_for_many_orders_as_for_few(
    staff: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        held_order(0.4)
    with django_assert_max_num_queries(12):
        text_of(staff)


def test_a_point_lies_at_its_forecast_and_its_measured_share() -> None:
    found = HeldForecast(
        order=new_key(), volume="v", customer="c", ended_at=AT, kind="own_traffic",
        technology="bcache", low=0.25, likely=0.5, high=1.0, measured=0.0,
        read_ms_low=None, read_ms_high=None, read_ms=None, widened=1.0,
    )  # fmt: skip
    drawn = scatter([found])
    (point,) = drawn.points
    assert float(point.x) == (drawn.left + drawn.right) / 2
    assert float(point.y) == drawn.bottom
    assert (float(point.high), float(point.low)) == (drawn.right, drawn.left + 80)


def test_the_api_shows_the_same(client: Client) -> None:
    missed = held_order(0.4)
    _, text = issue(make.staff_user(), name="program", scopes=["read"], days=1)
    answer = client.get(
        reverse("api-calibration"), headers={"Authorization": f"Bearer {text}"}
    ).json()
    (group,) = answer["items"]
    assert (group["kind"], group["orders"], group["within"]) == ("own_traffic", 1, 0)
    assert group["median_error"] == pytest.approx(0.3)
    assert answer["worst"][0]["order"]["key"] == missed.order.key
    assert answer["widenings"] == []
