"""A cache is added without leaving the volume's page: form, preview, confirmation, progress."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Locator, Page, Route, expect

from jobs.models import Job, State
from tests import make
from tests.panel.browser.chromium import signed_in
from tests.panel.browser.test_charts import browser, served
from tests.scene import end, scene, step

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
__all__ = ["browser", "served"]

MOST_KEYS = 80
UNPROCESSABLE = (
    "Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)"
)
"""What Chromium itself notes of a form that is answered with its errors."""


def reach(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Go on with the key until the element has the focus, as a person without a mouse does."""
    for _ in range(MOST_KEYS):
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} does not lead to {wanted}")


def test_a_cache_is_added_in_place_by_keyboard(browser: Browser, served: str) -> None:
    there = scene(make.lv())
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("volume", args=[there.volume.key]))
    reach(page, page.locator("#cache").get_by_role("link", name="Add a cache"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Add a cache")).to_be_focused()
    reach(page, page.get_by_label("writethrough"))
    page.keyboard.press("ArrowDown")
    reach(page, page.get_by_role("button", name="Preview", exact=True))
    page.keyboard.press("Enter")
    expect(page.locator("#work")).to_contain_text("Asking the host for the exact commands")
    preview = Job.objects.get(dry_run=True)
    assert preview.wish["cache"]["mode"] == "writeback"
    assert f"job={preview.key}" in page.url
    step(preview)
    end(preview, fingerprint="x")
    expect(page.locator("#work")).to_contain_text("Commands")
    expect(page.locator("#work pre")).to_have_text("lvconvert -y --type cache vg0/web12")
    reach(page, page.get_by_role("button", name="Confirm and run"), "Shift+Tab")
    page.keyboard.press("Space")
    expect(page.locator("#work")).to_contain_text("Runs in the background")
    job = Job.objects.get(dry_run=False)
    assert job.wish == preview.wish
    step(job, state="done", op_id="00000000-0000-4000-8000-000000000001")
    with page.expect_response("**/cache/card"):
        end(job, State.SUCCEEDED)
    expect(page.locator("#work")).to_contain_text("succeeded")
    page.reload()
    expect(page.locator("#work")).to_contain_text("succeeded")
    reach(page, page.locator("#work").get_by_role("button", name="Close"))
    page.keyboard.press("Enter")
    expect(page.locator("#work")).to_be_empty()
    assert "job=" not in page.url
    assert complaints == []
    context.close()


def test_a_preview_is_shown_although_the_page_asked_for_news_just_before(
    browser: Browser, served: str
) -> None:
    there = scene(make.lv())
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("volume", args=[there.volume.key]))
    asked: list[Route] = []
    posted: list[Route] = []
    page.route("**/work", lambda route: asked.append(route))
    page.route("**/move", lambda route: posted.append(route))
    page.locator("#volume-menu > summary").click()
    with page.expect_request("**/work"):
        pass
    with page.expect_request("**/move"):
        page.get_by_role("button", name="Move to SSD").click()
    expect(page.locator("#volume-menu")).not_to_have_attribute("open", "")
    page.unroute("**/work")
    for route in (*asked, *posted):
        route.continue_()
        page.wait_for_timeout(1_000)
    expect(page.locator("#work")).to_contain_text("Asking the host for the exact commands")
    assert complaints == []
    context.close()


def test_a_form_of_the_menu_opens_on_the_page_and_goes_again(browser: Browser, served: str) -> None:
    there = scene(make.lv(), label="web1")
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("volume", args=[there.volume.key]))
    page.locator("#volume-menu > summary").click()
    page.get_by_role("link", name="Name and note").click()
    expect(page.locator("#work").get_by_label("Name", exact=True)).to_have_value("web1")
    page.locator("#work").get_by_role("link", name="Cancel").click()
    expect(page.locator("#work")).to_be_empty()
    page.locator("#volume-menu > summary").click()
    page.get_by_role("link", name="Resize").click()
    page.locator("#work").get_by_label("New size").fill("1")
    page.locator("#work").get_by_role("button", name="Preview").click()
    expect(page.locator("#work")).to_contain_text("already has 8 GiB", timeout=20_000)
    expect(page.locator("#work").get_by_label("New size")).to_have_value("1")
    assert complaints == [UNPROCESSABLE]
    page.locator("#work").get_by_label("New size").fill("12")
    page.locator("#work").get_by_role("button", name="Preview").click()
    expect(page.locator("#work")).to_contain_text("Asking the host for the exact commands")
    assert complaints == [UNPROCESSABLE]
    context.close()


def test_a_job_that_began_elsewhere_shows_itself(browser: Browser, served: str) -> None:
    there = scene(make.lv())
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    with page.expect_response("**/work"):
        page.goto(served + reverse("volume", args=[there.volume.key]))
    Job.objects.create(
        kind="extend-volume", host=there.host, volume=there.volume, wish={}, state=State.QUEUED
    )
    expect(page.locator("#work")).to_contain_text("Extend volume", timeout=20_000)
    assert complaints == []
    context.close()
