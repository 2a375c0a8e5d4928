"""The page of one volume: its cache card, raw counters and ready lines."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import State
from storage.models import HostOutline, Placement, Volume
from tests import make
from tests.one_line import on_one_line
from tests.scene import Scene, end, job, scene
from tests.storage import wire
from tests.storage.metrics.samples.rounds import take

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def sampled(**host: object) -> Scene:
    """A volume with a cache that is a quarter full."""
    hello = {"policy": {"vgs": ["vg0"]}, "links": True}
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")), host={"hello": hello, **host})
    start = timezone.now() - timedelta(seconds=60)
    for n in range(6):
        cache = wire.cache(read_hits=900 * n, read_misses=100 * n, used=8192)
        disk = wire.disk(reads=1000 * n)
        take(
            there.host, 10 * n, wire.volume(there.lv.uuid, disk=disk, cache=cache), start=start
        )  # fmt: skip
    return there


def part(client: Client, name: str, there: Scene) -> str:
    response = client.get(reverse(name, args=[there.volume.key]))
    assert response.status_code == 200
    return response.content.decode()


def test_the_card_says_how_warm_the_cache_is_and_why(staff: Client) -> None:
    there = sampled()
    for name in ("volume", "volume-cache", "volume-cache-state"):
        text = part(staff, name, there)
        assert "512\xa0MiB of 2\xa0GiB used" in text, name
        assert "read hit rate 90\xa0%" in text, name


CHIP = re.compile(r'<span class="chip [^>]*>.*?<span class="text">(.*?)</span>', re.DOTALL)


def test_the_page_says_from_which_read_time_on_a_volume_is_slow_and_why(staff: Client) -> None:
    there = scene(host={"slow_read_ms": 8})
    assert "<dt>Slow from</dt><dd>8\xa0ms a read (host)</dd>" in part(
        staff, "volume-details", there
    )


def chips(text: str) -> list[str]:
    """Those of the page's head."""
    head = re.search(r'<div class="volume-chips" id="volume-chips".*?</div>', text, re.DOTALL)
    assert head is not None
    return CHIP.findall(head[0])


@pytest.mark.parametrize(
    "fields",
    [
        {"cache_trouble": "The cache has failed."},
        {"missing_since": timezone.now()},
        {"lv_uuid": None},
        {},
    ],
)
def test_the_head_says_of_the_state_what_the_list_says(
    staff: Client, fields: dict[str, object]
) -> None:
    there = scene(managed=False)
    Placement.objects.update(**fields)
    row = staff.get(reverse("volumes")).context["rows"][0]
    said = [chip.text for chip in row.chips]
    assert said
    for name in ("volume", "volume-figures"):
        found = chips(part(staff, name, there))
        assert found[: len(said)] == said and set(found[len(said) :]) <= {"no cache"}


def test_who_may_only_look_reads_who_may_manage_a_volume(client: Client, staff: Client) -> None:
    there = scene(managed=False)
    tag = f'action="{reverse("volume-tag", args=[there.volume.key])}"'
    assert tag in part(staff, "volume", there)
    client.force_login(make.staff_user(staff_role="read_only"))
    text = part(client, "volume", there)
    assert tag not in text
    assert re.search(
        r"disabled[^>]*>Manage this volume</button>.*Requires the operator", on_one_line(text)
    )


def test_the_head_names_the_technology_of_a_cache_that_works(staff: Client) -> None:
    assert chips(part(staff, "volume", sampled())) == ["lvmcache"]
    assert "no cache" in chips(part(staff, "volume", scene()))


def test_the_chips_of_the_head_are_renewed_with_the_figures_and_are_on_the_page_once(
    staff: Client,
) -> None:
    there = sampled()
    assert 'id="volume-chips" hx-swap-oob' in part(staff, "volume-figures", there)
    page = part(staff, "volume", there)
    assert page.count('id="volume-chips"') == 1 and 'id="volume-chips" hx-swap-oob' not in page


def test_a_volume_without_a_cache_is_offered_one_with_words_for_each_choice(staff: Client) -> None:
    text = part(staff, "cache-form", scene())
    assert "<strong>lvmcache</strong>: LVM attaches a cache pool" in text
    assert "Losing the SSD loses no data." in text
    assert "You can change it later" in text


def test_a_person_who_may_only_look_sees_disabled_buttons_with_the_reason(client: Client) -> None:
    client.force_login(make.staff_user(staff_role="read_only"))
    text = part(client, "volume-cache", sampled())
    assert text.count("disabled") >= 4
    assert "Your role allows you to view, not to change." in text


def test_the_raw_counters_have_names_and_units(staff: Client) -> None:
    text = part(staff, "volume-details", sampled())
    assert '<dt>read_hits</dt><dd><span class="num">4500</span>' in text
    assert "dmsetup status" in text
    assert "Raw counters" not in part(staff, "volume-details", scene())


