"""A trace on the page of a volume, from its button to its outcome."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import Browser, expect

from storage.database_clock import database_now
from storage.models import HeatTrace
from tests.heat_scene import count_heat, counting_scene, slow_reads
from tests.panel.browser.chromium import browser, served, signed_in, too_wide
from tests.trace_scene import count_trace, trace

__all__ = ["browser", "served"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_trace_is_asked_for_cancelled_and_its_outcome_fits(browser: Browser, served: str) -> None:
    cache.clear()
    there, now = counting_scene(), database_now()
    count_heat(there.volume, 12, now)
    slow_reads(there, 20, now - timedelta(minutes=25))
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    url = f"{served}{reverse('volume-curve', args=[there.volume.key])}"
    page.goto(url)
    page.get_by_label("Minutes").fill("20")
    page.get_by_role("button", name="Trace", exact=True).click()
    expect(page.get_by_text("The trace of 20 min waits for")).to_be_visible()
    page.get_by_role("button", name="Cancel the trace").click()
    expect(page.get_by_label("Minutes")).to_be_visible()
    HeatTrace.objects.all().delete()
    count_trace(trace(there))
    page.goto(url)
    expect(page.get_by_text("serve most reads, of the sizes")).to_be_visible()
    assert too_wide(page) == []
    assert complaints == []
    context.close()
