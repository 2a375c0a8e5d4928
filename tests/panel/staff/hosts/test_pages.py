"""A host's page: what it draws, lists and folds; 100 volumes cost as many queries as 10."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts
from storage.health.host_problems import HealthFinding
from storage.inventory.facts import Array, ArrayMember
from storage.inventory.volume_parts import VolumeUser
from storage.models import Host, HostOutline, LatestSample, Placement, Volume
from tests import make
from tests.scene import scene, stuck_job

pytestmark = pytest.mark.django_db


TABS = ("host", "host-volumes", "host-disks", "host-jobs", "host-history", "host-settings")


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def page(client: Client, host: Host, name: str = "host", **asked: str) -> str:
    response = client.get(reverse(name, args=[host.key]), asked)
    assert response.status_code == 200
    return response.content.decode()


def full(count: int, **facts: Any) -> Host:
    """A host with so many volumes, each with a last sample: the later, the more it waits."""
    host = make.host(last_seen_at=timezone.now())
    lvs = [
        make.lv(f"v{n:03}", users=(VolumeUser("qemu", f"vm{n:03}", "vda", n),))
        for n in range(count)
    ]
    now = timezone.now()
    apply_facts(host, make.inventory(make.facts(*lvs, **facts)), now)
    LatestSample.objects.bulk_create(
        LatestSample(
            volume_id=placement.volume_id, host=host, at=now, dt_ms=10_000, read_ms=10 * n,
            write_ms=0, reads=n, writes=0, read_sectors=0, write_sectors=0, boottime_ns=1,
            counters={},
        )
        for n, placement in enumerate(Placement.objects.filter(host=host).order_by("lv_name"))
    )  # fmt: skip
    host.refresh_from_db()
    return host


def section(text: str, title: str) -> str:
    return text.split(f'aria-labelledby="{title}"')[1].split("</section>")[0]


def test_the_volumes_that_wait_longest_are_listed_first_and_the_list_of_all_is_a_click_away(
    staff: Client,
) -> None:
    host = full(15)
    listed = section(page(staff, host, "host-volumes"), "lvs")
    names = [f"v{n:03}" for n in range(15)]
    shown = sorted((name for name in names if f"vg0/{name}" in listed), key=listed.index)
    assert shown == names[:2:-1]
    assert f"{reverse('volumes')}?host={host.key}" in listed
    assert "All 15 volumes" in listed


def test_each_tab_leads_to_the_problems_and_a_host_in_trouble_is_not_green(staff: Client) -> None:
    gone = full(3)
    Placement.objects.filter(host=gone).update(missing_since=timezone.now())
    summary = page(staff, gone)
    head = summary[summary.index("<h1") : summary.index("Parts of this host")]
    assert "chip" not in head, "the problem is on this page"
    for tab in TABS[1:]:
        text = page(staff, gone, tab)
        head = text[text.index("<h1") : text.index("Parts of this host")]
        assert f'href="{reverse("host", args=[gone.key])}#problems"' in head, tab
        assert "1 problem</span>" in head


@pytest.mark.parametrize("name", [*TABS, "host-now", "host-map", "host-checks"])
def test_more_volumes_cost_no_more_queries(staff: Client, name: str) -> None:
    few, many = full(10), full(100)
    page(staff, few, name)
    counts = []
    for host in (few, many):
        with CaptureQueriesContext(connection) as queries:
            page(staff, host, name)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_disks_show_model_serial_kind_and_their_array(staff: Client) -> None:
    members = (ArrayMember("sda", "in_sync"), ArrayMember("sdb", "faulty"))
    array = Array("md0", "9:0", "u", "raid1", "clean", 2**30, 1, "idle", members)
    disks = (make.disk("sda", rotational=False), make.disk("sdb", rotational=False))
    there = scene(disks=(*disks, make.disk("sdc")), arrays=(array,))
    text = section(page(staff, there.host, "host-disks"), "disks")
    for words in (
        "serial-sda",
        "LAB-HDD",
        "SSD",
        "HDD",
        "md0 → vg0",
        "its array is degraded",
    ):
        assert words in text, words
    assert "In its array" in text and "failed<" in text
    assert "Health" not in text, "no disk has been read"


def test_space_is_shown_by_tier_with_what_is_free(staff: Client) -> None:
    text = section(page(staff, scene().host), "space")
    assert "60\xa0GiB of 100\xa0GiB" in text
    assert "40\xa0GiB free" in text


def test_what_the_inventory_shows_to_be_wrong_stands_among_the_problems_once(
    staff: Client,
) -> None:
    reported = {"code": "array_degraded", "severity": "error", "message": "reported by the agent"}
    there = scene(host={"problems": [{**reported, "correction": ""}], "hello_at": timezone.now()})
    finding = {
        "code": "array_degraded", "severity": "error", "subject": "md0",
        "message": "md0 is missing 1 disk.", "correction": "Replace the disk.",
    }  # fmt: skip
    HostOutline.objects.update_or_create(host=there.host, defaults={"findings": [finding]})
    text = section(page(staff, there.host), "problems")
    assert "md0 is missing 1 disk." in text
    assert "Replace the disk." in text
    assert "reported by the agent" not in text


def test_many_problems_are_folded(staff: Client) -> None:
    problems = [{"code": f"c{n}", "severity": "error", "message": f"wrong {n}."} for n in range(10)]
    text = section(page(staff, scene(host={"problems": problems}).host), "problems")
    assert "10 problems" in text
    assert "7 more" in text
    assert "wrong 9." in text.split("<details")[1]
    assert "wrong 2." not in text.split("<details")[1]


def test_a_preflight_without_problems_says_so_and_hints_stand_there(staff: Client) -> None:
    hint = {"code": "x", "severity": "info", "message": "A hint.", "correction": ""}
    there = scene(host={"problems": [hint], "hello_at": timezone.now()})
    text = page(staff, there.host, "host-settings")
    preflight = section(text, "preflight")
    assert "No problems found" in preflight
    assert "A hint." in preflight
    assert 'aria-labelledby="problems"' not in page(staff, there.host)


def test_preflights_problems_lead_to_the_summary_where_they_are_listed(staff: Client) -> None:
    reported = {"code": "x", "severity": "warning", "message": "Reported.", "correction": ""}
    there = scene(host={"problems": [reported], "hello_at": timezone.now()})
    preflight = section(page(staff, there.host, "host-settings"), "preflight")
    assert "1 problem<" in preflight
    assert f'href="{reverse("host", args=[there.host.key])}#problems"' in preflight


def test_figures_of_a_silent_host_are_greyed_with_their_age(staff: Client) -> None:
    host = full(2)
    long_ago = timezone.now() - timedelta(hours=2)
    Host.objects.filter(pk=host.pk).update(last_seen_at=long_ago)
    LatestSample.objects.update(at=long_ago)
    text = page(staff, host, "host-now")
    assert "the host is silent" in text
    assert "is-stale" in text
    assert "2\xa0h ago" in text
    assert "10.0\xa0ms" in text


def test_a_host_without_an_inventory_has_a_page(staff: Client) -> None:
    host = make.host()
    assert "Waiting for the first inventory" in page(staff, host)
    for tab in TABS[1:]:
        page(staff, host, tab)
    assert "Enrolment and host key" in page(staff, host, "host-settings")


def test_only_an_admin_makes_a_new_line(client: Client) -> None:
    there = scene()
    client.force_login(make.staff_user(staff_role="operator"))
    identity = section(page(client, there.host, "host-settings"), "identity")
    assert "disabled" in identity
    assert "Requires the admin role." in identity
    client.force_login(make.staff_user())
    assert "disabled" not in section(page(client, there.host, "host-settings"), "identity")


def test_old_figures_of_a_host_that_answers_are_greyed_with_the_age_of_the_sample(
    staff: Client,
) -> None:
    host, old = full(2), timezone.now() - timedelta(hours=2)
    assert "is-stale" not in page(staff, host, "host-now")
    LatestSample.objects.update(at=old)
    Placement.objects.update(since=old)
    text = page(staff, host, "host-now")
    assert "is-stale" in text
    assert "2\xa0h ago" in text
    assert "sent no samples for 2\xa0h" in section(page(staff, host), "problems")


def degraded(host: Host, volumes: Sequence[Volume], correction: str) -> None:
    """The host says of each volume that its dirty data lies on one SSD only."""
    findings = [
        HealthFinding(
            "writeback_degraded", "error",
            f"vg0/{volume.label} uses writeback on a degraded SSD mirror: 1 GiB of data is on one "
            "SSD only.", correction, f"vg0/{volume.label}", volume.key,
        )
        for volume in volumes
    ]  # fmt: skip
    outline = {"findings": [each.to_json("") for each in findings]}
    HostOutline.objects.update_or_create(host=host, defaults=outline)


def test_a_problem_of_volumes_names_them_links_them_and_carries_the_button_that_mends_it(
    staff: Client,
) -> None:
    host = full(3)
    volumes = list(Volume.objects.order_by("pk"))
    degraded(host, volumes, "Set it to writethrough.")
    Volume.objects.filter(pk=volumes[0].pk).update(label="mail of ann")
    text = section(page(staff, host), "problems")
    assert "3 volumes in writeback mode on a degraded SSD mirror" in text
    address = reverse("volume", args=[volumes[0].key])
    assert f'href="{address}" title="vg0/v000">mail of ann</a>' in text
    assert "Set these 3 to writethrough" in text
    form = text.split("<form")[1].split("</form>")[0]
    fields = dict(re.findall(r'name="(action|mode)" value="([^"]+)"', form))
    keys = re.findall(r'name="volume" value="([^"]+)"', form)
    assert sorted(keys) == sorted(volume.key for volume in volumes)
    preview = staff.post(reverse("volumes-bulk"), {**fields, "volume": keys})
    assert preview.status_code == 200
    assert "Change the cache mode" in preview.content.decode()


def test_what_mends_waits_for_the_job_that_holds_the_volume(staff: Client) -> None:
    host = full(2)
    first, second = Volume.objects.order_by("pk")
    degraded(host, [first, second], "Set it to writethrough.")
    held = stuck_job(first, kind="set-cache")
    text = section(page(staff, host), "problems")
    form = text.split("<form")[1].split("</form>")[0]
    assert re.findall(r'name="volume" value="([^"]+)"', form) == [second.key]
    assert f'href="{reverse("job", args=[held.key])}">1 needs a decision</a>' in text
    job = stuck_job(second, kind="set-cache")
    for name in ("host", "host-advice", "volume"):
        text = page(staff, host, name) if name != "volume" else of_volume(staff, second)
        button = text.split(">Set to writethrough</button>")[0].rpartition("<button")[2]
        assert "disabled" in button, name
        reason = button.split('aria-describedby="')[1].partition('"')[0]
        box = text.split(f'id="{reason}"')[1].partition("</div>")[0]
        assert "needs a decision" in box
        assert any(f'href="{reverse("job", args=[each.key])}"' in box for each in (job, held))
        assert f'action="{reverse("volumes-bulk")}"' not in text, name


def of_volume(staff: Client, volume: Volume) -> str:
    return staff.get(reverse("volume", args=[volume.key])).content.decode()


def test_the_problems_that_are_shown_and_folded_add_up(staff: Client) -> None:
    host = full(1)
    findings = [
        HealthFinding("array_degraded", "error", f"md{n} is degraded.", "Look.", f"md{n}").to_json(
            ""
        )
        for n in range(3)
    ]
    volumes = [make.placement(make.volume(), host).volume.key for _ in range(4)]
    findings += [
        HealthFinding("drift", "warning", "Differs.", "Look.", "vg0/v", key).to_json("")
        for key in volumes
    ]
    HostOutline.objects.update_or_create(host=host, defaults={"findings": findings})
    text = section(page(staff, host), "problems")
    assert "7 problems" in text and "4 more<" in text


def test_data_at_risk_is_never_folded_away(staff: Client) -> None:
    host = full(1)
    lost = [("pv_missing", "error", f"vg{n} is missing 1 disk.", f"vg{n}") for n in range(4)]
    slow = [("array_recovering", "warning", f"md{n} is being rebuilt.", f"md{n}") for n in range(2)]
    findings = [
        HealthFinding(code, severity, message, "Look.", subject).to_json("")  # type: ignore[arg-type]
        for code, severity, message, subject in (*slow, *lost)
    ]
    HostOutline.objects.update_or_create(host=host, defaults={"findings": findings})
    shown, folded = section(page(staff, host), "problems").split("<details")
    assert [f"vg{n} is missing" in shown for n in range(4)] == [True] * 4
    assert "2 more<" in folded and "md1 is being rebuilt." in folded


def test_one_troubled_volume_stands_by_its_name(staff: Client) -> None:
    host = full(1)
    volume = Volume.objects.get()
    finding = HealthFinding(
        "volume_inactive", "error", "vg0/v000 is not active: its guest cannot start.",
        "On the host: lvchange -ay vg0/v000", "vg0/v000", volume.key,
    )  # fmt: skip
    HostOutline.objects.update_or_create(host=host, defaults={"findings": [finding.to_json("")]})
    Volume.objects.update(label="mail of ann")
    text = section(page(staff, host), "problems")
    assert "Is not active: its guest cannot start." in text
    assert f'href="{reverse("volume", args=[volume.key])}">Open volume' in text
    assert "1 problem<" in text


def test_a_host_without_an_ssd_gets_the_line_to_look_for_one(staff: Client) -> None:
    there = scene(disks=(make.disk("sda"),))
    assert "lsblk" in page(staff, there.host)
    there = scene(disks=(make.disk("sda"), make.disk("sdb", rotational=False)))
    assert "lsblk" not in page(staff, there.host)


def test_the_summary_shows_the_first_charts_and_all_of_them_on_request(staff: Client) -> None:
    host = full(1)
    few, every = page(staff, host), page(staff, host, charts="all", range="7d")
    assert "charts=all#charts" in few
    assert few.count('class="chart-box"') == 4
    assert every.count('class="chart-box"') > 5
    assert 'href="?range=7d#charts">Fewer charts' in every


@pytest.mark.parametrize("name", ["host-maintenance", "host-refresh"])
def test_the_address_of_a_button_leads_a_person_to_the_page_that_has_it(
    staff: Client, name: str
) -> None:
    host = full(1)
    url = reverse(name, args=[host.key])
    response = staff.get(url, headers={"accept": "text/html,*/*"})
    assert response.status_code == 302
    assert response["Location"] == reverse("host", args=[host.key])
    assert staff.get(url).status_code == 405


def test_the_address_of_a_button_of_a_volume_leads_to_the_volume(staff: Client) -> None:
    volume = scene().volume
    url = reverse("cache-flush", args=[volume.key])
    response = staff.get(url, headers={"accept": "text/html"}, follow=True)
    assert response.status_code == 200
    assert response.redirect_chain[-1][0] == reverse("volume", args=[volume.key])


def test_dirty_caches_before_a_restart_are_linked_and_flushed_there(staff: Client) -> None:
    pool = make.dm_cache("c-aaaaaaaaaaaaaaaa", mode="writeback", dirty_bytes=GIB)
    there = scene(make.lv("v-aaaa", cache=pool))
    volume = Placement.objects.get(lv_name="v-aaaa").volume
    Volume.objects.filter(pk=volume.pk).update(label="mail of ann")
    text = page(staff, there.host, "host-checks")
    assert f'href="{reverse("volume", args=[volume.key])}">mail of ann</a>' in text
    assert f'action="{reverse("cache-flush", args=[volume.key])}"' in text


def test_a_cache_that_a_job_holds_is_not_flushed_before_a_restart(staff: Client) -> None:
    pool = make.dm_cache("c-aaaaaaaaaaaaaaaa", mode="writeback", dirty_bytes=GIB)
    there = scene(make.lv("v-aaaa", cache=pool))
    volume = Placement.objects.get(lv_name="v-aaaa").volume
    job = stuck_job(volume, kind="set-cache")
    text = page(staff, there.host, "host-checks")
    assert f'action="{reverse("cache-flush", args=[volume.key])}"' not in text
    assert "disabled" in text.split(">Flush")[0].rpartition("<button")[2]
    assert f'href="{reverse("job", args=[job.key])}"' in text


def test_risks_of_the_advice_name_volumes_and_carry_the_button(staff: Client) -> None:
    host = full(2)
    volumes = list(Volume.objects.order_by("pk"))
    degraded(host, volumes, "Replace the failed SSD.")
    risks = section(page(staff, host, "host-advice"), "risks")
    assert "Set these 2 to writethrough" in risks
    assert f'href="{reverse("volume", args=[volumes[0].key])}"' in risks
    assert risks.count("Replace the failed SSD") == 1
