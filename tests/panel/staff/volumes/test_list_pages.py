"""Pages of hosts and volumes."""

from __future__ import annotations

import re
from datetime import timedelta
from unittest import mock

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.hosts.trust import key_fingerprint
from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts
from storage.inventory.volume_parts import VolumeUser
from storage.metrics.rates import CachedBy, GapReason
from storage.metrics.samples import Latest
from storage.models import Placement, Volume
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.one_line import on_one_line
from tests.scene import HOST_KEY, HOSTILE, LONG, OTHER_HOST_KEY, RTL, scene
from tests.storage import wire
from tests.storage.metrics.samples.rounds import take

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def latest(**fields: object) -> Latest:
    defaults: dict[str, object] = {
        "seconds": 10.0,
        "read_iops": 1240.4,
        "write_iops": 3.0,
        "read_bytes_per_s": 5_080_678.0,
        "write_bytes_per_s": 0.0,
        "read_ms": 0.182,
        "write_ms": None,
        "latency_p50_ms": 0.15,
        "latency_p95_ms": 9.5,
        "latency_p99_ms": 21.0,
        "hit_rate": 0.976,
        "write_hit_rate": None,
        "accesses": 12404,
        "write_accesses": 0,
        "at": timezone.now(),
        "age_seconds": 4.0,
        "gap": None,
        "cache_gap": None,
        "technology": CachedBy.DM_CACHE,
        "cache_mode": "writethrough",
        "cache_state": "",
        "cache_size_bytes": 2 * 1024**3,
        "used_bytes": 1024**3,
        "dirty_bytes": 0,
        "suspended": False,
    }
    return Latest(**{**defaults, **fields})  # type: ignore[arg-type]


def page(client: Client, name: str, *args: str) -> str:
    response = client.get(reverse(name, args=args))
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("name", ["hosts", "volumes"])
def test_lists_do_not_exist_for_people_who_are_not_staff(client: Client, name: str) -> None:
    client.force_login(make.user())
    assert client.get(reverse(name)).status_code == 404


def test_host_and_volume_of_another_customer_are_not_found(client: Client) -> None:
    there = scene()
    client.force_login(make.user())
    for name, key in (
        ("host", there.host.key),
        ("volume", there.volume.key),
        ("volume-figures", there.volume.key),
    ):
        assert client.get(reverse(name, args=[key])).status_code == 404


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "active"),
        ({"state": "pending", "host_key": ""}, "waiting for the host"),
        ({"state": "unverified", "host_key": ""}, "fingerprint to accept"),
        ({"state": "quarantined"}, "quarantined"),
        ({"error": {"message": "no route"}}, "unreachable"),
        ({"last_seen_at": None}, "silent"),
    ],
)
def test_hosts_say_their_state_in_words(
    staff: Client, fields: dict[str, object], words: str
) -> None:
    scene(host=fields)
    assert f"{words}</span>" in page(staff, "hosts")


def test_a_host_to_accept_shows_its_fingerprint_and_how_to_compare_it(staff: Client) -> None:
    host = make.host(state="unverified", host_key="", host_key_seen=OTHER_HOST_KEY)
    text = page(staff, "host", host.key)
    assert key_fingerprint(OTHER_HOST_KEY) in text
    assert "ssh-keygen -lf" in text
    assert reverse("host-accept", args=[host.key]) in text


def test_a_quarantined_host_shows_both_fingerprints(staff: Client) -> None:
    host = make.host(state="quarantined", host_key=HOST_KEY, host_key_seen=OTHER_HOST_KEY)
    text = page(staff, "host", host.key)
    assert key_fingerprint(HOST_KEY) in text
    assert key_fingerprint(OTHER_HOST_KEY) in text


def test_a_host_shows_problems_with_their_corrections(staff: Client) -> None:
    problem = {"code": "no_lvm2", "severity": "error", "message": "lvm2 is missing"}
    there = scene(host={"problems": [{**problem, "correction": "apt install lvm2"}]})
    text = page(staff, "host", there.host.key)
    assert "lvm2 is missing" in text
    assert "apt install lvm2" in text


def test_an_observe_only_group_shows_the_line_that_allows_it(staff: Client) -> None:
    there = scene(vgs=(make.vg(allowed=False),))
    text = page(staff, "host", there.host.key)
    assert "/usr/lib/tiercel/agent.pyz allow-vg vg0" in text


def test_a_host_shows_foreign_volumes_and_who_uses_them(staff: Client) -> None:
    user = VolumeUser(kind="qemu", name="web12", disk="vdb", pid=12)
    there = scene(make.lv("foreign", users=(user,)), managed=False)
    text = page(staff, "host-volumes", there.host.key)
    assert "vg0/foreign" in text
    assert "web12 · vdb" in text
    assert "found, not adopted" in text


