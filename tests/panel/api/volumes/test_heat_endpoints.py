"""What SSD of each size would bring, to a program."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache

from storage.database_clock import database_now
from storage.models import HeatDay
from tests.heat_scene import count_heat, counting_scene, slow_reads
from tests.panel.api.asking import Program, staff
from tests.scene import Scene

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    cache.clear()


@pytest.fixture
def here() -> Scene:
    return counting_scene()


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def test_the_curve_has_the_sizes_with_their_ranges(asking: Program, here: Scene) -> None:
    now = database_now()
    count_heat(here.volume, 12, now)
    slow_reads(here, 20, now - timedelta(minutes=25))
    shown = asking.get(f"/volumes/{here.volume.key}/curve").json()
    assert shown["reason"] == ""
    assert shown["observed_seconds"] == 12 * 3600
    sizes = [each["size_bytes"] for each in shown["items"]]
    assert sizes == sorted(sizes)
    assert sum(each["is_enough"] for each in shown["items"]) <= 1
    for each in shown["items"]:
        assert 0 <= each["hit_rate_low"] <= each["hit_rate"] <= each["hit_rate_high"] <= 1
        assert each["verdict"] in ("helps", "no_help", "unknown")


def test_without_a_forecast_it_says_why(asking: Program, here: Scene) -> None:
    shown = asking.get(f"/volumes/{here.volume.key}/curve").json()
    assert shown == {
        "observed_seconds": None,
        "reason": (
            "What this volume reads again is not known yet: nothing counted so far of 6 h needed."
        ),
        "inputs": None,
        "items": [],
    }


def test_another_mode_is_another_curve(asking: Program, here: Scene) -> None:
    url = f"/volumes/{here.volume.key}/curve"
    assert asking.get(f"{url}?mode=writeback").status_code == 200
    assert asking.get(f"{url}?mode=writearound").status_code == 400


def test_counting_is_ended_by_a_program_and_what_was_counted_is_deleted(
    asking: Program, here: Scene
) -> None:
    count_heat(here.volume, 2, database_now())
    url = f"/volumes/{here.volume.key}"
    assert asking.get(url).json()["counts_heat"] is True
    shown = asking.send("patch", url, {"counts_heat": False})
    assert (shown.status_code, shown.json()["counts_heat"]) == (200, False)
    assert not HeatDay.objects.exists()
    asking.send("patch", url, {"label": "renamed"})
    assert asking.get(url).json()["counts_heat"] is False
