"""One crosshair and one zoom for all charts of a volume, by mouse and by keyboard."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from jobs.models import Job
from tests.panel.browser.chromium import signed_in
from tests.panel.browser.test_charts import browser, opened, sampled, served

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
__all__ = ["browser", "served"]

FINGER = 44
"""Pixels."""
# What is folded is not drawn.
DRAWN = "Object.keys(Chart.instances).length"
LIMITS = """() => Object.values(Chart.instances).map(({ scales: { x } }) => [x.min, x.max])"""
WINDOWS = """() => Chart.getChart(document.querySelector("figure canvas"))
  .options.plugins.bands.list.filter((band) => band.text).map((band) => band.text)"""
FADED = """() => {
  const drawn = [...document.querySelectorAll("figure canvas")].map((each) => Chart.getChart(each));
  const set = drawn.map((each) => each?.data.datasets[0]).find((each) => each?.segment);
  if (!set) return [];
  const all = set.data.map((_, n) => set.segment.borderColor({ p0DataIndex: n, p1DataIndex: n }));
  return all.filter(Boolean);
}"""


def limits(page: Page) -> tuple[float, float]:
    """The time that the charts show, which is the same in all of them."""
    found: list[list[float]] = page.evaluate(LIMITS)
    assert len(found) > 1
    assert all(each == found[0] for each in found)
    return found[0][0], found[0][1]


LAST = re.compile("^last ")


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_the_crosshair_goes_through_all_charts_by_mouse_and_by_arrow_keys(
    browser: Browser, served: str
) -> None:
    context = browser.new_context()
    page, complaints = opened(context, served, sampled(cached=True), "1h")
    first = page.locator(".chart-box").first
    first.scroll_into_view_if_needed()
    first.hover(position={"x": 300, "y": 60})
    drawn = page.evaluate(DRAWN)
    assert drawn >= 5
    expect(page.locator(".chart-hair:not([hidden])")).to_have_count(drawn)
    times = set(page.locator(".chart-readout:visible").all_inner_texts())
    assert len(times) == 1
    assert not times.pop().startswith("last")
    page.get_by_role("heading", level=1).hover()
    expect(page.locator(".chart-readout").first).to_have_text(LAST)
    first.focus()
    page.keyboard.press("Home")
    expect(page.locator(".chart-readout").first).not_to_have_text(LAST)
    leftmost = page.locator(".chart-readout").first.inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".chart-readout:visible").last).not_to_have_text(leftmost)
    assert leftmost < page.locator(".chart-readout").first.inner_text()
    page.keyboard.press("Escape")
    expect(page.locator(".chart-readout").first).to_have_text(LAST)
    assert complaints == []
    context.close()


def test_dragging_zooms_all_charts_keeps_it_in_the_url_and_reset_goes_back(
    browser: Browser, served: str
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, complaints = opened(context, served, sampled(cached=True), "1h")
    whole = limits(page)
    first = page.locator(".chart-box").first
    first.scroll_into_view_if_needed()
    box = first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 400, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 70, steps=4)
    with page.expect_response("**/series?range=1h&from=*"):
        page.mouse.up()
    expect(page.locator("[data-charts-summary]")).to_contain_text(" until ")
    part = limits(page)
    assert whole[0] < part[0] < part[1] < whole[1]
    assert query(page).keys() == {"range", "from", "to"}
    assert "from=" in (page.locator("[data-charts-csv]").get_attribute("href") or "")
    page.reload()
    page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    expect(page.locator("[data-charts-summary]")).to_contain_text(" until ")
    assert limits(page) == part
    page.get_by_role("button", name="Reset").click()
    expect(page.locator("[data-charts-summary]")).to_contain_text("Last 1 h")
    assert query(page).keys() == {"range"}
    assert complaints == []
    context.close()


def test_the_zoom_is_there_for_the_keyboard_and_a_hidden_line_stays_hidden(
    browser: Browser, served: str
) -> None:
    context = browser.new_context()
    page, complaints = opened(context, served, sampled(cached=False), "1h")
    summary = page.locator("[data-charts-summary]")
    reads = page.locator("[data-line=read_iops]")
    reads.click()
    expect(reads).to_have_attribute("aria-pressed", "false")
    low, high = limits(page)
    for button, wider in (("Zoom in", False), ("Zoom out", True)):
        page.get_by_role("button", name=button).focus()
        page.keyboard.press("Enter")
        expect(summary).to_contain_text(" until ")
        assert "from" in query(page)
        start, end = limits(page)
        assert (end - start > high - low) is wider
        expect(reads).to_have_attribute("aria-pressed", "false")
        page.get_by_role("button", name="Reset").click()
        expect(summary).to_contain_text("Last 1 h")
    assert complaints == []
    context.close()


def test_a_rate_over_few_accesses_is_faded(browser: Browser, served: str) -> None:
    context = browser.new_context()
    there = sampled(cached=True, quiet=True)
    page, complaints = opened(context, served, there, "1h")
    faded: list[Any] = page.evaluate(FADED)
    assert faded
    assert complaints == []
    context.close()


def test_the_times_before_and_after_a_job_are_compared_and_shaded(
    browser: Browser, served: str
) -> None:
    there = sampled(cached=True)
    job = Job.objects.get()
    Job.objects.update(ended_at=job.started_at)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("volume", args=[there.volume.key]))
    page.get_by_role("link", name="Before and after", exact=True).click()
    page.get_by_label("Job", exact=True).select_option(job.key)
    page.wait_for_url("**compare=**")
    page.get_by_label("Period on each side").select_option("5m")
    page.wait_for_url("**length=5m**")
    expect(page.locator(".compare-table").get_by_text("Read time")).to_be_visible()
    page.get_by_role("link", name="Show both periods on the charts").click()
    page.wait_for_url("**from=**")
    page.locator(".compare-table").wait_for()
    page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    assert query(page)["length"] == ["5m"]
    assert page.evaluate(WINDOWS) == ["before", "after"]
    assert complaints == []
    context.close()


def test_a_finger_zooms_by_buttons_that_it_can_hit(browser: Browser, served: str) -> None:
    context = browser.new_context(
        viewport={"width": 360, "height": 800}, has_touch=True, is_mobile=True
    )
    page, complaints = opened(context, served, sampled(cached=True), "1h")
    start, end = limits(page)
    page.get_by_role("button", name="Zoom in").tap()
    expect(page.locator("[data-charts-summary]")).to_contain_text(" until ")
    assert limits(page)[1] - limits(page)[0] < end - start
    for button in page.locator(".charts-tools .btn:visible").all():
        box = button.bounding_box()
        assert box is not None and min(box["width"], box["height"]) >= FINGER
    assert complaints == []
    context.close()
