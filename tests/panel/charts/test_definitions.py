"""What charts are made of: the lines that mark their limits."""

from __future__ import annotations

import json

import pytest
from django.utils import translation

from panel.charts.definitions import LATENCIES, SATURATION, WAITS, limited, load_panels, panels
from panel.charts.subject import of_fleet, of_host, of_volume
from storage.models import CachePlan, Host
from tests import make
from tests.scene import scene


def limits(*shown: object) -> dict[str, tuple[float, str]]:
    """Of each panel that has one, as the script reads it."""
    return {
        read["name"]: (axis["limit"]["figure"], axis["limit"]["text"])
        for read in (json.loads(panel.json) for panel in shown)  # type: ignore[attr-defined]
        for axis in read["axes"]
        if axis["limit"] is not None
    }


def test_charts_of_latency_and_of_busy_disks_mark_where_something_is_wrong() -> None:
    assert limits(*limited((*load_panels(), SATURATION, WAITS))) == {
        "operations": (20, "slow reads: 20 ms"),
        LATENCIES.name: (20, "slow reads: 20 ms"),
        SATURATION.name: (0.9, "busy HDD: 90 %"),
    }


def test_customers_read_it_in_their_language() -> None:
    with translation.override("de"):
        found = limits(*limited(panels(plain=True), 15))
    assert found == {"operations": (15, "langsames Lesen: 15 ms")}


@pytest.mark.django_db
def test_the_nearest_limit_is_the_one_that_is_drawn() -> None:
    there, staff = scene(), make.staff_user()

    def drawn() -> list[float]:
        host = Host.objects.get()
        return [
            limits(*subject.panels)["operations"][0]
            for subject in (of_volume(there.volume, staff), of_host(host), of_fleet())
        ]

    assert drawn() == [20, 20, 20]
    Host.objects.update(slow_read_ms=12)
    assert drawn() == [12, 12, 20]
    there.volume.cache_plan = CachePlan.objects.create(
        name="Fast", size_bytes=2**30, price_minor=1, currency="EUR", slow_read_ms=5
    )
    there.volume.save()
    assert drawn() == [5, 12, 20]
