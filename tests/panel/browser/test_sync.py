"""Answers that come in another order than they were asked for: what a person asked last stands."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Route, expect

from jobs.models import State
from tests import make
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served
from tests.panel.browser.chromium import signed_in
from tests.scene import job, scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

EVERY = """(part) => part.dispatchEvent(new CustomEvent("every"))"""


def test_a_filter_stands_although_the_list_asks_for_news_meanwhile(
    browser: Browser, served: str
) -> None:
    job(scene(make.lv("web12"), label="waits"), state=State.WAITING)
    job(scene(make.lv("web13"), label="runs"))
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("jobs"))
    held: list[Route] = []
    page.route("**/jobs/?*", lambda route: route.continue_() if held else held.append(route))
    with page.expect_request("**/jobs/?*"):
        page.get_by_label("State").select_option("waiting")
    page.locator("#found").evaluate(EVERY)
    held[0].continue_()
    expect(page).to_have_url(re.compile("state=waiting"))
    page.wait_for_load_state("networkidle")
    expect(page.locator("#found")).to_have_attribute("hx-get", re.compile("state=waiting"))
    assert page.get_by_role("link", name="runs").count() == 0
    assert complaints == []
    context.close()


def test_the_name_typed_last_is_the_one_that_is_found(browser: Browser, served: str) -> None:
    scene(make.lv(), host={"name": "store-3"})
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("hosts"))
    held: list[Route] = []
    page.route("**/hosts/?*", lambda route: route.continue_() if held else held.append(route))
    field = page.get_by_label("Name or address")
    with page.expect_request("**/hosts/?*"):
        field.fill("store")
        field.press("Enter")
    for typed in ("store-", "store-3"):
        field.fill(typed)
        field.press("Enter")
    held[0].continue_()
    expect(page).to_have_url(re.compile("q=store-3"))
    assert complaints == []
    context.close()
