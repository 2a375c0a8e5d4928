"""The overview in a real browser: it renews itself in place, and its order is in the address."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, expect

from jobs.models import State
from storage.models import HostActivity
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served
from tests.panel.browser.chromium import signed_in
from tests.scene import Scene, end, job, scene

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PATIENCE_MS = 40_000
SHIFTS = """new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifted = (window.shifted || 0) + entry.value;
}).observe({type: "layout-shift", buffered: false})"""


def sampled(there: Scene, reads: int) -> None:
    """A round of a minute with so many reads."""
    HostActivity.objects.update_or_create(
        host=there.host,
        defaults={
            "at": timezone.now(),
            "read_iops": reads / 60,
            "write_iops": 0.0,
            "busy": min(1.0, reads / 60_000),
            "busiest_id": there.volume.pk,
        },
    )


def test_figures_and_rows_renew_in_place_and_the_focus_stays(browser: Browser, served: str) -> None:
    there = scene()
    sampled(there, 6000)
    context = browser.new_context(viewport={"width": 1440, "height": 1200})
    page, complaints = signed_in(context, served)
    page.goto(served)
    link = page.get_by_role("link", name="busiest", exact=True)
    link.focus()
    row = page.locator(f"#host-{there.host.key}")
    expect(row).to_contain_text("100")
    page.evaluate(SHIFTS)
    sampled(there, 54_000)
    expect(row).to_contain_text("900", timeout=PATIENCE_MS)
    assert page.evaluate("window.shifted || 0") < 0.01
    expect(link).to_be_focused()
    end(job(there), State.FAILED, error={"code": "no_space", "message": "no room."})
    attention = page.locator(".attention-what")
    expect(attention).to_contain_text("Add cache failed: no room.", timeout=PATIENCE_MS)
    expect(link).to_be_focused()
    assert complaints == []
    context.close()


def test_the_order_of_hosts_is_in_the_address(browser: Browser, served: str) -> None:
    calm, busy = scene(host={"name": "a-calm"}), scene(host={"name": "b-busy"})
    sampled(calm, 600)
    sampled(busy, 6000)
    long_ago = timezone.now() - timedelta(hours=2)
    scene(host={"name": "c-silent", "last_seen_at": long_ago})
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served)
    first = page.locator(".fleet-table tbody tr").first
    expect(first).to_contain_text("c-silent")
    page.get_by_role("link", name="busiest", exact=True).press("Enter")
    expect(first).to_contain_text("b-busy")
    assert page.url == f"{served}{reverse('home')}?sort=busy"
    page.reload()
    expect(first).to_contain_text("b-busy")
    page.go_back()
    expect(first).to_contain_text("c-silent")
    assert complaints == []
    context.close()
