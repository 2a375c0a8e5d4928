"""The maps of a host and of the fleet in a real browser: they renew without a flicker, are small
enough for a phone, and remember their colour."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from storage.discovery.ingest import apply_facts
from storage.inventory.volume_parts import VolumeUser
from storage.models import Host, HostOutline, LatestSample, Placement
from tests import make
from tests.panel.browser.axe import refreshed, violations
from tests.panel.browser.chromium import LOOKS, signed_in
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = "n" * 62
MARK = "document.querySelectorAll('.tile').forEach((each, n) => { each.mark = n; })"
MARKED = "[...document.querySelectorAll('.tile')].map((each) => each.mark ?? -1)"
FACES = "[...document.querySelectorAll('.tile-volume .face')].map((e) => getComputedStyle(e).fill)"

LABELS = """[...document.querySelectorAll(".tile-name, .tile-figures, .tile-head")]
  .filter((each) => each.checkVisibility() && each.tagName === "DIV")
  .map((each) => {
    const [own, tile] = [each, each.closest(".tile")].map((of) => of.getBoundingClientRect());
    return {
      ends_whole: getComputedStyle(each).textOverflow === "ellipsis" && own.width >= 20,
      is_inside: own.right <= tile.right + 1 && own.bottom <= tile.bottom + 1,
    };
  })"""
NAMED_GUESTS = """[...document.querySelectorAll(".tile-guest .tile-name")]
  .filter((each) => each.checkVisibility()).length"""


def host_of(count: int, **fields: Any) -> Host:
    """A host with so many volumes of long names, each with a guest and a cache, and a sample."""
    host = make.host(last_seen_at=timezone.now(), **fields)
    lvs = [
        make.lv(
            f"v{n:03}",
            size_bytes=(1 + n % 40) << 30,
            cache=make.dm_cache(f"c-{n:08}"),
            users=(VolumeUser("qemu", f"{LONG}{n}", "vda", n),),
        )
        for n in range(count)
    ]
    disks = tuple(make.disk(name) for name in ("sda", "sdb", "sdc"))
    inventory = make.inventory(make.facts(*lvs, disks=disks, arrays=(make.array(),)))
    apply_facts(host, inventory, timezone.now())
    LatestSample.objects.bulk_create(
        LatestSample(
            volume_id=placement.volume_id, host=host, at=timezone.now(), dt_ms=10_000, reads=100,
            read_ms=30 * n, busy_ms=min(10_000, 3000 * n), writes=0, write_ms=0, weighted_ms=0,
            read_sectors=0, write_sectors=0, boottime_ns=1, counters={},
        )
        for n, placement in enumerate(Placement.objects.filter(host=host).select_related("volume"))
    )  # fmt: skip
    for placement in Placement.objects.filter(host=host).select_related("volume"):
        placement.volume.label = f"{LONG}{placement.volume_id}"
        placement.volume.save()
    return host


def opened(browser: Browser, url: str, path: str) -> tuple[Page, list[str]]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = signed_in(context, url)
    page.goto(f"{url}{path}")
    return page, complaints


def test_the_map_of_a_host_renews_its_figures_in_the_same_elements_and_nothing_moves(
    browser: Browser, served: str
) -> None:
    host = host_of(30)
    page, complaints = opened(browser, served, f"/hosts/{host.key}/disks")
    page.get_by_text("The same as a list").click()
    page.evaluate(MARK)
    marks, faces = page.evaluate(MARKED), page.evaluate(FACES)
    LatestSample.objects.update(read_ms=9000)
    _, moved = refreshed(page)
    assert sum(each["value"] for each in moved) == 0
    assert page.evaluate(MARKED) == marks
    assert page.evaluate(FACES) != faces
    expect(page.locator(".map-tree")).to_have_attribute("open", "")
    assert complaints == []


def test_the_colour_that_was_chosen_is_remembered(browser: Browser, served: str) -> None:
    host = host_of(3)
    page, complaints = opened(browser, served, f"/hosts/{host.key}/disks")
    legend = page.get_by_text("Share of time with I/O under way")
    expect(legend).to_be_hidden()
    faces = page.evaluate(FACES)
    page.get_by_role("button", name="Busy", exact=True).click()
    expect(legend).to_be_visible()
    assert page.evaluate(FACES) != faces
    page.reload()
    expect(page.get_by_role("button", name="Busy", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(
        page.get_by_text("Average read latency (of a guest: its slowest volume):")
    ).to_be_hidden()
    refreshed(page)
    expect(legend).to_be_visible()
    assert complaints == []


def test_the_keyboard_reaches_every_volume_by_the_list_and_not_by_the_picture(
    browser: Browser, served: str
) -> None:
    host = host_of(2)
    page, _ = opened(browser, served, f"/hosts/{host.key}/disks")
    page.get_by_role("button", name="Busy", exact=True).focus()
    page.keyboard.press("Tab")
    expect(page.locator(".map-tree summary")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(".map-tree a").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/volumes/*/")


def test_maps_fit_a_small_screen_with_names_of_64_letters_and_axe_finds_nothing(
    browser: Browser, served: str
) -> None:
    host = host_of(30, name="h" * 64, site="s" * 60)
    HostOutline.objects.update_or_create(
        host=host, defaults={"fast_total_bytes": 1 << 40, "slow_total_bytes": 1 << 42}
    )
    make.activity(host, busy=0.4, top_read_ms=[[1, 30.0]])
    for path in (f"/hosts/{host.key}/disks", "/hosts/map"):
        page, complaints = opened(browser, served, path)
        page.get_by_text("The same as a list").click()
        for width, theme in LOOKS:
            assert violations(page, width, theme) == []
            assert violations(page, width, "light" if theme == "dark" else "dark") == []
        assert complaints == []


@pytest.mark.parametrize("width", [360, 1440])
def test_no_label_is_cut_in_a_letter_and_most_guests_have_one(
    browser: Browser, served: str, width: int
) -> None:
    host = host_of(14)
    page, complaints = opened(browser, served, f"/hosts/{host.key}/disks")
    page.set_viewport_size({"width": width, "height": 900})
    labels = page.evaluate(LABELS)
    assert labels and all(each["ends_whole"] and each["is_inside"] for each in labels)
    assert page.evaluate(NAMED_GUESTS) >= (12 if width == 1440 else 10)
    assert complaints == []


def test_on_a_small_screen_the_list_is_open(browser: Browser, served: str) -> None:
    host = host_of(2)
    page, complaints = opened(browser, served, f"/hosts/{host.key}/disks")
    expect(page.locator(".map-tree")).not_to_have_attribute("open", "")
    page.set_viewport_size({"width": 360, "height": 900})
    page.reload()
    expect(page.locator(".map-tree")).to_have_attribute("open", "")
    refreshed(page)
    expect(page.locator(".map-tree")).to_have_attribute("open", "")
    assert complaints == []


def test_a_tile_of_the_fleet_leads_to_its_host(browser: Browser, served: str) -> None:
    host = make.host(name="stor-1", last_seen_at=timezone.now())
    HostOutline.objects.create(host=host, slow_total_bytes=1 << 40)
    page, complaints = opened(browser, served, "/hosts/")
    page.get_by_role("link", name="Map", exact=True).click()
    page.wait_for_url("**/hosts/map")
    page.locator(".tile-host").click()
    page.wait_for_url(f"**/hosts/{host.key}/")
    assert complaints == []
