"""Drift, a lost SSD and the checks around a restart, as a browser shows them."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, expect

from storage.byte_sizes import GIB
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.panel.browser.chromium import browser, served, signed_in, too_wide
from tests.scene import LONG, scene

__all__ = ["browser", "served"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

POOL = "c-aaaaaaaaaaaaaaaa"


def test_what_is_not_as_recorded_or_lost_is_shown_and_fits(browser: Browser, served: str) -> None:
    cache = make.dm_cache(POOL, mode="writeback", pvs=("[unknown]",))
    there = scene(
        make.lv(LONG, cache=cache, health="partial"),
        label=LONG,
        pvs=(make.pv(), make.fast_pv("[unknown]", missing=True)),
        vgs=(make.vg(missing_pv_count=1),),
    )
    there.volume.wish = Wish(8 * GIB, cache=LvmCache(POOL, 2 * GIB)).to_json()
    there.volume.save()
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    for path, headings in (
        (
            reverse("volume", args=[there.volume.key]),
            ("Data may be lost: the SSD is missing", "Not as recorded"),
        ),
        (reverse("host-volumes", args=[there.host.key]), ("Not as recorded",)),
        (reverse("host-settings", args=[there.host.key]), ("Restarting this host",)),
    ):
        page.goto(f"{served}{path}")
        for heading in headings:
            expect(page.get_by_role("heading", name=heading)).to_be_visible()
        assert too_wide(page) == []
    assert complaints == []
    context.close()
