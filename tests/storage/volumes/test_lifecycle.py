"""What the books say of volumes that are switched off or gone."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest

from panel.staff.hosts.storage_stack import stack_of
from storage.adoption import candidates_of
from storage.byte_sizes import GIB
from storage.discovery.ingest import apply_facts
from storage.inventory.facts import LogicalVolume
from storage.models import Host, Placement, Volume
from storage.naming import retired_name
from storage.planner.wish import Wish
from storage.volumes import lifecycle
from storage.volumes.wish_diff import changes
from tests import make

pytestmark = pytest.mark.django_db

KEY = "aaaaaaaabbbbbbbb"
NOW = dt.datetime(2026, 11, 21, 4, 0, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(seconds=10)
RETIRED = NOW - dt.timedelta(hours=2)


def off(lv: LogicalVolume | None = None, at: str = "", **fields: Any) -> LogicalVolume:
    """The same LV once it is retired."""
    stamp = at or str(int(RETIRED.timestamp()))
    tags = (*make.tags(KEY), "tiercel.name=web12", f"tiercel.retired={stamp}")
    now = {"name": retired_name(KEY), "tags": tags, "active": False, "open_count": 0, **fields}
    return dataclasses.replace(lv or make.lv(), **now)


def apply(host: Host, *lvs: LogicalVolume, at: dt.datetime = NOW) -> None:
    apply_facts(host, make.inventory(make.facts(*lvs)), at)


def test_a_retired_volume_is_the_same_volume_under_another_name() -> None:
    host, lv = make.host(), make.lv(tags=make.tags(KEY))
    apply(host, lv)
    apply(host, off(lv), at=LATER)
    volume = Volume.objects.get()
    assert (volume.label, volume.retired_at, volume.managed) == ("web12", RETIRED, True)
    placement = Placement.objects.get()
    assert (placement.lv_name, placement.missing_since) == (retired_name(KEY), None)
    apply(host, lv, at=LATER + dt.timedelta(seconds=1))
    volume.refresh_from_db()
    assert volume.retired_at is None


def test_a_retired_bcache_volume_keeps_its_size_and_layout() -> None:
    host = make.host()
    lv = make.lv(tags=make.tags(KEY), bcache=make.bcache(size_bytes=7 * GIB))
    apply(host, lv)
    apply(host, off(lv, bcache=None), at=LATER)
    volume = Volume.objects.get()
    assert (volume.layout, volume.size_bytes) == ("bcache", 7 * GIB)


def test_a_retired_volume_of_an_earlier_panel_is_found_under_its_old_name() -> None:
    apply(make.host(), off())
    volume = Volume.objects.get()
    assert (volume.key, volume.label, volume.retired_at) == (KEY, "web12", RETIRED)


def test_a_mark_beyond_all_calendars_breaks_no_inventory() -> None:
    apply(make.host(), off(at="9" * 30))
    assert Volume.objects.get().retired_at is None


def test_a_destroyed_volume_lies_nowhere_keeps_its_record_and_costs_nothing() -> None:
    host, lv = make.host(), off()
    apply(host, lv)
    placement = Placement.objects.get()
    lifecycle.follow_host(placement, Wish(8 * GIB, life="gone"), LATER)
    volume = Volume.objects.get()
    assert (volume.destroyed_at, volume.placed, volume.cache_plan) == (LATER, None, None)
    assert not Volume.objects.existing().exists()
    apply(host, lv, at=LATER)
    assert Volume.objects.count() == 1, "an inventory from before the end makes no new volume"


def test_a_retired_volume_is_not_there_to_be_adopted() -> None:
    user, host = make.staff_user(), make.host()
    apply(host, make.lv("data"), off())
    assert [each.lv_name for each in candidates_of(user)] == ["data"]


def test_a_preview_says_that_the_volume_is_switched_off() -> None:
    (change,) = changes(Wish(GIB), Wish(GIB, life="retired"))
    assert (change.what, change.after) == ("State", "inactive, can be restored")
    (change,) = changes(Wish(GIB, life="retired"), Wish(GIB, life="gone"))
    assert "permanently" in change.after


def test_the_picture_of_the_host_says_what_a_retired_volume_was() -> None:
    (group,) = stack_of(make.facts(off())).groups
    box = group.pillars[0].volume
    assert (box.name, box.detail.split(",")[:2]) == (
        retired_name(KEY),
        ["retired", " was web12"],
    )
