"""The output of a job and the list of jobs in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from jobs.models import Job, Line, StepState
from panel.staff.jobs.log_pages import PAGE_LINES
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served
from tests.panel.browser.chromium import signed_in
from tests.scene import job, scene, step

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AT_END = """() => { const log = document.querySelector("[data-log]");
  return log.scrollHeight - log.scrollTop - log.clientHeight < 24; }"""
TO_TOP = "document.querySelector('[data-log]').scrollTop = 0"


@pytest.fixture
def page(browser: Browser, served: str) -> Iterator[Page]:
    """A signed-in page, which must not have complained at the end."""
    context = browser.new_context(base_url=served)
    opened, complaints = signed_in(context, served)
    yield opened
    context.close()
    assert complaints == []


def say(of: Job, first: int, last: int) -> None:
    Line.objects.bulk_create(Line(job=of, n=n, text=f"line {n}.") for n in range(first, last + 1))


def test_the_output_follows_its_end_until_the_reader_scrolls_away(page: Page) -> None:
    running = job(scene())
    say(running, 1, 100)
    page.goto(reverse("job", args=[running.key]))
    follow = page.get_by_role("button", name="Follow")
    expect(follow).to_have_attribute("aria-pressed", "true")
    say(running, 101, 130)
    page.locator("#L130").wait_for()
    assert page.evaluate(AT_END)
    page.evaluate(TO_TOP)
    expect(follow).to_have_attribute("aria-pressed", "false")
    say(running, 131, 133)
    expect(follow).to_have_text("Follow (3 new)")
    assert not page.evaluate(AT_END)
    follow.click()
    expect(follow).to_have_text("Follow")
    assert page.evaluate(AT_END)


def test_a_line_has_an_address_that_survives_new_lines_and_reload(page: Page) -> None:
    running = job(scene())
    say(running, 1, 90)
    page.goto(reverse("job", args=[running.key]))
    page.get_by_role("link", name="Line 80,").click()
    assert page.url.endswith("/#L80")
    say(running, 91, 92)
    expect(page.locator("#L92")).to_be_attached()
    expect(page.locator("li:target")).to_contain_text("line 80.")
    page.reload()
    expect(page.locator("#L80")).to_be_in_viewport()


def test_a_line_that_was_left_out_is_fetched_by_its_address(page: Page) -> None:
    running = job(scene())
    say(running, 1, PAGE_LINES + 300)
    page.goto(reverse("job", args=[running.key]))
    expect(page.locator("#L300")).to_have_count(0)
    page.get_by_role("link", name="Show earlier lines").click()
    expect(page.locator("#L1")).to_be_attached()
    page.goto(reverse("job", args=[running.key]) + "#L200")
    expect(page.locator("li:target")).to_contain_text("line 200.")
    expect(page.locator("#L200")).to_be_in_viewport()


def test_long_lines_wrap_or_not_as_the_reader_chose_before(page: Page) -> None:
    running = job(scene())
    Line.objects.create(job=running, n=1, text="long " * 200)
    page.goto(reverse("job", args=[running.key]))
    folded = page.locator("#L1").bounding_box()
    page.get_by_role("button", name="Wrap").click()
    page.reload()
    expect(page.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "false")
    straight = page.locator("#L1").bounding_box()
    assert folded is not None
    assert straight is not None
    assert folded["height"] > straight["height"]


def test_what_the_reader_unfolded_stays_so_when_the_page_renews_itself(page: Page) -> None:
    running = job(scene())
    made = step(running, state=StepState.DONE, op_id="6a7c1e4e-1b57-4c0e-8a53-90e54ab1c009")
    page.goto(reverse("job", args=[running.key]))
    page.get_by_text("1 command").click()
    made.title = "Another title"
    made.save()
    page.get_by_text("Another title").first.wait_for()
    expect(page.locator("#commands-1")).to_be_visible()


def test_a_filter_shows_in_the_list_and_in_the_address_at_once(page: Page) -> None:
    job(scene(label="web12 disk"))
    job(scene(label="db1 disk"), kind="flush-cache")
    page.goto(reverse("jobs"))
    page.get_by_label("Kind").select_option("Flush cache")
    rows = page.locator("#found tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("db1 disk")
    expect(page).to_have_url(re.compile("[?&]kind=flush-cache"))
    page.go_back()
    expect(rows).to_have_count(2)
