"""The top bar in a real browser: by keyboard, on a small screen, without JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from jobs.models import State
from tests.panel.browser.chromium import blank, sign_in, signed_in
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served
from tests.scene import end, job, scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AT_ONCE = """addEventListener("DOMContentLoaded", () => {
  const field = document.querySelector("[data-search-field]");
  field.focus();
  field.value = "shop";
  field.dispatchEvent(new Event("input", {bubbles: true}));
})"""


def focused(page: Page) -> str:
    text: str = page.evaluate("document.activeElement.innerText")
    return text


def test_search_goes_by_keyboard_alone(browser: Browser, served: str) -> None:
    there = scene(label="Shop database", host={"name": "shop-host"})
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served)
    page.keyboard.press("/")
    # A pause between two letters is answered too; that answer is not waited for.
    with page.expect_response("**q=shop"):
        page.keyboard.type("shop")
    page.locator("#search-found").get_by_role("link", name="Shop database").wait_for()
    expect(page.locator("#search-said")).to_have_text("2 found")
    page.keyboard.press("ArrowDown")
    assert focused(page).startswith("shop-host")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert focused(page).startswith("Shop database")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.value") == "shop"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/volumes/{there.volume.key}/")
    assert complaints == []
    context.close()


def test_what_is_typed_as_soon_as_the_page_is_there_is_searched_for(
    browser: Browser, served: str
) -> None:
    scene(label="Shop database")
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.add_init_script(AT_ONCE)
    page.goto(served)
    page.locator("#search-found").get_by_role("link", name="Shop database").wait_for()
    assert complaints == []
    context.close()


def test_a_small_screen_folds_the_menu_and_search_is_a_page(browser: Browser, served: str) -> None:
    scene(label="Shop database")
    scene(label="Shop mail")
    context = browser.new_context(viewport={"width": 360, "height": 700})
    page, complaints = signed_in(context, served)
    page.goto(served)
    hosts = page.get_by_role("navigation", name="Main").get_by_role("link", name="Hosts")
    expect(hosts).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    expect(hosts).to_be_visible()
    hosts.focus()
    page.keyboard.press("Escape")
    expect(hosts).to_be_hidden()
    page.get_by_role("link", name="Search").click()
    page.locator("main [name=q]").press_sequentially("shop")
    page.get_by_role("link", name="Shop mail").wait_for()
    page.wait_for_url("**/search?q=shop")
    assert complaints == []
    context.close()


def test_without_javascript_every_page_and_search_can_be_reached(
    browser: Browser, served: str
) -> None:
    scene(label="Shop database")
    context = browser.new_context(
        base_url=served, java_script_enabled=False, viewport={"width": 360, "height": 700}
    )
    page, _ = blank(context)
    sign_in(page)
    expect(page.get_by_role("navigation", name="Main").get_by_role("link")).to_have_count(7)
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Volumes").click()
    page.get_by_role("link", name="Search", exact=True).click()
    page.fill("main [name=q]", "shop")
    page.locator("main").get_by_role("button", name="Search").click()
    page.wait_for_url("**/volumes/*/")
    context.close()


def test_the_menu_of_jobs_stays_open_while_it_renews_itself(browser: Browser, served: str) -> None:
    running = job(scene(label="Shop database"))
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served)
    summary = page.locator("#running-menu summary")
    expect(summary).to_contain_text("Running jobs: 1")
    summary.click()
    item = page.locator("#running-menu").get_by_role("link", name="Shop database")
    expect(item).to_contain_text("queued")
    end(running, State.CANCELLED)
    page.dispatch_event("#running-menu", "every")
    expect(item).to_have_count(0)
    expect(summary).to_contain_text("Running jobs: 0")
    expect(page.get_by_text("No running jobs")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("No running jobs")).to_be_hidden()
    assert complaints == []
    context.close()


def test_a_panel_that_does_not_answer_is_said_until_it_does(browser: Browser, served: str) -> None:
    context = browser.new_context()
    page, _ = signed_in(context, served)
    page.goto(served)
    said = page.get_by_text("The panel does not answer")
    expect(said).to_be_hidden()
    page.route("**/running", lambda route: route.abort())
    page.dispatch_event("#running-menu", "every")
    expect(said).to_be_visible()
    page.unroute("**/running")
    page.route("**/running", lambda route: route.fulfill(status=503, body="no database"))
    page.dispatch_event("#running-menu", "every")
    expect(page.locator("#running-menu")).not_to_contain_text("no database")
    expect(said).to_be_visible()
    page.unroute("**/running")
    page.dispatch_event("#running-menu", "every")
    expect(said).to_be_hidden()
    context.close()


def test_a_session_that_ended_leads_to_the_sign_in_page(browser: Browser, served: str) -> None:
    context = browser.new_context()
    page, _ = signed_in(context, served)
    page.goto(served)
    context.clear_cookies()
    page.dispatch_event("#running-menu", "every")
    page.get_by_role("button", name="Sign in", exact=True).wait_for()
    context.close()
