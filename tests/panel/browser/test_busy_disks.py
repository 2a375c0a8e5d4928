"""Who kept a disk busy at 03:00, asked by clicks from the first page on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from panel.accounts import people
from storage.models import Device, DeviceSample, Host, Sample, Volume
from tests import fleet
from tests.panel.browser.chromium import EMAIL, PASSWORD, signed_in
from tests.panel.browser.chromium import browser as browser

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
HALF = timedelta(minutes=10)
PIXEL_OF = """([title, at]) => {
  const figure = [...document.querySelectorAll("figure")].find((each) =>
    each.querySelector(".chart-title").textContent === title);
  const chart = Chart.getChart(figure.querySelector("canvas"));
  const box = figure.querySelector("canvas").getBoundingClientRect();
  const { top, bottom } = chart.chartArea;
  return [box.left + chart.scales.x.getPixelForValue(at), box.top + (top + bottom) / 2];
}"""


def at_three(now: datetime) -> datetime:
    """The last 03:00 that is over by half an hour."""
    today = now.astimezone(UTC).replace(hour=3, minute=0, second=0, microsecond=0)
    return today if now - today > timedelta(minutes=30) else today - timedelta(days=1)


def noisy(host: Host, at: datetime) -> Volume:
    """A volume of the host that reads so much around that time that its disks are busy."""
    volume = Volume.objects.filter(placement__host=host, layout="plain").order_by("pk").last()
    assert volume is not None
    samples = Sample.objects.filter(volume=volume, ts__gt=at - HALF, ts__lte=at + HALF)
    samples.update(technology=0, read_ms=900_000, write_ms=0, cache_size_bytes=None)
    device = Device.objects.get(host=host, name="md1")
    on_disk = DeviceSample.objects.filter(device=device, ts__gt=at - HALF, ts__lte=at + HALF)
    on_disk.update(read_ms=2_000_000, write_ms=0, busy_ms=299_000)
    return volume


@pytest.fixture
def served(live_server: LiveServer) -> Iterator[str]:
    """The panel's address, with a person who may sign in."""
    people.add(email=EMAIL, password=PASSWORD, staff_role="admin")
    yield live_server.url
    connections.close_all()


def click_at(page: Page, title: str, at: datetime) -> None:
    """Click that moment in a chart."""
    page.locator("figure", has_text=title).scroll_into_view_if_needed()
    x, y = page.evaluate(PIXEL_OF, [title, at.timestamp() * 1000])
    page.mouse.click(x, y)


def test_who_made_the_hdd_busy_at_three_is_two_clicks_from_the_first_page(
    browser: Browser, served: str
) -> None:
    made = fleet.build(hosts=2, volumes=12, hours=26, seconds=300)
    at = at_three(timezone.now())
    host = made.hosts[0]
    guilty = noisy(host, at)
    context = browser.new_context(viewport={"width": 1440, "height": 900}, timezone_id="Asia/Tokyo")
    page, complaints = signed_in(context, served)
    page.goto(served)
    page.locator("#fleet-tables").get_by_role("link", name=host.name, exact=True).click()
    page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    expect(page.locator("#who")).to_contain_text("Click a point in a chart")
    click_at(page, "Disks busy", at)
    who = page.locator("#who table").first
    first = who.locator("tbody tr").first
    expect(first.get_by_role("link")).to_have_text(guilty.label)
    expect(first).to_contain_text("45 %")
    expect(page.locator("#who h3").first).to_contain_text("md1 (HDD): 99.7 % busy")
    expect(who).to_contain_text("Other (host, rebuilds, checks)")
    expect(page.locator("#who-title")).to_contain_text("12:0")
    assert "at=" in page.url
    click_at(page, "IOPS and latency", at)
    expect(first.get_by_role("link")).to_have_text(guilty.label)
    page.reload()
    expect(page.locator("#who table tbody tr").first).to_contain_text(guilty.label)
    assert complaints == []
    context.close()


def test_the_same_is_asked_by_keys_and_without_scripts(browser: Browser, served: str) -> None:
    made = fleet.build(hosts=1, volumes=6, hours=26, seconds=300)
    at = at_three(timezone.now())
    guilty = noisy(made.hosts[0], at)
    url = served + reverse("host", args=[made.hosts[0].key])
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800})
    page, _ = signed_in(context, served)
    page.goto(url)
    page.locator("#who [name=at]").fill(f"{at:%Y-%m-%dT%H:%M}")
    page.locator("#who").get_by_role("button", name="Show").click()
    expect(page.locator("#who table").first.locator("tbody tr").first).to_contain_text(guilty.label)
    context.close()
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = signed_in(context, served)
    page.goto(url)
    page.locator("[data-charts-panels][aria-busy=false]").wait_for()
    box = page.locator("figure", has_text="Disks busy").locator(".chart-box")
    box.press("End")
    box.press("Enter")
    expect(page.locator("#who-title")).to_contain_text("Who kept the disks busy,")
    assert complaints == []
    context.close()