@pytest.mark.parametrize("name", [HOSTILE, RTL, LONG])
def test_hostile_names_are_shown_as_text(staff: Client, name: str) -> None:
    user = VolumeUser(kind="qemu", name=name, disk="vda", pid=1)
    disk = make.disk(model=name, serial=name)
    there = scene(
        make.lv(name, users=(user,)),
        label=name,
        vgs=(make.vg(name=name, allowed=False),),
        disks=(disk,),
        host={"problems": [{"message": name, "severity": name, "correction": name}]},
    )
    for view, key in (
        ("hosts", None),
        ("host", there.host.key),
        ("volumes", None),
        ("volume", there.volume.key),
        ("home", None),
    ):
        text = page(staff, view, *([key] if key else []))
        assert "<script>alert" not in text
        assert name.replace("<", "&lt;").replace(">", "&gt;") in text


def test_volumes_show_figures_with_units(staff: Client) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    with mock.patch("storage.metrics.samples.latest_of", return_value={there.volume.pk: latest()}):
        text = page(staff, "volumes")
    for shown in ("1,240 read", "0.18\xa0ms", "97.6\xa0%", "of 12,404 reads", "2\xa0GiB"):
        assert shown in text


def test_what_is_unknown_is_a_dash_and_never_zero(staff: Client) -> None:
    there = scene()
    unknown = latest(
        read_iops=None, write_iops=None, read_ms=None, hit_rate=None, gap=GapReason.FIRST
    )
    with mock.patch("storage.metrics.samples.latest_of", return_value={there.volume.pk: unknown}):
        text = page(staff, "volume-figures", there.volume.key)
    figures = re.findall(r'class="big-figure">\s*(\S+)', text)
    assert "-" in figures
    assert "0" not in figures
    assert GapReason.FIRST.sentence in text


def test_old_figures_are_marked(staff: Client) -> None:
    there = scene()
    old = latest(age_seconds=7200.0)
    with mock.patch("storage.metrics.samples.latest_of", return_value={there.volume.pk: old}):
        text = page(staff, "volume", there.volume.key)
    assert "is-stale" in text
    assert "2\xa0h ago" in text


def test_a_volume_that_was_never_sampled_says_so(staff: Client) -> None:
    assert "No data yet" in page(staff, "volume", scene().volume.key)


def test_a_bcache_volume_says_that_it_has_no_percentiles(staff: Client) -> None:
    there = scene(make.lv(bcache=make.bcache()), layout="bcache")
    with mock.patch("storage.metrics.samples.latest_of", return_value={there.volume.pk: latest()}):
        text = page(staff, "volume", there.volume.key)
    assert "Percentiles are not available for bcache" in text
    assert "Latency" not in text


def test_a_plain_volume_is_offered_lvmcache_and_a_bcache_ready_one_bcache(staff: Client) -> None:
    assert "<strong>lvmcache</strong>" in page(staff, "cache-form", scene().volume.key)
    ready = scene(make.lv(bcache=make.bcache()), layout="bcache")
    assert "<strong>bcache</strong>" in page(staff, "cache-form", ready.volume.key)


def test_a_volume_with_a_cache_shows_it_and_offers_to_change_or_remove_it(staff: Client) -> None:
    there = scene(make.lv(cache=make.dm_cache("c-aaaaaaaaaaaaaaaa", used_bytes=1024**3)))
    text = page(staff, "volume", there.volume.key)
    assert '<dt>Share of the volume</dt><dd> <span class="num">25\xa0%</span>' in on_one_line(text)
    for name in ("cache-form", "cache-replace", "cache-remove"):
        assert reverse(name, args=[there.volume.key]) in text


def test_writeback_on_a_single_ssd_is_disabled_with_its_reason(staff: Client) -> None:
    there = scene(pvs=(make.pv(), make.fast_pv("sdb", redundant=False)))
    text = page(staff, "cache-form", there.volume.key)
    assert 'value="writeback" disabled' in on_one_line(text)
    assert "The SSD is not redundant" in text


def test_writeback_on_a_degraded_array_is_disabled_with_its_reason(staff: Client) -> None:
    there = scene(pvs=(make.pv(), make.fast_pv(healthy=False)))
    assert "The SSD array is degraded" in page(staff, "cache-form", there.volume.key)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"vgs": (make.vg(allowed=False),)}, "agent.pyz allow-vg vg0"),
        ({"pvs": (make.pv(),)}, "has no SSD"),
        ({"pvs": (make.pv(), make.fast_pv(free_bytes=0))}, "Choose a smaller cache or free SSD"),
        ({"vgs": (make.vg(missing_pv_count=1),)}, "has 1 missing physical volume"),
    ],
)
def test_a_cache_that_cannot_be_had_says_why(
    staff: Client, facts: dict[str, object], words: str
) -> None:
    there = scene(**facts)  # type: ignore[arg-type]
    text = page(staff, "volume", there.volume.key)
    assert words in text
    assert f'href="{reverse("cache-form", args=[there.volume.key])}"' not in text
    assert 'name="mode"' not in page(staff, "cache-form", there.volume.key)


