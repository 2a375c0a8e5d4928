"""A screen in a browser: it fits, axe finds nothing grave, it renews itself, and it says when the
panel does not answer."""

from __future__ import annotations

from itertools import product

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from panel.models import KioskLink
from storage.models import HostActivity
from tests.panel.browser.axe import violations
from tests.panel.browser.chromium import blank, browser, served, signed_in
from tests.panel.staff.kiosk.screens import address, loaded_host

__all__ = ["browser", "served"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SHIFT = """() => new Promise((resolve) => {
  let shift = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => (shift += entry.value)))
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(shift), 500);
})"""
LARGEST_SHIFT = 0.05
RENEWED_MS = 12_000
LONG = "n" * 64


def at_once(page: Page) -> None:
    """Let the page renew itself now."""
    page.clock.run_for(RENEWED_MS)


def opened(browser: Browser, url: str) -> tuple[Page, list[str]]:
    page, complaints = blank(browser.new_context())
    page.clock.install()
    page.goto(url)
    return page, complaints


def test_a_screen_fits_from_a_phone_to_4k_and_is_accessible(browser: Browser, served: str) -> None:
    for name in ("stor-1", LONG):
        loaded_host(name=name)
    page, complaints = blank(browser.new_context())
    page.goto(f"{served}{address()}")
    expect(page.get_by_text(LONG).first).to_be_visible()
    looks = product((1440, 360), ("light", "dark"))
    grave = [each for width, theme in looks for each in violations(page, width, theme)]
    assert grave == []
    for width, height in ((1440, 900), (3840, 2160)):
        page.set_viewport_size({"width": width, "height": height})
        size = page.evaluate("[document.body.scrollWidth, document.body.scrollHeight]")
        assert size[0] <= width and size[1] <= height
    assert complaints == []
    assert {cookie["name"] for cookie in page.context.cookies()} <= {"zone"}


def test_it_is_dark_until_a_person_switches_its_own_colours(browser: Browser, served: str) -> None:
    loaded_host()
    page, _ = blank(browser.new_context(color_scheme="light"))
    page.goto(f"{served}{address()}")
    html = page.locator("html")
    expect(html).to_have_attribute("data-bs-theme", "dark")
    page.get_by_role("button", name="Colours").click()
    page.reload()
    expect(html).to_have_attribute("data-bs-theme", "light")
    page.goto(f"{served}/account/login/")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.go_back()
    expect(html).to_have_attribute("data-bs-theme", "light")


def test_it_renews_itself_without_a_shift(browser: Browser, served: str) -> None:
    loaded_host()
    page, complaints = opened(browser, f"{served}{address()}")
    expect(page.get_by_text("15", exact=True)).to_be_visible()
    HostActivity.objects.update(read_iops=1995)
    at_once(page)
    expect(page.get_by_text("2,000", exact=True)).to_be_visible()
    page.clock.resume()
    assert page.evaluate(SHIFT) <= LARGEST_SHIFT
    assert complaints == []


def test_while_the_panel_does_not_answer_it_shows_no_figure_as_current(
    browser: Browser, served: str
) -> None:
    loaded_host()
    page, _ = opened(browser, f"{served}{address()}")
    figure, banner = page.get_by_text("15", exact=True), page.get_by_role("status")
    clock = page.locator("[data-kiosk-clock]").get_attribute("data-kiosk-clock")

    def broken(route: Route) -> None:
        route.abort()

    def restarting(route: Route) -> None:
        route.fulfill(status=503, body="Back soon")

    for answer in (broken, restarting):
        page.route("**/now", answer)
        at_once(page)
        expect(banner).to_have_text(f"No connection since {clock}")
        expect(figure).to_be_hidden()
        page.unroute("**/now")
        at_once(page)
        expect(figure).to_be_visible()
        expect(banner).to_be_hidden()
        clock = page.locator("[data-kiosk-clock]").get_attribute("data-kiosk-clock")


def test_a_revoked_link_shows_nothing_more_on_the_next_renewal(
    browser: Browser, served: str
) -> None:
    loaded_host()
    page, _ = opened(browser, f"{served}{address()}")
    expect(page.get_by_text("15", exact=True)).to_be_visible()
    KioskLink.objects.all().delete()
    at_once(page)
    expect(page.get_by_role("status")).to_have_text(
        "This link has ended. Ask an admin for a new one."
    )
    expect(page.get_by_text("15", exact=True)).to_be_hidden()
    expect(page.locator(".kiosk-map")).to_be_hidden()


def test_the_page_of_links_is_accessible(browser: Browser, served: str) -> None:
    loaded_host(site="Helsinki 1")
    address()
    page, complaints = signed_in(browser.new_context(), served)
    page.goto(f"{served}/screens/")
    page.get_by_label("Name", exact=True).fill("Office")
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_text("Address for Office")).to_be_visible()
    looks = product((1440, 360), ("light", "dark"))
    assert [each for width, theme in looks for each in violations(page, width, theme)] == []
    assert complaints == []
