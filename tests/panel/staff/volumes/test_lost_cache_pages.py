"""A volume whose SSD is gone: what its page says, and what can be done."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.models import Job, Kind
from storage.byte_sizes import GIB
from storage.planner.wish import Bcache, Wish
from tests import make
from tests.scene import Scene, scene

pytestmark = pytest.mark.django_db

POOL = "c-aaaaaaaaaaaaaaaa"
GONE = "[unknown]"
PV_UUID = "GoneGo-0000-0000-0000-0000-0000-000001"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def without_ssd(lv: Any = None, **fields: Any) -> Scene:
    return scene(
        lv,
        pvs=(make.pv(), make.fast_pv(GONE, uuid=PV_UUID, missing=True)),
        vgs=(make.vg(missing_pv_count=1),),
        **fields,
    )


def lost(**cache: Any) -> Scene:
    fields = {"pvs": (GONE,), **cache}
    return without_ssd(make.lv(cache=make.dm_cache(POOL, **fields), health="partial"))


def give_cache_device(there: Scene) -> None:
    """The host has a device that was made for the volume's cache, on the lost SSD."""
    tags = make.tags(there.volume.key)
    device = make.lv("s-cccccccccccccccc", tags=tags, pvs=(GONE,))
    there.host.facts["lvs"].append(dataclasses.asdict(device))
    there.host.save()


def card(client: Client, there: Scene) -> str:
    path = reverse("volume-loss", args=[there.volume.key])
    response = client.get(path, headers={"HX-Request": "true"})
    assert response.status_code == 200
    return response.content.decode()


def test_a_whole_host_shows_nothing(staff: Client) -> None:
    assert card(staff, scene(make.lv(cache=make.dm_cache(POOL)))).strip() == ""


def test_a_clean_lost_cache_is_dropped_by_a_job(staff: Client) -> None:
    there = lost()
    text = card(staff, there)
    assert "Preview dropping the lost cache" in text
    assert "Data may be lost" not in text and "--force" not in text
    response = staff.post(reverse("cache-drop", args=[there.volume.key]))
    assert response.status_code == 302
    preview = Job.objects.get()
    assert (preview.kind, preview.dry_run) == (Kind.DROP_CACHE, True)
    assert Wish.from_json(preview.wish).cache is None


def test_a_volume_on_ssd_stays_there_without_its_lost_cache(staff: Client) -> None:
    """With a cache it counts as on HDD; the job gives the cache up, and moves nothing unseen."""
    there = scene(
        make.lv(cache=make.dm_cache(POOL, pvs=(GONE,)), pvs=("md1",), health="partial"),
        pvs=(make.pv(), make.fast_pv("md1"), make.fast_pv(GONE, missing=True)),
        vgs=(make.vg(missing_pv_count=1),),
    )
    assert staff.post(reverse("cache-drop", args=[there.volume.key])).status_code == 302
    wish = Wish.from_json(Job.objects.get().wish)
    assert (wish.cache, wish.tier) == (None, "ssd")


@pytest.mark.parametrize("cache", [{"mode": "writeback"}, {"dirty_bytes": 65536}, {"failed": True}])
def test_a_cache_that_may_hold_data_gets_a_runbook_and_no_button(
    staff: Client, cache: dict[str, Any]
) -> None:
    there = lost(**cache)
    text = card(staff, there)
    assert "Data may be lost" in text
    for name in (PV_UUID, f"vg0/{there.lv.name}", there.host.name, "vgextend --restoremissing"):
        assert name in text
    assert "<form" not in text
    assert staff.post(reverse("cache-drop", args=[there.volume.key])).status_code == 422
    assert not Job.objects.exists()


@pytest.mark.parametrize("state", ["no cache", "clean"])
def test_a_clean_bcache_volume_goes_on_without_its_cache(staff: Client, state: str) -> None:
    """The kernel that let go of a failing cache calls its volume clean until the next restart."""
    there = without_ssd(make.lv(bcache=make.bcache(state=state)), layout="bcache")
    cache = Bcache("s-aaaaaaaaaaaaaaaa", make.CSET_UUID, 2 * GIB)
    there.volume.wish = Wish(8 * GIB, layout="bcache", cache=cache).to_json()
    there.volume.save()
    text = card(staff, there)
    assert "goes on without" in text and "Data may be lost" not in text


@pytest.mark.parametrize("state", [{"state": "inconsistent"}, {"state": "dirty", "device": None}])
def test_a_bcache_volume_that_waits_for_its_ssd_gets_a_runbook(
    staff: Client, state: dict[str, Any]
) -> None:
    there = without_ssd(make.lv(bcache=make.bcache(**state)), layout="bcache")
    text = card(staff, there)
    assert "Data may be lost" in text
    assert f"bcache-super-show /dev/vg0/{there.lv.name}" in text


def test_the_runbook_names_the_cache_device_as_recorded_or_as_the_host_does(
    staff: Client,
) -> None:
    waiting = make.lv(bcache=make.bcache(state="dirty", device=None))
    there = without_ssd(waiting, layout="bcache")
    command = "echo /dev/{} &gt; /sys/fs/bcache/register_quiet"
    assert command.format("NAME") in card(staff, there)
    give_cache_device(there)
    assert command.format("vg0/s-cccccccccccccccc") in card(staff, there)
    cache = Bcache("s-bbbbbbbbbbbbbbbb", make.CSET_UUID, 2 * GIB)
    there.volume.wish = Wish(8 * GIB, layout="bcache", cache=cache).to_json()
    there.volume.save()
    assert command.format("vg0/s-bbbbbbbbbbbbbbbb") in card(staff, there)


def test_a_record_that_lost_its_cache_does_not_hide_the_runbook(staff: Client) -> None:
    there = without_ssd(layout="bcache")
    there.volume.wish = Wish(8 * GIB, layout="bcache").to_json()
    there.volume.save()
    assert card(staff, there).strip() == ""
    give_cache_device(there)
    assert "Data may be lost" in card(staff, there)
