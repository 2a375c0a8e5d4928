"""Pages in a real browser: nothing runs against the policy, nothing overflows, tails renew."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, expect

from jobs.models import Line
from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts
from storage.models import HostOutline
from tests import make
from tests.panel.browser.chromium import WIDE, signed_in, too_wide
from tests.panel.browser.chromium import browser as browser
from tests.panel.browser.chromium import served as served
from tests.scene import LONG, end, job, scene, step

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_pages_fit_the_screen_and_obey_the_policy(browser: Browser, served: str) -> None:
    there = scene(make.lv(LONG, cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")), label=LONG)
    named = {"name": "h" * 64, "site": "s" * 64}
    foreign = scene(managed=False, vgs=(make.vg(name=LONG, allowed=False),), host=named)
    sizes = {"fast_total_bytes": GIB}
    HostOutline.objects.update_or_create(host=foreign.host, defaults=sizes)
    running = job(there)
    step(running)
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    for path in (
        reverse("home"),
        reverse("hosts"),
        reverse("host", args=[there.host.key]),
        reverse("host-volumes", args=[there.host.key]),
        reverse("host-disks", args=[there.host.key]),
        reverse("host-settings", args=[there.host.key]),
        reverse("host", args=[foreign.host.key]),
        reverse("host-advice", args=[there.host.key]),
        reverse("adopt"),
        reverse("volumes"),
        reverse("volume", args=[there.volume.key]),
        reverse("volume", args=[foreign.volume.key]),
        reverse("volume-new"),
        reverse("jobs"),
        reverse("audit"),
        reverse("capacity"),
        reverse("job", args=[running.key]),
        reverse("mfa_index"),
    ):
        page.goto(served + path)
        assert too_wide(page) == [], path
    assert complaints == []
    context.close()


def test_a_jobs_page_follows_it_and_stops_asking_at_its_end(browser: Browser, served: str) -> None:
    running = job(scene())
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("job", args=[running.key]))
    Line.objects.create(job=running, n=1, text="the first line")
    page.get_by_text("the first line").wait_for()
    Line.objects.create(job=running, n=2, text="the second line")
    end(running)
    page.get_by_text("the second line").wait_for()
    page.locator("#status:not([hx-get])").wait_for()
    expect(page.locator("main [hx-trigger*=every]")).to_have_count(0)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(2500)
    assert not [url for url in asked if reverse("running-jobs") not in url]
    assert page.locator(".log li").all_inner_texts() == ["the first line", "the second line"]
    assert complaints == []
    context.close()


def test_a_hosts_page_renews_itself_until_it_is_read(browser: Browser, served: str) -> None:
    there = scene(vgs=(make.vg(allowed=False),))
    context = browser.new_context()
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("host", args=[there.host.key]))
    came_later = page.get_by_text("Not enough data")
    page.get_by_role("button", name="Refresh").click()
    page.get_by_text("Refreshing").wait_for()
    with page.expect_response("**?asked=*"):
        pass
    allowed = make.facts(there.lv, vgs=(make.vg(),))
    apply_facts(there.host, make.inventory(allowed), timezone.now())
    with page.expect_response("**/advice/card"):
        expect(page.get_by_text("is observe-only")).to_have_count(0)
    came_later.wait_for()
    assert page.get_by_text("Refreshing").count() == 0
    assert page.locator("#main").count() == 1
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.wait_for_timeout(2500)
    assert reverse("host", args=[there.host.key]) not in asked  # its figures go on
    assert complaints == []
    context.close()


def test_the_colour_theme_is_kept_in_the_browser(browser: Browser, served: str) -> None:
    context = browser.new_context(color_scheme="light")
    page, _ = signed_in(context, served)
    page.goto(served)
    page.locator("summary", has_text="Account").click()
    for _ in ("light", "dark"):
        page.locator("[data-theme-switch]").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.bsTheme") == "dark"
    context.close()


def test_a_job_is_read_without_javascript(browser: Browser, served: str) -> None:
    running = job(scene())
    context = browser.new_context(java_script_enabled=False)
    page, _ = signed_in(context, served)
    page.goto(served + reverse("job", args=[running.key]))
    Line.objects.create(job=running, n=1, text="came by a refresh")
    page.get_by_text("came by a refresh").wait_for()
    context.close()


def test_a_volume_is_adopted_by_its_pattern_and_given_back(browser: Browser, served: str) -> None:
    there = scene(managed=False, vgs=(make.vg(allowed=False),))
    context = browser.new_context(viewport={"width": 360, "height": 800})
    page, complaints = signed_in(context, served)
    page.goto(served + reverse("host", args=[there.host.key]))
    page.get_by_text("Actions", exact=True).click()
    page.get_by_role("link", name="Adopt volumes").click()
    page.fill("[name=pattern]", "web*")
    page.fill("[name=new_customer]", LONG)
    by_pattern = page.get_by_role("form", name="By name pattern")
    by_pattern.get_by_role("button", name="Preview").click()
    assert page.evaluate(WIDE) == []
    page.get_by_role("button", name="Adopt 1 volume").click()
    page.get_by_role("heading", name="1 volume adopted").wait_for()
    assert page.evaluate(WIDE) == []
    page.get_by_role("button", name="Undo adoption").click()
    page.get_by_text("Undone for 1 volume.").wait_for()
    assert complaints == []
    context.close()
