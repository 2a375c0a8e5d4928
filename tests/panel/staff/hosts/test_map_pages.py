"""The pages with the maps of a host and of the fleet."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from storage.byte_sizes import GIB
from storage.inventory.facts import ArrayMember
from storage.inventory.volume_parts import VolumeUser
from storage.models import (
    Device,
    DeviceKind,
    Host,
    HostOutline,
    LatestDeviceSample,
    LatestSample,
    Placement,
)
from tests import make
from tests.scene import HOSTILE, Scene, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def read(client: Client, name: str, *args: str, part: bool = False) -> str:
    headers = {"HX-Request": "true"} if part else {}
    response = client.get(reverse(name, args=args), headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def sampled(there: Scene, read_ms: int = 40, reads: int = 1, **fields: object) -> None:
    """A last sample of ten seconds, in which the volume was busy for four."""
    LatestSample.objects.update_or_create(
        volume=there.volume,
        defaults={
            "host": there.host, "at": timezone.now(), "dt_ms": 10_000, "reads": reads,
            "read_ms": read_ms, "writes": 0, "write_ms": 0, "busy_ms": 4000, "read_sectors": 0,
            "write_sectors": 0, "weighted_ms": 0, "boottime_ns": 1, "counters": {}, **fields,
        },
    )  # fmt: skip


def tile(text: str, kind: str) -> str:
    """The classes of the first tile of the kind."""
    found = re.search(rf'class="tile (tile-{kind}[^"]*)"', text)
    assert found is not None
    return found.group(1)


def test_a_volume_is_coloured_by_its_last_sample_and_leads_to_its_page(staff: Client) -> None:
    there = scene()
    sampled(there)
    text = read(staff, "host-disks", there.host.key)
    assert tile(text, "volume") == "tile-volume latency-3 busy-2"
    make.slow(there.volume, there.host)
    slow = read(staff, "host-disks", there.host.key)
    assert tile(slow, "volume") == "tile-volume latency-4 busy-2"
    assert "latency: 40.0\xa0ms, busy: 40\xa0%" in text
    assert text.count(f'href="{reverse("volume", args=[there.volume.key])}"') == 2


@pytest.mark.parametrize("why", ["never sampled", "old", "gap"])
def test_without_a_fresh_figure_a_volume_is_unknown(staff: Client, why: str) -> None:
    there = scene()
    if why != "never sampled":
        old = timezone.now() - timedelta(hours=1 if why == "old" else 0)
        sampled(there, at=old, gap="rebooted" if why == "gap" else "")
    text = read(staff, "host-map", there.host.key, part=True)
    assert tile(text, "volume") == "tile-volume latency-unknown busy-unknown"


def test_a_volume_that_read_nothing_is_neither_fast_nor_unknown(staff: Client) -> None:
    there = scene()
    sampled(there, reads=0, read_ms=0)
    text = read(staff, "host-map", there.host.key, part=True)
    assert tile(text, "volume") == "tile-volume latency-none busy-2"


def test_a_disk_is_coloured_by_its_own_samples_and_leads_to_its_page(staff: Client) -> None:
    there = scene(disks=(make.disk("sdc"),), pvs=(make.pv(),))
    known = make.physical_disk(there.host, name="sdc")
    device = Device.objects.create(
        host=there.host, kind=DeviceKind.DISK, identity="x", name="sdc", size_bytes=1, is_fast=False
    )
    LatestDeviceSample.objects.create(
        device=device, at=timezone.now(), boot_id="b", boottime_ns=1, counters={}, dt_ms=10_000,
        busy_ms=9500, reads=100, read_ms=300,
    )  # fmt: skip
    text = read(staff, "host-map", there.host.key, part=True)
    assert tile(text, "disk") == "tile-disk latency-2 busy-4"
    assert reverse("host-disk", args=[there.host.key, known.key]) in text
    LatestDeviceSample.objects.update(at=timezone.now() - timedelta(hours=1))
    text = read(staff, "host-map", there.host.key, part=True)
    assert tile(text, "disk") == "tile-disk latency-unknown busy-unknown"


def test_a_degraded_array_is_said_above_the_map_with_whose_volumes_lie_on_it(
    staff: Client,
) -> None:
    array = make.array(
        members=(ArrayMember("sda2", "in_sync"), ArrayMember("sdb2", "faulty")), degraded_count=1
    )
    cached = make.lv(cache=make.dm_cache("c-aaaaaaaa", mode="writeback"))
    there = scene(cached, arrays=(array,))
    there.volume.customer = make.customer("Northwind")
    there.volume.save()
    text = read(staff, "host-disks", there.host.key)
    assert "md0: degraded: 1 of 2 disks. 1 volume of Northwind." in " ".join(text.split())
    assert tile(text, "volume").endswith("tile-at-risk")
    assert tile(text, "cache").endswith("tile-at-risk")


def test_the_list_has_all_that_the_pictures_have_and_they_are_hidden_from_readers(
    staff: Client,
) -> None:
    users = (VolumeUser("qemu", "web12", "vda", 7),)
    lv = make.lv(cache=make.dm_cache("c-aaaaaaaa"), users=users)
    disks = tuple(make.disk(name) for name in ("sda", "sdb", "sdc"))
    there = scene(lv, disks=disks, arrays=(make.array(),))
    text = read(staff, "host-map", there.host.key, part=True)
    listed = text.split('class="map-tree"')[1]
    for words in (
        "vg0",
        "md0",
        "sda2",
        "sdb2",
        "sdc",
        "web12 disk",
        "cache 2\xa0GiB, lvmcache, writethrough on md0",
        "used by web12",
    ):
        assert words in listed, words
    pictures = re.findall(r'<svg class="map-p[^>]*>', text)
    assert pictures and all('aria-hidden="true"' in each for each in pictures)
    links = re.findall(r"<a [^>]*>", text.split('class="map-tree"')[0])
    assert links and all('tabindex="-1"' in each for each in links)


def test_texts_of_hosts_and_guests_are_shown_as_text(staff: Client) -> None:
    there = scene(make.lv(users=(VolumeUser("qemu", HOSTILE, "", 7),)), label="<b>web")
    text = read(staff, "host-disks", there.host.key)
    assert HOSTILE not in text and "<b>web" not in text


def test_a_host_without_an_inventory_has_no_map(staff: Client) -> None:
    host = make.host()
    assert read(staff, "host-map", host.key, part=True) == ""
    assert "nothing to report" in read(staff, "host-map", host.key)


def stored(name: str, size_bytes: int = 100 * GIB, **fields: object) -> Host:
    """An active host with a summary of its inventory."""
    host = make.host(name=name, **{"last_seen_at": timezone.now(), **fields})
    HostOutline.objects.create(host=host, fast_total_bytes=size_bytes // 4,
                               slow_total_bytes=size_bytes - size_bytes // 4)  # fmt: skip
    return host


def of(text: str, host: Host) -> str:
    found = re.search(rf'id="host-{host.key}" class="tile ([^"]*)"', text)
    assert found is not None
    return found.group(1)


def test_hosts_are_grouped_by_site_and_coloured_by_their_worst_volume(staff: Client) -> None:
    slow, fast = stored("slow", site="Helsinki"), stored("fast", site="Amsterdam")
    make.activity(slow, busy=0.95, top_read_ms=[[1, 40.0], [2, 3.0]])
    make.activity(fast, busy=0.1, top_read_ms=[[3, 0.4]])
    make.slow(make.volume(), slow)
    text = read(staff, "hosts-map")
    assert of(text, slow) == "tile-host latency-4 busy-4 problems-3"
    assert of(text, fast) == "tile-host latency-1 busy-1 problems-1"
    assert text.index("Amsterdam") < text.index("Helsinki")
    assert f'href="{reverse("host", args=[slow.key])}"' in text


def test_a_host_that_is_silent_or_has_no_figures_is_unknown(staff: Client) -> None:
    silent = stored("silent", last_seen_at=timezone.now() - timedelta(hours=1))
    make.activity(silent, busy=0.1, top_read_ms=[[1, 0.4]])
    unmeasured = stored("unmeasured")
    text = read(staff, "hosts-map")
    assert of(text, silent).startswith("tile-host latency-unknown busy-unknown")
    assert "does not answer" in text
    assert of(text, unmeasured) == "tile-host latency-unknown busy-unknown problems-unknown"


def test_problems_are_a_colour_too(staff: Client) -> None:
    ill = stored("ill")
    make.activity(ill, busy=0.1)
    finding = {
        "code": "array_degraded", "severity": "error", "subject": "md0",
        "message": "md0 is missing 1 disk.", "correction": "Replace the disk.",
    }  # fmt: skip
    HostOutline.objects.filter(host=ill).update(findings=[finding])
    text = read(staff, "hosts-map")
    assert of(text, ill).endswith("problems-4")
    assert "1 problem" in text


def test_a_host_of_unknown_size_is_named_below_and_an_empty_panel_teaches(staff: Client) -> None:
    assert "No hosts yet" in read(staff, "hosts-map")
    make.host(name="newcomer")
    text = read(staff, "hosts-map")
    assert "No host has sent an inventory yet" in text
    assert "Not shown, because no inventory has arrived:" in text and "newcomer" in text


def test_more_hosts_cost_no_more_queries(staff: Client) -> None:
    counts = []
    for n in range(12):
        make.activity(stored(f"host{n}", site=f"site{n % 3}", tags=["nvme"]), busy=0.1)
        if n in (2, 11):
            with CaptureQueriesContext(connection) as queries:
                read(staff, "hosts-map")
            counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_part_that_renews_itself_is_no_page(staff: Client) -> None:
    stored("one")
    text = read(staff, "hosts-map", part=True)
    assert text.lstrip().startswith('<div id="fleet-map"')
    assert Placement.objects.count() == 0
