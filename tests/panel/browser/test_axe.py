"""Every page in a real browser: axe-core finds nothing grave, nothing is too wide, the browser
complains of nothing, and nothing moves when figures renew themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import product
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured
from django.db import connections
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone
from playwright.sync_api import Browser, ConsoleMessage, Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from jobs.models import Job, State
from panel.models import Intent, Order, OrderState, User
from storage.models import Volume
from tests import fleet
from tests.panel.browser.axe import contrasts, refreshed, too_wide, violations
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.walk import links
from tests.panel.proofs.results import ready

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE, NARROW = 1440, 360
BETWEEN = (1024, 768)
"""Widths at which tables become cards, or are at their narrowest: there it is only measured."""
TOPBAR = (".topbar",)
"""The same on every page: it is looked at on the first."""
OF_A_KIND = 1
"""So many pages of one route: what differs between them is mostly names and figures."""
ACCOUNT = ("account_change_password", "mfa_index", "sessions", "account_email", "account_logout")
ORDER = ("my-order", "my-report", "my-order-revert")
ENTRANCE = ("account_login", "account_reset_password", "account_signup")
MOST_SHIFT = 0.01
"""Of a page whose figures renew themselves; 0.1 is what the web calls good."""


@pytest.fixture
def served(live_server: LiveServer) -> Iterator[str]:
    yield live_server.url
    connections.close_all()


def pages(client: Client, start: str = "/") -> list[str]:
    """Addresses of whole pages, at most OF_A_KIND of one route, as links lead to them."""
    queue, kinds, found = [start], Counter[str](), []
    while queue:
        path = queue.pop(0)
        if path in found or kinds[name_of(path)] == OF_A_KIND:
            continue
        response = client.get(path)
        if response.status_code == 302:
            queue.insert(0, response["Location"])
            continue
        kinds[name_of(path)] += 1
        if not response.streaming and response.content.lstrip()[:9].lower() == b"<!doctype":
            found.append(path)
            queue += links(path, response.content.decode())
    return found


def name_of(path: str) -> str:
    return str(resolve(urlsplit(path).path).view_name)


class Visitor:
    """A tab of the browser in which a person is signed in, and what went wrong in it."""

    def __init__(self, browser: Browser, url: str, client: Client | None = None) -> None:
        self.url = url
        self.context = browser.new_context(reduced_motion="reduce")
        self.context.set_default_timeout(30_000)
        if client is not None:
            cookie = client.cookies[configured.SESSION_COOKIE_NAME].value
            name = configured.SESSION_COOKIE_NAME
            self.context.add_cookies([{"name": name, "value": cookie, "url": url}])
        self.complaints: list[str] = []
        self.tab: Page = self.context.new_page()
        self.tab.on("console", self._heard)
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.complaints.append(f"{said.page and said.page.url}: {said.text}")

    def look(self, paths: Iterable[str]) -> str:
        """Open each page wide and light, and make it narrow and dark: the rules see it both ways.
        The themes differ in colours only, so what showed both times has been seen in both, and what
        shows at one width alone is seen in the other theme too. Returns what is wrong."""
        besides: tuple[str, ...] = ()
        for path in paths:
            self.tab.set_viewport_size({"width": WIDE, "height": 900})
            self.tab.goto(self.url + path, wait_until="load")
            found = violations(self.tab, WIDE, "light", besides)
            for width in BETWEEN:
                found += too_wide(self.tab, width)
            found += violations(self.tab, NARROW, "dark", besides)
            found += contrasts(self.tab, NARROW, "light", unlike=WIDE, besides=besides)
            found += contrasts(self.tab, WIDE, "dark", unlike=NARROW, besides=besides)
            self.complaints.extend(f"{path} {each}" for each in found)
            besides = TOPBAR
        return "\n".join(self.complaints)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_every_page_of_an_admin(browser: Browser, served: str) -> None:
    made = fleet.build(6, 24, hours=0.1)
    order_of(made.owner)  # so that the ledger has a row, and the customer's page an order
    client = signed_in(made.admin)
    paths = [*pages(client), *map(reverse, ACCOUNT), f"{reverse('search')}?q=a"]
    paths += [reverse("job", args=[key]) for key in one_job_of_each_state()]
    assert len(paths) > 25
    assert Visitor(browser, served, client).look(dict.fromkeys(paths)) == ""


def one_job_of_each_state() -> list[str]:
    found = [Job.objects.filter(dry_run=False, state=state).first() for state in State]
    return [job.key for job in found if job is not None]


def test_every_page_of_a_customer(browser: Browser, served: str, settings: Settings) -> None:
    settings.TIERCEL_CUSTOMERS_MAY_ORDER = True
    settings.TIERCEL_MANDATE_REQUIRED = False
    made = fleet.build(2, 10, hours=0.1)
    order, client = order_of(made.owner), signed_in(made.owner)
    with_search = [*pages(client), *map(reverse, ACCOUNT), f"{reverse('search')}?q=e"]
    with_search += [reverse(name, args=[order.key]) for name in ORDER]
    with_search.append(reverse("my-volume", args=[order.volume.key]))
    assert len(with_search) > 8
    assert Visitor(browser, served, client).look(dict.fromkeys(with_search)) == ""


def order_of(person: User) -> Order:
    """An order of the person's customer that is done, has its report and may be taken back."""
    found = Volume.objects.filter(customer__members__user=person, cache_plan__isnull=False)[0]
    now = timezone.now()
    order = Order.objects.create(
        customer=found.customer,
        volume=found,
        intent=Intent.UPGRADE,
        state=OrderState.COMPLETED,
        to_plan=found.cache_plan,
        currency="EUR",
        price_minor=490,
        charge_minor=163,
        next_invoice_minor=490,
        next_invoice_at=now,
        ended_at=now,
        revert_until=now + timedelta(days=14),
    )
    ready(order)
    return order


def test_pages_for_anybody(browser: Browser, served: str) -> None:
    assert Visitor(browser, served).look(map(reverse, ENTRANCE)) == ""


def test_an_empty_panel(browser: Browser, served: str) -> None:
    made = fleet.build(0, 0)
    names = ("home", "hosts", "volumes", "jobs", "customers", "cache-plans", "audit", "search")
    assert Visitor(browser, served, signed_in(made.admin)).look(map(reverse, names)) == ""


def test_nothing_moves_when_figures_are_renewed(browser: Browser, served: str) -> None:
    made = fleet.build(6, 24, hours=0.1)
    visitor = Visitor(browser, served, signed_in(made.admin))
    running = Job.objects.filter(dry_run=False, state=State.RUNNING)[0]
    paths = (
        reverse("home"),
        reverse("host", args=[made.hosts[0].key]),
        reverse("volume", args=[made.sources[0].volume.key]),
        reverse("job", args=[running.key]),
    )
    for width, path in product((WIDE, NARROW), paths):
        visitor.tab.set_viewport_size({"width": width, "height": 900})
        visitor.tab.goto(served + path, wait_until="networkidle")
        parts, moved = refreshed(visitor.tab)
        assert parts > 0
        assert sum(each["value"] for each in moved) < MOST_SHIFT, (path, width, moved)
    assert visitor.complaints == []
