"""The forms that make a volume larger or send it to the other tier."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from jobs.models import Job, Kind
from storage.byte_sizes import GIB
from storage.models import Volume
from storage.naming import GROWN_TAG
from storage.planner.wish import Wish
from tests import make
from tests.panel.staff.test_job_requests import page, preview_of, send, staff
from tests.scene import end, job, scene

__all__ = ["staff"]
pytestmark = pytest.mark.django_db


def test_a_larger_size_leads_to_a_preview(staff: Client) -> None:
    there = scene(make.lv())
    text = page(staff, "volume", there.volume.key)
    assert reverse("volume-extend", args=[there.volume.key]) in text and "Move to SSD" in text
    assert "40\xa0GiB free there" in text
    assert "New size" in page(staff, "volume-extend", there.volume.key)
    found = preview_of(send(staff, "volume-extend", there.volume.key, size=12, unit="GiB"))
    assert found.dry_run and found.kind == Kind.EXTEND_VOLUME
    assert Wish.from_json(found.wish) == Wish(12 * GIB)
    shown = page(staff, "job", found.key)
    assert "8\xa0GiB" in shown and "12\xa0GiB" in shown


@pytest.mark.parametrize("size", ["8", "1", "0", "", "x"])
def test_a_volume_never_becomes_smaller(staff: Client, size: str) -> None:
    there = scene(make.lv())
    answer = send(staff, "volume-extend", there.volume.key, size=size, unit="GiB")
    assert answer.status_code == 422
    assert not Job.objects.exists()


def test_a_volume_goes_to_ssd_without_its_cache(staff: Client) -> None:
    cache = make.dm_cache("c-aaaaaaaaaaaaaaaa")
    there = scene(make.lv(cache=cache, layout=("cache",)))
    assert "The cache is removed first" in page(staff, "volume", there.volume.key)
    found = preview_of(send(staff, "volume-move", there.volume.key, tier="ssd"))
    assert found.dry_run and found.kind == Kind.MOVE_VOLUME
    assert Wish.from_json(found.wish) == Wish(8 * GIB, "ssd")


def test_a_volume_on_ssd_takes_no_cache_and_may_go_back(staff: Client) -> None:
    there = scene(make.lv(pvs=("md0",)))
    text = page(staff, "volume", there.volume.key)
    assert "gains nothing from a cache" in text and "Move to HDD" in text
    found = preview_of(send(staff, "volume-move", there.volume.key, tier="hdd"))
    assert Wish.from_json(found.wish) == Wish(8 * GIB)
    assert send(staff, "volume-move", there.volume.key, tier="ssd").status_code == 422
    assert send(staff, "volume-move", there.volume.key, tier="tape").status_code == 422


def test_what_cannot_be_done_is_disabled_with_its_reason(staff: Client) -> None:
    there = scene(make.lv(layout=("raid", "raid1")))
    text = page(staff, "volume", there.volume.key)
    for name in ("volume-extend", "volume-move"):
        assert f'aria-describedby="no-{name}"' in text
        assert reverse(name, args=[there.volume.key]) not in text
    assert "extends and moves linear volumes" in text
    assert send(staff, "volume-extend", there.volume.key, size=12, unit="GiB").status_code == 422


def test_an_extended_volume_says_what_is_left_to_do_inside(staff: Client) -> None:
    there = scene(make.lv(tags=(GROWN_TAG,)))
    found = job(there, kind=Kind.EXTEND_VOLUME)
    assert "growpart" not in page(staff, "job", found.key)
    end(found)
    assert "growpart /dev/vda 1" in page(staff, "job", found.key)


def test_a_new_volume_may_lie_on_ssd(staff: Client) -> None:
    there = scene(make.lv())
    group = f"{there.host.key}/{make.VG_UUID}"
    data = {"label": "db", "size": 4, "unit": "GiB", "group": group, "layout": "plain"}
    found = preview_of(send(staff, "volume-new", **data, tier="ssd"))
    assert Wish.from_json(found.wish) == Wish(4 * GIB, "ssd")
    assert staff.post(reverse("volume-new"), {**data, "tier": "tape"}).status_code == 422


def test_a_volume_for_which_there_is_no_room_is_refused_by_the_form_and_leaves_no_record(
    staff: Client,
) -> None:
    there = scene(make.lv())
    group = f"{there.host.key}/{make.VG_UUID}"
    data = {"label": "ghost", "size": 999_999, "unit": "GiB", "group": group, "layout": "plain"}
    answer = staff.post(reverse("volume-new"), data)
    text = answer.content.decode()
    assert answer.status_code == 422
    assert "has only" in text and "GiB free on HDD" in text and 'value="ghost"' in text
    assert not Volume.objects.filter(label="ghost").exists()
    assert not Job.objects.exists()
