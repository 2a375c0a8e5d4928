"""The pages of benchmarks in a browser: they fit, axe finds nothing grave, and their charts do what
a person asks."""

from __future__ import annotations

from itertools import product

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from panel.benchmarks.share_links import share
from storage.byte_sizes import GIB
from storage.models import Benchmark, Host
from tests.benchmark_scene import EVENING, make_benchmark
from tests.panel.browser.axe import violations
from tests.panel.browser.chromium import blank, browser, served, signed_in
from tests.scene import scene

__all__ = ["browser", "served"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def measured() -> Benchmark:
    """One that is done, on a host where another one runs."""
    there = scene()
    said = {"quota_bytes": 64 * GIB, "fio": "3.33"}
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}, "benchmarks": said})
    make_benchmark(there.host, EVENING, timezone.now(), done=2, title="Another")
    return make_benchmark(there.host, EVENING, timezone.now(), title="Evening")


def grave(page: Page) -> list[str]:
    looks = product((1440, 360), ("light", "dark"))
    return [each for width, theme in looks for each in violations(page, width, theme)]


def test_every_page_of_benchmarks_fits_and_is_accessible(browser: Browser, served: str) -> None:
    done = measured()
    share(done)
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    paths = [
        reverse("benchmarks"),
        reverse("benchmark", args=[done.key]),
        reverse("benchmark-new"),
        reverse("benchmark-import"),
        f"{reverse('benchmark-compare')}?of={done.key}&of=published",
    ]
    found = dict[str, list[str]]()
    for path in paths:
        page.goto(f"{served}{path}")
        found[path] = grave(page)
    context.close()
    context = browser.new_context()
    page, of_strangers = blank(context)
    path = reverse("benchmark-shared", args=[done.share_key])
    page.goto(f"{served}{path}")
    expect(page.get_by_role("heading", name="lvmcache won")).to_be_visible()
    found[path] = grave(page)
    context.close()
    assert {path: each for path, each in found.items() if each} == {}
    assert complaints + of_strangers == []


def test_charts_show_what_a_person_points_at_and_zooms_into(browser: Browser, served: str) -> None:
    done = measured()
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = signed_in(context, served)
    page.goto(f"{served}{reverse('benchmark', args=[done.key])}")
    chart = page.locator('[data-benchmark-chart="iops"]')
    hits = page.locator('[data-benchmark-chart="hits"]')
    box = chart.locator(".chart-box")
    box.focus()
    box.press("Home")
    expect(chart.locator(".chart-readout")).to_have_text("0.25 s")
    expect(chart.locator(".legend-value").first).to_contain_text("IOPS")
    expect(hits.locator(".legend-value").first).to_contain_text("%")
    chart.get_by_role("button", name="SSD alone").click()
    expect(chart.get_by_role("button", name="SSD alone")).to_have_attribute("aria-pressed", "false")
    log = chart.get_by_role("button", name="log")
    log.click()
    expect(log).to_have_attribute("aria-pressed", "false")
    with page.expect_download() as download:
        chart.get_by_role("button", name="PNG").click()
    assert download.value.suggested_filename == "benchmark-iops.png"
    area = box.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 200, area["y"] + 100)
    page.mouse.down()
    page.mouse.move(area["x"] + 400, area["y"] + 100, steps=5)
    page.mouse.up()
    reset = page.get_by_role("button", name="Reset")
    expect(reset).to_be_visible()
    reset.click()
    expect(reset).to_be_hidden()
    assert complaints == []
    context.close()


def test_the_order_form_says_what_it_takes_while_one_chooses(browser: Browser, served: str) -> None:
    measured()
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = signed_in(context, served)
    page.goto(f"{served}{reverse('benchmark-new')}")
    preview = page.locator("#benchmark-preview")
    expect(preview.locator("dd").first).to_have_text("15")
    page.get_by_label("Repeats").fill("4")
    expect(preview.locator("dd").first).to_have_text("20")
    page.get_by_label("Data, GiB").fill("0.1")
    page.get_by_label("Cache, GiB").fill("0.1")
    expect(preview.get_by_role("button", name="Order")).to_be_enabled()
    preview.get_by_role("button", name="Order").click()
    expect(page.get_by_text("The benchmark is ordered.")).to_be_visible()
    assert complaints == []
    context.close()
