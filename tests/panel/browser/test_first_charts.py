"""A page brings the figures of its charts with it: they are drawn at once, one after the other, and
what fails is tried again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from tests import fleet
from tests.panel.browser.chromium import signed_in
from tests.panel.browser.test_charts import browser, sampled, served

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
__all__ = ["browser", "served"]

DRAWN = "[data-charts-panels][aria-busy=false]"
MADE = "Object.keys(globalThis.Chart?.instances ?? {}).length"
COUNTED = f"""
globalThis.counts = [];
const look = () => {{
  const made = {MADE};
  if (made > 0) counts.push(made);
  requestAnimationFrame(look);
}};
look();
"""
"""How many charts there are, at each frame with any."""
# As "Refreshing ..." on a host's page does.
MORPH = """() => htmx.ajax("GET", location.pathname, {
  source: document.getElementById("main"), target: "#main", select: "#main", swap: "outerMorph",
})"""
TROUBLE = "Charts could not be updated; retrying."


def address(served: str, *, cached: bool, past: bool = False) -> str:
    """The address of a volume with figures; with `past`, of a time that is over."""
    there = sampled(cached=cached)
    url = served + reverse("volume", args=[there.volume.key])
    if not past:
        return f"{url}?range=1h"
    start, end = (timezone.now() - timedelta(minutes=n) for n in (12, 5))
    return f"{url}?range=1h&from={start:%Y-%m-%dT%H:%M:%SZ}&to={end:%Y-%m-%dT%H:%M:%SZ}"


def quiet(page: Page) -> None:
    """What else asks again and again would time out: the clock runs ahead of the network."""
    page.locator("[hx-trigger*=every]").evaluate_all("polled => polled.map(each => each.remove())")


def test_the_first_figures_are_not_asked_for(browser: Browser, served: str) -> None:
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address(served, cached=False))
    page.locator(DRAWN).wait_for()
    assert [url for url in asked if "/marks?" in url]
    assert not [url for url in asked if "/series?" in url]
    assert page.evaluate(MADE) >= 2
    assert complaints == []
    context.close()


def test_a_new_chart_is_made_once_the_one_before_it_is_seen(browser: Browser, served: str) -> None:
    context = browser.new_context()
    page, _ = signed_in(context, served)
    page.add_init_script(COUNTED)
    page.goto(address(served, cached=True))
    page.locator(DRAWN).wait_for()
    counts = page.evaluate("globalThis.counts")
    assert counts[0] == 1 and sorted(set(counts)) == list(range(1, max(counts) + 1))
    assert max(counts) >= 4
    context.close()


def test_marks_that_could_not_be_had_are_asked_for_again_also_of_a_time_that_is_over(
    browser: Browser, served: str
) -> None:
    context = browser.new_context()
    page, _ = signed_in(context, served)
    page.clock.install()
    page.route("**/marks?*", lambda route: route.abort())
    page.goto(address(served, cached=True, past=True))
    expect(page.get_by_text(TROUBLE)).to_be_visible()
    quiet(page)
    page.unroute("**/marks?*")
    with page.expect_response("**/marks?*"):
        page.clock.run_for(60_000)
    expect(page.get_by_text(TROUBLE)).to_be_hidden()
    context.close()


def test_a_chart_that_could_not_be_made_is_made_with_the_next_figures(
    browser: Browser, served: str
) -> None:
    context = browser.new_context()
    page, _ = signed_in(context, served)
    page.clock.install()
    page.route("**/chart.umd*", lambda route: route.abort())
    page.goto(address(served, cached=False))
    expect(page.get_by_text(TROUBLE)).to_be_visible()
    quiet(page)
    page.unroute("**/chart.umd*")
    for name in (
        "chart.umd",
        "chartjs-adapter",
        "chartjs-plugin-zoom",
    ):
        page.add_script_tag(url=page.locator(f"script[src*='{name}']").get_attribute("src") or "")
    with page.expect_response("**/series?*"):
        page.clock.run_for(60_000)
    page.clock.resume()
    page.locator(DRAWN).wait_for()
    expect(page.get_by_text(TROUBLE)).to_be_hidden()
    assert page.evaluate(MADE) >= 2
    context.close()


def test_charts_stay_while_their_page_is_put_in_place_anew(browser: Browser, served: str) -> None:
    host = fleet.build(hosts=1, volumes=4, hours=2, seconds=300).hosts[0]
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("host", args=[host.key]))
    page.locator(DRAWN).wait_for()
    made = page.evaluate(MADE)
    page.evaluate(MORPH)
    page.wait_for_load_state("networkidle")
    page.locator(DRAWN).wait_for()
    assert page.evaluate(MADE) == made
    assert complaints == []
    context.close()
