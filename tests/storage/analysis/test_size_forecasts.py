"""What caches of each size would bring is worked out once a day, and kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache

from storage.analysis.heat_store import set_counting
from storage.analysis.size_forecasts import points_of, renew_forecasts, says_nothing_now
from storage.models import SizeForecast, Volume
from storage.volumes.snapshot import snapshots_of
from tests.heat_scene import count_heat, counting_scene, slow_reads
from tests.scene import Scene
from tests.storage.metrics.samples.rounds import NOON

pytestmark = pytest.mark.django_db
NOW = NOON + timedelta(hours=1)


@pytest.fixture
def here() -> Scene:
    cache.clear()
    there = counting_scene()
    count_heat(there.volume, 12, NOW)
    slow_reads(there, 60, NOON)
    return there


def test_a_volume_with_heat_gets_a_forecast_for_each_size_once_a_day(here: Scene) -> None:
    assert renew_forecasts(NOW) == 1
    made = SizeForecast.objects.get(volume=here.volume)
    points = points_of(made)
    assert made.reason == "" and made.mode == "writethrough" and made.observed_seconds == 12 * 3600
    assert points[0].size_bytes == 0 and points[0].saved_high == 0
    assert all(each.saved_low > 0 and each.written_bytes_per_day > 0 for each in points[1:])
    [row] = snapshots_of(Volume.objects.all())
    assert says_nothing_now(made, row) == ""
    assert renew_forecasts(NOW + timedelta(hours=23)) == 0
    cache.clear()
    assert renew_forecasts(NOW + timedelta(hours=25)) == 1


def test_a_volume_with_too_little_heat_keeps_the_reason(here: Scene) -> None:
    cache.clear()
    here.volume.heat_days.all().delete()
    count_heat(here.volume, 2, NOW)
    renew_forecasts(NOW)
    made = SizeForecast.objects.get(volume=here.volume)
    assert not made.points and "2 h counted so far of 6 h needed" in made.reason


def test_where_heat_may_not_be_counted_the_forecast_is_deleted_too(here: Scene) -> None:
    renew_forecasts(NOW)
    set_counting(here.volume, allowed=False)
    assert not SizeForecast.objects.exists()


def test_volumes_without_heat_cost_nothing(here: Scene) -> None:
    here.volume.heat_days.all().delete()
    assert renew_forecasts(NOW) == 0