def test_sizes_end_where_the_free_ssd_ends(staff: Client) -> None:
    there = scene(pvs=(make.pv(), make.fast_pv(free_bytes=3 * 1024**3)))
    text = page(staff, "cache-form", there.volume.key)
    assert ">2\xa0GiB, 25\xa0% of the volume</option>" in text
    assert ">3\xa0GiB, " not in text  # its metadata would not fit


def test_a_cache_larger_than_its_volume_is_not_offered(staff: Client) -> None:
    there = scene(make.lv(size_bytes=1024**3))
    text = page(staff, "cache-form", there.volume.key)
    assert ">1\xa0GiB, 100\xa0% of the volume</option>" in text
    assert ">2\xa0GiB" not in text


def test_of_a_volume_smaller_than_any_cache_the_smallest_is_offered(staff: Client) -> None:
    there = scene(make.lv(size_bytes=128 * 1024**2))
    text = page(staff, "cache-form", there.volume.key)
    assert text.count("</option>") == 1
    assert ">256\xa0MiB, the smallest possible</option>" in text


def test_a_volume_gone_from_its_host_keeps_its_page(staff: Client) -> None:
    there = scene()
    apply_facts(there.host, make.inventory(make.facts()), timezone.now())
    assert "missing on the host" in page(staff, "volume", there.volume.key)
    assert "missing on the host" in page(staff, "volumes")


def test_an_inventory_of_an_older_version_does_not_break_pages(staff: Client) -> None:
    there = scene(host={"facts": {"disks": []}})
    for name, args in (("volumes", []), ("volume", [there.volume.key]), ("host", [there.host.key])):
        page(staff, name, *args)


def test_volumes_are_found_by_label_customer_and_host(staff: Client) -> None:
    there = scene(label="mail store")
    there.volume.customer = make.customer("Lindqvist & Sons")
    there.volume.save()
    scene(label="other")
    for text in ("MAIL", "lindqvist", there.host.name, there.lv.name):
        found = staff.get(reverse("volumes"), {"q": text}).content.decode()
        assert "mail store" in found
    assert "No volumes match" in staff.get(reverse("volumes"), {"q": "zzz"}).content.decode()


def test_a_host_that_has_been_quiet_for_less_than_three_rounds_is_active(staff: Client) -> None:
    scene(host={"last_seen_at": timezone.now() - timedelta(seconds=90)})
    assert "silent" not in page(staff, "hosts")


def test_correction_lines_keep_their_indentation(staff: Client) -> None:
    block = "Match User tiercel\n    AuthenticationMethods publickey"
    error = {"code": "sshd_totp", "message": "a code is demanded", "correction": block}
    there = scene(host={"error": error})
    for text in (page(staff, "host", there.host.key), page(staff, "home")):
        assert f"<code>{block}</code></pre>" in text


def test_want_of_ssd_room_does_not_keep_a_found_volume_from_being_managed(staff: Client) -> None:
    pvs = (make.pv(), make.fast_pv(free_bytes=0))
    there = scene(pvs=pvs, managed=False)
    assert "Preview management" in page(staff, "volume", there.volume.key)


def test_an_inventory_is_read_once_for_all_volumes_of_its_host() -> None:
    host = make.host()
    volumes = [make.volume() for _ in range(3)]
    for volume in volumes:
        make.placement(volume, host)
    with CaptureQueriesContext(connection) as queries:
        rows = snapshots_of(volumes)
    assert len({id(row.host) for row in rows}) == 1
    assert sum('"storage_host"."facts"' in query["sql"] for query in queries) == 1


def test_fresh_figures_have_no_age_in_a_row_and_no_share_is_beyond_the_whole(staff: Client) -> None:
    there = scene(make.lv(size_bytes=GIB, cache=make.dm_cache("c-aaaaaaaaaaaaaaaa")))
    Volume.objects.update(size_bytes=GIB)
    Placement.objects.update(cache_technology="lvmcache", cache_bytes=2 * GIB)
    take(there.host, 0, wire.volume(there.lv.uuid), start=timezone.now())
    text = staff.get(reverse("volumes")).content.decode()
    row = text[text.index("<tbody") :]
    assert "whole" in row and "200 %" not in row
    card = page(staff, "volume", there.volume.key)
    assert '<dt>Share of the volume</dt><dd> <span class="num">whole</span>' in on_one_line(card)
    assert " ago" not in row
