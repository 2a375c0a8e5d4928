"""The note of a volume's cache beside its place, as an upgrade finds and fills it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from storage.byte_sizes import GIB
from storage.models import LatestSample, Placement
from tests.scene import Scene, scene

pytestmark = pytest.mark.django_db

FILL = import_module("storage.migrations.0009_placement_cache").FILL


def sampled(there: Scene, **fields: Any) -> None:
    LatestSample.objects.create(
        volume=there.volume,
        **{"host": there.host, "at": timezone.now(), "boot_id": "b", "counters": {}} | fields,
        boottime_ns=1,
    )


def notes() -> dict[str, tuple[str, str, int | None]]:
    with connection.cursor() as cursor:
        cursor.execute(FILL)
    return {
        place.volume.label: (place.cache_technology, place.cache_mode, place.cache_bytes)
        for place in Placement.objects.select_related("volume")
    }


def test_an_upgrade_notes_the_caches_that_the_last_samples_saw() -> None:
    seen = {"cache_mode": "writeback", "cache_size_bytes": 2 * GIB}
    sampled(scene(label="dm"), technology=1, **seen)
    sampled(scene(label="bc"), technology=2, **seen)
    sampled(scene(label="bare"), technology=0)
    scene(label="never sampled")
    assert notes() == {
        "dm": ("lvmcache", "writeback", 2 * GIB),
        "bc": ("bcache", "writeback", 2 * GIB),
        "bare": ("", "", None),
        "never sampled": ("", "", None),
    }


def test_a_sample_from_another_host_or_of_an_earlier_place_is_no_note() -> None:
    moved, left = scene(label="moved"), scene(label="left")
    sampled(moved, technology=1, host=left.host)
    sampled(left, technology=1)
    Placement.objects.filter(volume=left.volume).update(until=timezone.now())
    assert set(notes().values()) == {("", "", None)}


def test_a_panel_that_knows_nothing_of_the_note_can_add_a_place() -> None:
    there = scene()
    Placement.objects.update(until=timezone.now())
    columns = "volume_id, host_id, vg_name, vg_uuid, lv_name, lv_uuid, since"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO storage_placement ({columns})"  # noqa: S608 (words of this test)
            f" SELECT {columns} FROM storage_placement WHERE volume_id = %s",
            [there.volume.pk],
        )
    assert Placement.objects.get(until=None).cache_technology == ""