def test_ready_lines_are_there_where_the_host_makes_the_stable_path(staff: Client) -> None:
    there = sampled()
    text = part(staff, "volume-details", there)
    assert f"/dev/tiercel/{there.volume.key}</code>" in text
    assert 'data-copy="line-proxmox"' in text
    unlinked = sampled(hello={"policy": {"vgs": ["vg0"]}})
    assert "data-copy=" not in part(staff, "volume-details", unlinked)


def test_what_the_url_says_of_jobs_is_asked_of_their_parts(staff: Client) -> None:
    there = scene()
    url = reverse("volume", args=[there.volume.key])
    text = staff.get(url, {"job": "abc", "compare": "d&e", "other": "x"}).content.decode()
    assert f'{reverse("volume-current-job", args=[there.volume.key])}?job=abc"' in text
    assert f'{reverse("volume-comparison", args=[there.volume.key])}?compare=d%26e"' in text


def test_a_retired_volume_promises_no_figures(staff: Client) -> None:
    there = scene()
    assert "The first data point appears in" in part(staff, "volume", there)
    there.volume.retired_at = timezone.now()
    there.volume.save()
    text = part(staff, "volume", there)
    assert "No data: a retired volume is inactive." in text
    assert "The first data point appears in" not in text


@pytest.mark.parametrize("state", ["missing", "retired", "planned"])
def test_a_volume_that_is_not_there_has_no_chart_and_no_word_of_its_cache(
    staff: Client, state: str
) -> None:
    there = scene()
    assert "data-charts" in part(staff, "volume", there)
    if state == "missing":
        there.host.facts = make.inventory(make.facts())
        there.host.save()
        Placement.objects.update(missing_since=timezone.now())
    elif state == "retired":
        Volume.objects.update(retired_at=timezone.now())
    else:
        Placement.objects.update(lv_uuid=None)
    text = part(staff, "volume", there)
    for word in ("data-charts", "All reads go to the HDD", "The first data point"):
        assert word not in text


def test_a_volume_that_vanished_keeps_the_charts_of_its_time(staff: Client) -> None:
    there = sampled()
    there.host.facts = make.inventory(make.facts())
    there.host.save()
    assert "data-charts" in part(staff, "volume", there)


def test_a_volume_in_creation_names_its_job_and_cannot_be_discarded(staff: Client) -> None:
    there = scene()
    Placement.objects.update(lv_uuid=None)
    there.volume.refresh_from_db()
    discard = reverse("volume-discard", args=[there.volume.key])
    text = part(staff, "volume", there)
    assert "is creating" not in text and discard in text
    made = job(there, kind="create-volume")
    text = part(staff, "volume", there)
    assert "A job is creating the volume" in text and discard not in text
    assert reverse("job", args=[made.key]) in text


def test_a_problem_of_the_host_that_names_the_volume_is_on_its_page_with_what_mends_it(
    staff: Client,
) -> None:
    there, other = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa"))), make.volume()
    findings = [
        {
            "code": "writeback_degraded",
            "severity": "error",
            "subject": "vg0/web12",
            "message": "vg0/web12 uses writeback on a degraded SSD mirror.",
            "correction": "Replace the failed SSD.",
            "volume": volume.key,
        }
        for volume in (there.volume, other)
    ]
    HostOutline.objects.create(host=there.host, findings=findings)
    text = part(staff, "volume", there)
    assert "Uses writeback on a degraded SSD mirror" in text or "uses writeback" in text
    assert text.count("Set to writethrough") == 1
    assert reverse("volumes-bulk") in text
    assert reverse("volume", args=[other.key]) not in text


def test_a_volume_whose_preview_failed_says_why_and_not_that_it_is_being_made(
    staff: Client,
) -> None:
    there = scene()
    Volume.objects.update(previewed_at=timezone.now())
    Placement.objects.update(lv_uuid=None)
    there.volume.refresh_from_db()
    made = job(there, kind="create-volume", dry_run=True)
    assert "waits for your confirmation" in part(staff, "volume", there)
    end(made, State.FAILED, error={"code": "no_space", "message": "vg0 has 3\xa0GiB free"})
    text = part(staff, "volume", there)
    assert "vg0 has 3\xa0GiB free" in text and "is creating" not in text
    assert reverse("volume-discard", args=[there.volume.key]) in text


def test_bcache_counts_no_promotions_and_has_a_chart_of_its_ssds_writes(staff: Client) -> None:
    title = "Promotions and SSD writes"
    assert title in part(staff, "volume", scene())
    page = part(staff, "volume", scene(make.lv(bcache=make.bcache()), layout="bcache"))
    assert title not in page and "SSD writes" in page and "Promoted" not in page
