"""The list of volumes in a real browser: its address, its order, and what is chosen in it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from jobs.models import Job, State
from jobs.queue import bulk
from panel.models import User
from storage.models import Placement
from tests import fleet
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import opened
from tests.scene import end, step

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BOXES = "tbody input[type=checkbox]"


@pytest.fixture
def page(live_server: LiveServer, browser: Browser) -> Iterator[Page]:
    """An admin's browser before the volumes of a small fleet, with nothing to complain about."""
    fleet.build(2, 12, hours=0.1)
    context = browser.new_context(base_url=live_server.url)
    client = Client()
    client.force_login(User.objects.get(email=fleet.ADMIN))
    page, complaints = opened(context, live_server.url, client)
    page.goto("/volumes/")
    yield page
    context.close()
    connections.close_all()
    assert not complaints


def asked(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def chosen(page: Page) -> list[str]:
    keys: list[str] = page.locator(f"{BOXES}:checked").evaluate_all("all => all.map(e => e.value)")
    return sorted(keys)


def test_order_and_filters_stand_together_in_the_address_and_one_step_back_undoes_one(
    page: Page,
) -> None:
    page.get_by_role("link", name="IOPS", exact=True).click()
    page.wait_for_url("**sort=-iops")
    expect(page.locator("[aria-sort=descending]")).to_have_text("IOPS")
    expect(page.locator("#sort-iops")).to_be_focused()
    page.select_option("#id_cache", "bcache")
    page.wait_for_url("**cache=bcache**")
    assert asked(page) == {"sort": ["-iops"], "cache": ["bcache"]}
    count = Placement.objects.filter(cache_technology="bcache").count()
    expect(page.locator("tbody tr")).to_have_count(count)
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(count)
    page.go_back()
    page.wait_for_url("**/volumes/?sort=-iops")
    expect(page.locator("tbody tr")).to_have_count(12)


def test_what_is_chosen_stays_with_its_volume_when_the_figures_renew(page: Page) -> None:
    for n in (1, 4, 7):
        page.locator(BOXES).nth(n).check()
    before = chosen(page)
    last = page.locator("tbody tr").last.get_attribute("id")
    page.evaluate(
        "htmx.ajax('GET', '/volumes/?sort=-volume',"
        " {target: '#rows', select: '#rows', swap: 'outerMorph'})"
    )
    expect(page.locator("tbody tr").first).to_have_id(last or "")
    assert chosen(page) == before and len(before) == 3


def test_another_filter_chooses_nothing_by_itself(page: Page) -> None:
    page.get_by_label("All on this page").check()
    expect(page.locator("[data-choose-count]")).to_have_text("12 selected")
    page.select_option("#id_cache", "bcache")
    page.wait_for_url("**cache=bcache**")
    assert chosen(page) == []


def test_many_volumes_are_changed_by_keyboard_alone(page: Page) -> None:
    page.goto("/volumes/?cache=any")
    count = page.locator(BOXES).count()
    page.get_by_label("All on this page").focus()
    page.keyboard.press("Space")
    expect(page.locator("[data-choose-count]")).to_have_text(f"{count} selected")
    page.get_by_label("Action for the selected volumes").focus()
    page.keyboard.type("Remove the")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    button = page.get_by_role("button", name="Apply to")
    expect(button).to_be_visible()
    before = Job.objects.count()
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/volumes/bulk/*/")
    (change,) = bulk.due_changes()
    while bulk.go_on(change):
        pass
    expect(page.get_by_text("to start")).to_have_count(0)
    accepted = page.locator("#main").get_by_text("queued", exact=True).count()
    assert accepted and Job.objects.count() == before + accepted
    page.get_by_role("link", name="Back to volumes").click()
    assert asked(page) == {"cache": ["any"]}


def test_nothing_is_wider_than_a_small_screen(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    for path in ("/volumes/", "/volumes/?state=destroyed", "/volumes/?q=nothing"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_exact_commands_of_a_row_come_in_its_place(page: Page) -> None:
    cached = Placement.objects.filter(cache_technology="lvmcache", volume__managed=True)
    # A volume that a job holds is skipped: it has no commands.
    held = Job.objects.unfinished().filter(dry_run=False).exclude(volume=None)
    place = cached.exclude(volume__in=held.values("volume"))[0]
    page.check(f"#choose-{place.volume.key}")
    page.select_option("#id_action", "remove-cache")
    page.get_by_role("button", name="Preview").click()
    button = page.get_by_role("button", name="Exact commands")
    button.click()
    expect(page.get_by_text("Asking the host for the exact commands.")).to_be_visible()
    expect(button).to_be_focused()
    preview = Job.objects.get(volume=place.volume, dry_run=True, state=State.QUEUED)
    step(preview)
    end(preview)
    expect(page.get_by_text("lvconvert -y --type cache vg0/web12")).to_be_visible()
    expect(page.get_by_role("button", name="Apply to 1 volume")).to_be_visible()
