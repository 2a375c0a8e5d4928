"""Help and the tour in a real browser: by keyboard, on a phone, and without JavaScript."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from panel.help import tour
from panel.models import User
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served
from tests.panel.browser.chromium import signed_in, too_wide
from tests.scene import scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def press(page: Page, name: str) -> None:
    """Reach the button by the Tab key alone, then press it."""
    button = page.get_by_role("complementary", name="Tour").get_by_role("button", name=name)
    for _ in range(60):
        if button.evaluate("(button) => button === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")


def test_the_tour_is_followed_by_keyboard_alone(browser: Browser, served: str) -> None:
    there = scene()
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page, complaints = signed_in(context, served)
    person = User.objects.get()
    tour.begin_tour(person)
    page.goto(served + reverse("home"))
    for number, address in (
        (2, reverse("host", args=[there.host.key])),
        (3, reverse("volume", args=[there.volume.key])),
        (4, reverse("cache-plans")),
    ):
        assert too_wide(page) == []
        press(page, "Next")
        page.wait_for_url(served + address)
        expect(page.get_by_role("complementary", name="Tour")).to_contain_text(
            f"step {number} of 4"
        )
    press(page, "Finish")
    page.wait_for_url(served + reverse("home"))
    assert page.get_by_role("complementary", name="Tour").count() == 0
    assert complaints == []
    context.close()


def test_without_javascript_the_tour_goes_on_and_a_word_is_explained(
    browser: Browser, served: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page, _ = signed_in(context, served)
    tour.begin_tour(User.objects.get())
    page.goto(served + reverse("jobs"))
    aside = page.get_by_role("complementary", name="Tour")
    aside.get_by_role("link", name="Continue").click()
    expect(aside).to_contain_text("What needs your attention")
    aside.get_by_role("button", name="Skip the tour").click()
    expect(aside).to_have_count(0)
    page.goto(served + reverse("help") + "?q=queue+depth")
    page.get_by_role("link", name="queue depth", exact=True).click()
    expect(page.locator(":target")).to_contain_text("in progress at a moment")
    context.close()
