"""Keyboard shortcuts, the menu for admins, and how dense tables are, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served
from tests.panel.browser.chromium import signed_in
from tests.scene import scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_shortcuts_are_shown_jump_walk_and_can_be_switched_off(
    browser: Browser, served: str
) -> None:
    for label in ("app2", "app10"):
        scene(label=label)
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served)
    page.keyboard.press("?")
    shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_be_visible()
    page.keyboard.press("Escape")
    expect(shortcuts).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("v")
    page.wait_for_url("**/volumes/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.innerText") == "app10"
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.innerText") == "app2"
    page.keyboard.press("?")
    shortcuts.get_by_label("Use shortcuts in this browser").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(shortcuts).to_be_hidden()
    page.locator("summary", has_text="Account").click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(shortcuts).to_be_visible()
    assert complaints == []
    context.close()


def test_letters_typed_into_a_field_are_no_shortcuts(browser: Browser, served: str) -> None:
    scene(label="app2")
    context = browser.new_context()
    page, _ = signed_in(context, served)
    page.goto(f"{served}/volumes/")
    page.locator("#id_q").press_sequentially("gj?")
    expect(page.locator("#id_q")).to_have_value("gj?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()
    context.close()


def test_tables_are_made_denser_and_stay_so(browser: Browser, served: str) -> None:
    scene(label="app2")
    context = browser.new_context()
    page, _ = signed_in(context, served)
    page.goto(f"{served}/jobs/")
    page.locator("summary", has_text="Account").click()
    page.get_by_role("button", name="Tables: comfortable").click()
    page.goto(f"{served}/volumes/")
    assert page.evaluate("document.documentElement.dataset.density") == "compact"
    context.close()


def test_the_menu_of_admins_opens_by_keyboard_and_names_the_page_one_is_on(
    browser: Browser, served: str
) -> None:
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served)
    page.get_by_text("Admin", exact=True).press("Enter")
    page.get_by_role("link", name="Audit trail").click()
    page.wait_for_url("**/audit/**")
    page.get_by_text("Admin", exact=True).click()
    current = page.locator(".menu-admin [aria-current=page]")
    expect(current).to_have_text("Audit trail")
    page.keyboard.press("Escape")
    expect(current).to_be_hidden()
    assert complaints == []
    context.close()
