"""Lists in a real browser: names while one types, all that is found, results that renew."""

from __future__ import annotations

import pytest
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, expect
from pytest_django.live_server_helper import LiveServer

from jobs.models import BulkChange, Job, State
from jobs.queue import bulk
from storage.models import Customer, Host, Volume
from tests import fleet, make
from tests.panel.browser.chromium import blank, opened, sign_in, signed_in
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served
from tests.scene import end, scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_customer_is_chosen_by_typing_and_works_without_javascript(
    browser: Browser, served: str
) -> None:
    for n in range(30):
        make.customer(f"Customer {n}")
    make.customer("Northwind Web")
    scene(managed=False)
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(f"{served}/adopt/")
    field = page.get_by_label("Customer", exact=True).first
    with page.expect_response("**/suggest/customers**"):
        field.press_sequentially("north")
    expect(page.locator(f"#{field.get_attribute('list')} option")).to_have_count(1)
    assert complaints == []
    context.close()
    context = browser.new_context(base_url=served, java_script_enabled=False)
    page, _ = blank(context)
    sign_in(page)
    page.goto("/adopt/")
    by_pattern = page.get_by_role("form", name="By name pattern")
    by_pattern.get_by_label("Customer", exact=True).fill("northwind web")
    by_pattern.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Will be assigned to Northwind Web.")).to_be_visible()
    context.close()


def test_all_that_is_found_is_chosen_and_its_results_renew_themselves(
    browser: Browser, served: str
) -> None:
    there = [
        scene(make.lv(f"lv{n}", cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")), label=f"app{n}")
        for n in range(2)
    ]
    Volume.objects.bulk_create(Volume(label=f"zz{n}", size_bytes=1) for n in range(60))
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(f"{served}/volumes/?size=25")
    page.get_by_label("All 62 found").check()
    expect(page.get_by_text("62 selected")).to_be_visible()
    page.get_by_label("Action for the selected volumes").select_option("remove-cache")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Apply to the selected volumes").click()
    page.wait_for_url("**/volumes/bulk/*/")
    expect(page.get_by_text("0 of 2")).to_be_visible()
    bulk.go_on(BulkChange.objects.get().pk)
    for job in Job.objects.all():
        end(job, State.SUCCEEDED)
    expect(page.get_by_text("2 of 2")).to_be_visible()
    assert len(there) == 2 and complaints == []
    context.close()


def test_a_view_is_saved_and_gone_back_to(browser: Browser, served: str) -> None:
    scene(label="app2")
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(f"{served}/volumes/?sort=-iops")
    page.get_by_text("Views", exact=True).click()
    page.get_by_label("Name of the view").fill("Busiest")
    page.get_by_role("button", name="Save").click()
    page.goto(f"{served}/volumes/")
    page.get_by_text("Views 1").click()
    page.get_by_role("link", name="Busiest").click()
    page.wait_for_url("**/volumes/?sort=-iops")
    assert complaints == []
    context.close()


def test_a_column_that_is_not_wanted_stays_away(browser: Browser, served: str) -> None:
    scene(label="app2")
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = signed_in(context, served)
    page.goto(f"{served}/volumes/")
    customer, size = page.locator("th:has(#sort-customer)"), page.locator("th:has(#sort-size)")
    expect(customer).to_be_visible()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("checkbox", name="Customer", exact=True).uncheck()
    expect(customer).to_be_hidden()
    expect(page.locator("td[data-label=Customer]")).to_be_hidden()
    page.reload()
    expect(size).to_be_visible()
    expect(customer).to_be_hidden()
    page.get_by_label("Search", exact=True).last.fill("app")
    page.wait_for_url("**q=app**")
    expect(page.locator("td[data-label=Customer]")).to_be_hidden()
    assert complaints == []
    context.close()


BROKEN = """() => {
  const broken = [];
  const body = document.querySelector("main table tbody");
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data } = walker.currentNode;
    for (const found of data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      if (found[0].length > 20) continue;
      const range = document.createRange();
      range.setStart(walker.currentNode, found.index);
      range.setEnd(walker.currentNode, found.index + found[0].length);
      const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (tops.size > 1) broken.push(found[0]);
    }
  }
  return broken;
}"""
"""Words of usual length that are on two lines."""
SCROLLED = """[...document.querySelectorAll("main .table-responsive")]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => `${each.scrollWidth} > ${each.clientWidth}`)"""
"""Tables that are wider than their place."""


def test_many_rows_are_dense_no_word_is_broken_and_long_names_do_no_harm(
    browser: Browser, live_server: LiveServer
) -> None:
    made = fleet.build(41, 200, hours=0.1)
    client = Client()
    client.force_login(made.admin)
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1440, "height": 900})
    page, complaints = opened(context, live_server.url, client)
    heights = {}
    for path in ("/hosts/", "/volumes/"):
        page.goto(path)
        heights[path] = page.evaluate("document.documentElement.scrollHeight")
        assert page.evaluate(BROKEN) == [], path
        assert page.evaluate(SCROLLED) == [], path
    assert max(heights.values()) <= 2000, heights
    name = "n" * 64
    Host.objects.filter(pk=made.hosts[0].pk).update(name=name, site=name)
    volume = made.volumes[0]
    Volume.objects.filter(pk=volume.pk).update(label=name, guest=name)
    Customer.objects.filter(volumes=volume.pk).update(name=name)
    for path in ("/hosts/", "/volumes/", "/", f"/volumes/{volume.key}/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1440, path
        assert page.evaluate(SCROLLED) == [], path
    assert complaints == []
    context.close()
    connections.close_all()
