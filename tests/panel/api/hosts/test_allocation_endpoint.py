"""Who gets how much SSD of a host, to a program."""

from __future__ import annotations

import pytest

from storage.byte_sizes import GIB
from tests.allocation_scene import OVERSIZED, WAITING, Part, allocation_scene
from tests.panel.api.asking import staff
from tests.scene import scene

pytestmark = pytest.mark.django_db


def test_the_division_has_what_is_proposed_in_the_order_of_its_steps() -> None:
    host, volumes = allocation_scene(WAITING, OVERSIZED)
    shown = staff("read_only").get(f"/hosts/{host.key}/allocation").json()
    (group,) = shown["groups"]
    steps = [
        (each["volume"]["key"], each["cache_bytes"], each["proposed_bytes"])
        for each in group["items"]
    ]
    assert steps == [(volumes[1].key, 16 * GIB, 4 * GIB), (volumes[0].key, 0, 8 * GIB)]
    assert group["saved_seconds_per_day_low"] < 7 * 3600 < group["saved_seconds_per_day_high"]
    assert group["wear_bytes_per_day"] is None
    assert [each["written_bytes_per_day"] for each in group["items"]] == [10 * GIB] * 2
    (offer,) = group["next_ssds"]
    assert [each["name"] for each in offer["volumes"]] == ["mail"]
    (cache,) = shown["caches"]
    assert cache["per_gib_hour"] is None and not cache["is_idle"]


def test_what_a_cache_without_a_forecast_writes_is_not_known() -> None:
    host, _ = allocation_scene(Part(label="archive", cache_gib=16))
    (group,) = staff("read_only").get(f"/hosts/{host.key}/allocation").json()["groups"]
    assert [each["written_bytes_per_day"] for each in group["items"]] == [None]


def test_a_host_without_an_inventory_has_no_division() -> None:
    there = scene(host={"facts": {}, "facts_at": None})
    shown = staff("read_only").get(f"/hosts/{there.host.key}/allocation").json()
    assert shown == {"groups": [], "caches": []}
