"""From an alert to the reason, and from there to a preview: one click each."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from jobs.alerts import alert_judge
from jobs.models import Job
from storage.analysis.disk_condition import judge_volumes
from storage.analysis.disk_users import disk_map
from storage.health.slowness import SlowSpell
from storage.models import (
    CacheCondition,
    Device,
    DeviceSample,
    Host,
    HostChange,
    LatestSample,
    Placement,
    Sample,
    Volume,
)
from storage.stored_inventory import inventory_of
from tests import fleet
from tests.panel.browser.axe import violations
from tests.panel.browser.chromium import browser, served, signed_in

__all__ = ["browser", "served"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LASTED = timedelta(minutes=18)
LONG_NAME = "m" * 64
LOOKS = ((360, "dark"), (1440, "light"))


def on_one_hdd(host: Host) -> tuple[str, list[Volume]]:
    """The HDD with most volumes that no job changes and that have no cache, and these."""
    facts = inventory_of(host)
    assert facts is not None
    busy = Job.objects.unfinished().values_list("volume_id", flat=True)
    by_disk: dict[str, list[Volume]] = {}
    there = Placement.objects.filter(host=host, until=None, cache_technology="")
    for each in there.exclude(volume__in=list(busy)).select_related("volume"):
        for disk in disk_map(facts).legs[str(each.lv_uuid)].slow if each.lv_uuid else ():
            by_disk.setdefault(disk, []).append(each.volume)
    return max(by_disk.items(), key=lambda each: len(each[1]))


def slowed(host: Host, now: datetime) -> tuple[Volume, Volume]:
    """A volume whose reads wait, and the one that keeps its disk busy; a third uses a little."""
    name, volumes = on_one_hdd(host)
    victim, guilty, third = volumes[:3]
    Volume.objects.filter(pk=guilty.pk).update(label=LONG_NAME)
    for volume, reads, each_ms in ((victim, 1300, 26), (guilty, 9000, 40), (third, 3000, 12)):
        figures = {"reads": reads, "read_ms": reads * each_ms, "write_ms": 0, "technology": 0}
        lately = Sample.objects.filter(volume=volume, ts__gt=now - LASTED)
        lately.update(**figures, dt_ms=60_000, cache_size_bytes=None)
        LatestSample.objects.filter(volume=volume).update(**figures, dt_ms=60_000)
        spell = SlowSpell(now - LASTED, now - timedelta(minutes=1)).to_json()
        CacheCondition.objects.update_or_create(
            volume=volume, defaults={"host": host, "findings": [], "noted": {"slow": spell}}
        )
    device = Device.objects.get(host=host, name=name)
    on_disk = DeviceSample.objects.filter(device=device, ts__gt=now - LASTED)
    on_disk.update(read_ms=500_000, write_ms=0, busy_ms=57_600, dt_ms=60_000)
    HostChange.objects.create(host=host, kind="boot", at=now - timedelta(hours=1), after="6.1")
    judge_volumes(now)
    alert_judge.judge(now)
    return victim, guilty


def clean(page: Page) -> list[str]:
    return [each for width, theme in LOOKS for each in violations(page, width, theme)]


def test_alert_reason_and_preview_are_a_click_apart(browser: Browser, served: str) -> None:
    made = fleet.build(hosts=1, volumes=24, hours=1, seconds=60)
    victim, guilty = slowed(made.hosts[0], timezone.now())
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = signed_in(context, served)
    page.goto(f"{served}{reverse('alerts')}?volume={victim.key}&follows=on")
    page.locator(".alerts-table").get_by_role("link", name="Volume slow").first.click()
    page.get_by_role("link", name="Why is it slow?").click()
    expect(page.get_by_role("heading", name=f"Why is {victim.label} slow?")).to_be_visible()
    card = page.locator(".slow-card")
    expect(card).to_contain_text("a read has taken 26.0 ms on average (20 ms is slow).")
    expect(card.locator(".slow-why")).to_contain_text(f"{LONG_NAME} has ")
    expect(card.locator(".slow-users li")).to_have_count(3)
    expect(card.locator(".slow-changes")).to_contain_text("Restart")
    assert clean(page) == []
    page.set_viewport_size({"width": 1440, "height": 900})
    before = Job.objects.filter(dry_run=True).count()
    card.get_by_role("button", name="Preview a cache of").first.press("Enter")
    page.wait_for_url("**/jobs/**")
    assert Job.objects.filter(dry_run=True).count() == before + 1
    page.goto(f"{served}{reverse('volume', args=[victim.key])}")
    culprit = page.locator(".slow-card .slow-users").get_by_role("link", name=LONG_NAME)
    culprit.click()
    expect(page.get_by_role("heading", name=LONG_NAME)).to_be_visible()
    assert page.url.endswith(reverse("volume", args=[guilty.key]))
    assert complaints == []
    context.close()


def test_the_time_line_fits_and_is_filtered_by_keys(browser: Browser, served: str) -> None:
    made = fleet.build(hosts=1, volumes=24, hours=1, seconds=60)
    victim, _ = slowed(made.hosts[0], timezone.now())
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page, complaints = signed_in(context, served)
    for name, key in (("host-history", made.hosts[0].key), ("volume-history", victim.key)):
        page.goto(f"{served}{reverse(name, args=[key])}")
        expect(page.locator(".timeline")).to_contain_text("Alert: Volume slow")
        assert clean(page) == []
        page.set_viewport_size({"width": 1440, "height": 900})
        kinds = page.get_by_role("navigation", name="Kinds of events")
        kinds.get_by_role("link", name="Host").press("Enter")
        expect(kinds.get_by_role("link", name="Host")).to_have_attribute("aria-current", "true")
        expect(page.locator(".timeline")).to_contain_text("Restart")
        expect(page.locator(".timeline")).not_to_contain_text("Alert:")
        rows = page.locator(".timeline tbody tr:not(.timeline-day)")
        assert max(rows.evaluate_all("each => each.map((row) => row.offsetHeight)")) < 80
    assert complaints == []
    context.close()
