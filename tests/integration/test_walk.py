"""An administrator's first minutes with a host that was in use long before Tiercel, by clicks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from playwright.sync_api import Locator, Page, expect

from jobs.models import Job
from storage.models import Host, Volume
from tests.demo.furniture import VG, Tenant
from tests.integration.conftest import EMAIL, PASSWORD
from tests.integration.machine import Machine
from tests.integration.person import ADD_CACHE_TRAIL, Person, trail
from tests.integration.running import Running
from tests.integration.tab import card, choose, chromium, follow, sign_in, tab

__all__ = ["chromium", "tab"]
pytestmark = [pytest.mark.browser, pytest.mark.thorough]

FIGURES_MS, JOB_MS, RENEW_MS = 120_000, 180_000, 2_000
TUNED = "migration_threshold=16384"


@contextmanager
def in_use(machine: Machine) -> Iterator[tuple[Tenant, Tenant]]:
    """A volume without a cache and one with a cache made by hand, each held by its guest; nothing
    of them stays on the host. The panel still lists those of an earlier try: these have other
    names."""
    number = Volume.objects.count()
    bare = Tenant(f"disk{number}-walk", f"/dev/{machine.world.slow[0]}", 128, "shop3")
    cached = Tenant(
        f"crm{number}-walk", f"/dev/{machine.world.slow[1]}", 128, "crm2", cache_mib=192
    )
    tune = ["lvchange", "-y", "--cachesettings", TUNED, f"{VG}/{cached.lv}"]
    with ExitStack() as stack:
        for tenant in (bare, cached):
            for argv in tenant.commands():
                machine.run(argv)
                if tenant.lv in argv:
                    stack.callback(machine.world.remove_lv, tenant.lv)
            stack.enter_context(machine.world.guest(tenant.guest, tenant.lv))
        machine.run(tune)
        yield bare, cached


def renewed(tab: Page, awaited: Locator) -> None:
    """Load the page again and again, as it asks for, until it shows this."""
    for _ in range(FIGURES_MS // RENEW_MS):
        if awaited.count():
            break
        tab.wait_for_timeout(RENEW_MS)
        tab.reload()
    expect(awaited).to_be_visible()


def opened(tab: Page, part: str) -> None:
    """Open this part of the page of a host or a volume."""
    parts = tab.get_by_role("navigation", name=re.compile("^Parts of this "))
    parts.get_by_role("link", name=part).click()
    expect(parts.locator("[aria-current=page]")).to_contain_text(part)


def confirmed(tab: Page, machine: Machine, commands: list[str]) -> None:
    """From the preview that opens to the job's end, seen without leaving the volume's page."""
    work = tab.locator("#work")
    work.get_by_role("heading", name="Preview:").wait_for()
    for command in commands:
        expect(work).to_contain_text(command, timeout=JOB_MS)
    with machine.hold("lvconvert") as held:
        work.get_by_role("button", name="Confirm and run").click()
        expect(work).to_contain_text("Runs in the background")
        tab.evaluate("window.stayed = true")
        held.wait()
        expect(work).not_to_contain_text("succeeded")
        held.resume()
        expect(work.get_by_text("succeeded", exact=True)).to_be_visible(timeout=JOB_MS)
    assert tab.evaluate("window.stayed")


def test_an_admin_goes_from_a_first_look_to_a_cache_and_back(
    machine: Machine, host: Host, panel: Running, person: Person, tab: Page
) -> None:
    machine.forbid_all()
    with in_use(machine) as (bare, cached):
        person.refresh(host)
        sign_in(tab, panel.url, EMAIL, PASSWORD)

        # A look: what stands on what, how the cache made by hand does, what may go wrong.
        choose(tab, "Hosts")
        follow(tab, host.name)
        opened(tab, "Settings")
        expect(card(tab, "Policy and volume groups")).to_contain_text("observe-only")
        opened(tab, "Map and disks")
        for name in (bare.lv, bare.guest, cached.lv, cached.guest):
            expect(card(tab, "Storage map")).to_contain_text(name)
        opened(tab, "Summary")
        follow(tab, "Open advice")
        with machine.load(cached.lv):
            row = card(tab, "Existing caches").get_by_role("row", name=cached.lv)
            renewed(tab, row.filter(has_text=re.compile(r"\d\s%")))
        expect(card(tab, "Risks")).to_contain_text(f"{cached.lv} runs with {TUNED}")

        # Whose the volumes are.
        follow(tab, host.name)
        opened(tab, "Volumes")
        follow(tab, "Adopt volumes")
        form = tab.get_by_role("form", name="By name pattern")
        form.get_by_label("Name pattern for volumes or guests").fill("*-walk")
        form.get_by_label("New customer").fill(f"Walk on {host.name}")
        form.get_by_role("button", name="Preview").click()
        expect(tab.get_by_role("row", name=bare.lv)).to_contain_text(
            "Not tagged: root has not allowed"
        )
        tab.get_by_role("button", name="Adopt the selected volumes").click()
        tab.get_by_role("heading", name="2 volumes adopted").wait_for()

        # What root allows.
        machine.allow(VG)
        choose(tab, "Hosts")
        follow(tab, host.name)
        tab.get_by_role("button", name="Refresh").click()
        # Read before the page came, nothing says that it is being read.
        tab.wait_for_url("**?asked=*")
        opened(tab, "Settings")
        renewed(tab, card(tab, "Policy and volume groups").get_by_text("may be changed"))

        # A cache comes and is marked on the chart.
        before = machine.lvs()
        choose(tab, "Volumes")
        follow(tab, bare.lv)
        opened(tab, "Details")
        expect(card(tab, "Location")).to_contain_text(bare.guest)
        opened(tab, "Summary")
        # Before its scripts are at work, the link leads to a page of its own.
        expect(card(tab, "What happened?")).to_contain_text("No jobs on this volume yet")
        card(tab, "Cache").get_by_role("link", name="Add a cache").click()
        form = card(tab, "Add a cache")
        # A refusal would stand here in its place, and is shown where this fails.
        expect(form).to_contain_text("Size on SSD", timeout=FIGURES_MS // 4)
        form.get_by_label("Size on SSD").select_option("268435456")
        form.get_by_role("radio", name="writethrough").check()
        form.get_by_role("button", name="Preview").click()
        confirmed(tab, machine, ["lvcreate", "lvconvert", bare.lv])
        with machine.load(bare.lv):
            with tab.expect_response(re.compile(r"/marks(\?|$)")) as marks:
                tab.reload()
            # Asked for again: what the page got is gone where it was loaded anew meanwhile.
            answer = tab.request.get(marks.value.url).json()
            assert answer["marks"][-1]["label"] == "Add cache"
            chart = card(tab, "Over time")
            chart.get_by_text("Jobs, restarts and alerts in this period").click()
            expect(chart.locator(".chart-jobs")).to_contain_text("Add cache")
            expect(chart.get_by_role("img").first).to_be_visible(timeout=FIGURES_MS)
        tab.locator("#cache").get_by_text("Share of the volume").wait_for()

        added = Job.objects.filter(volume__label=bare.lv, dry_run=False, kind="add-cache").get()
        assert trail(added) == [("volume.tag", ["lvchange"]), *ADD_CACHE_TRAIL]

        # It goes again.
        tab.locator("#volume-menu > summary").click()
        tab.get_by_role("button", name="Remove cache").click()
        confirmed(tab, machine, ["lvconvert", bare.lv])
        expect(card(tab, "Cache")).to_contain_text("All reads go to the HDD")
        assert machine.lvs() == before
