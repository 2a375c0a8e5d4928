"""Nothing on a page moves while its charts come: they take their room in the HTML."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from panel.models import User
from storage.models import Benchmark, Placement
from tests import fleet
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import opened
from tests.panel.browser.test_axe import order_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_SHIFT = 0.05
"""Of a page on its first load; 0.1 is what the web calls good."""
WIDTHS = (1440, 360)
WATCH = """globalThis.moved = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    const what = entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 120) ?? String(node));
    moved.push({ value: entry.value, what });
  }
}).observe({ type: "layout-shift", buffered: true });"""


@pytest.fixture
def served(live_server: LiveServer) -> Iterator[str]:
    yield live_server.url
    connections.close_all()


def tab(browser: Browser, served: str, user: User) -> tuple[Page, list[str]]:
    client = Client()
    client.force_login(user)
    context = browser.new_context(reduced_motion="reduce")
    page, complaints = opened(context, served, client)
    page.add_init_script(WATCH)
    return page, complaints


def moved(page: Page, url: str, width: int) -> list[dict[str, Any]]:
    """What moved from the first paint until all charts were drawn and all parts had come."""
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(url, wait_until="load")
    if page.locator("[data-charts-panels]:not([hidden])").count():
        page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: list[dict[str, Any]] = page.evaluate("moved")
    return found


def all_still(page: Page, served: str, paths: list[str]) -> None:
    for width, path in product(WIDTHS, paths):
        found = moved(page, served + path, width)
        assert sum(each["value"] for each in found) <= MOST_SHIFT, (path, width, found)


def test_nothing_moves_while_a_page_of_the_staff_comes(browser: Browser, served: str) -> None:
    made = fleet.build(6, 24, hours=1)
    done = Benchmark.objects.order_by("pk")[0]
    of = {
        each: Placement.objects.filter(cache_technology=each, until=None, host=made.hosts[0])[0]
        for each in ("lvmcache", "bcache", "")
    }
    page, complaints = tab(browser, served, made.admin)
    volumes = [reverse("volume", args=[each.volume.key]) for each in of.values()]
    all_still(
        page,
        served,
        [
            reverse("home"),
            reverse("hosts"),
            reverse("host", args=[made.hosts[0].key]),
            reverse("volumes"),
            *volumes,
            reverse("benchmarks"),
            reverse("benchmark", args=[done.key]),
        ],
    )
    assert complaints == []


def test_nothing_moves_while_a_page_of_a_customer_comes(
    browser: Browser, served: str, settings: Settings
) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = False
    made = fleet.build(2, 10, hours=1)
    order = order_of(made.owner)
    page, complaints = tab(browser, served, made.owner)
    names = ("my-volume", "my-charts")
    all_still(
        page,
        served,
        [
            reverse("my-volumes"),
            *(reverse(name, args=[order.volume.key]) for name in names),
            reverse("my-report", args=[order.key]),
        ],
    )
    assert complaints == []
