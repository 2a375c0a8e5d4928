"""What caches of each size would bring is worked out once a day, and kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from storage.analysis import size_forecasts
from storage.analysis.curve.prospects import Range
from storage.analysis.heat_forecast import KINDS
from storage.analysis.heat_store import set_counting
from storage.analysis.size_forecasts import (
    forecasts_of,
    known_forecasts,
    packed_forecasts,
    points_of,
    renew_forecast,
    renew_forecasts,
    says_nothing_now,
)
from storage.models import CachePlan, HeatDay, LatestSample, SizeForecast, Volume
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests import make
from tests.heat_scene import count_heat, counting_scene, slow_reads
from tests.scene import Scene
from tests.storage.metrics.samples.rounds import NOON

pytestmark = pytest.mark.django_db
NOW = NOON + timedelta(hours=1)
DAY = timedelta(days=1, hours=1)


@pytest.fixture
def here() -> Scene:
    there = counting_scene()
    count_heat(there.volume, 12, NOW)
    slow_reads(there, 60, NOON)
    return there


def row_of(volume: Volume) -> VolumeSnapshot:
    [row] = snapshots_of(Volume.objects.filter(pk=volume.pk).select_related("cache_plan"))
    return row


def test_a_volume_with_heat_gets_a_forecast_for_each_size_once_a_day(here: Scene) -> None:
    assert renew_forecasts(NOW) == 1
    made, row = SizeForecast.objects.get(volume=here.volume), row_of(here.volume)
    assert says_nothing_now(made, row) == made.reason == ""
    points = points_of(made, row)
    assert made.observed_seconds == 12 * 3600
    assert points[0].size_bytes == 0 and points[0].saved_high == 0
    assert all(each.saved_low > 0 and each.written_bytes_per_day > 0 for each in points[1:])
    assert made.enough_bytes in {each.size_bytes for each in points[1:]}
    assert renew_forecasts(NOW + timedelta(hours=23)) == 0
    assert renew_forecasts(NOW + DAY) == 1


def test_every_technology_and_mode_is_kept_so_that_a_plan_in_another_mode_has_its_points(
    here: Scene,
) -> None:
    renew_forecasts(NOW)
    made, through = SizeForecast.objects.get(volume=here.volume), row_of(here.volume)
    assert set(forecasts_of(made)) == set(KINDS)
    plan = CachePlan.objects.create(
        name="Fast", size_bytes=1 << 30, mode="writeback", price_minor=900, currency="EUR"
    )
    Volume.objects.filter(pk=here.volume.pk).update(cache_plan=plan)
    back = row_of(here.volume)
    assert says_nothing_now(made, back) == ""
    by_kind, kind = forecasts_of(made), (back.technology.name, True)
    one_size = replace(by_kind[kind], prospects=by_kind[kind].prospects[:1])
    made.forecasts = packed_forecasts({**by_kind, kind: one_size})
    assert len(points_of(made, back)) == 2 < len(points_of(made, through))


def test_no_cache_saves_more_than_the_volume_waits_with_the_one_it_has(here: Scene) -> None:
    renew_forecasts(NOW)
    made, row = SizeForecast.objects.get(volume=here.volume), row_of(here.volume)
    by_kind, kind = forecasts_of(made), (row.technology.name, False)
    first = by_kind[kind].prospects[0]
    # By the model the present cache would miss far more than it was measured to.
    badly = replace(first, saved_seconds_per_day=Range(-5_000.0, -4_000.0))
    waits = by_kind[kind].waited_seconds_per_day
    traffic = replace(by_kind[kind], prospects=[badly, *by_kind[kind].prospects[1:]])
    made.forecasts = packed_forecasts({**by_kind, kind: traffic})
    made.cache_bytes = first.size_bytes
    larger = points_of(made, row)[2:]
    assert larger and all(0 < each.saved_low <= each.saved_high <= waits for each in larger)


def test_those_never_made_come_first_of_them_the_volume_that_waits_most(
    here: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size_forecasts, "AT_ONCE", 1)
    LatestSample.objects.all().delete()
    others = [make.volume(label=label) for label in ("unmeasured", "quiet", "busy")]
    zeros = dict.fromkeys(("reads", "writes", "read_sectors", "write_sectors", "write_ms"), 0)
    for volume, read_ms in zip(others, (None, 1_000, 600_000), strict=True):
        count_heat(volume, 1, NOW)
        if read_ms is not None:
            LatestSample.objects.create(
                volume=volume, host=here.host, at=NOW, boot_id="a", boottime_ns=1, counters={},
                dt_ms=60_000, read_ms=read_ms, **zeros,
            )  # fmt: skip
    renew_forecast(row_of(here.volume), NOW - DAY)
    order = list[str]()
    for minute in range(4):
        assert renew_forecasts(NOW + timedelta(minutes=minute)) == 1
        order.append(SizeForecast.objects.latest("made_at").volume.label)
    assert order == ["busy", "quiet", "unmeasured", here.volume.label]


def test_a_volume_with_too_little_heat_keeps_the_reason(here: Scene) -> None:
    here.volume.heat_days.all().delete()
    count_heat(here.volume, 2, NOW)
    renew_forecasts(NOW)
    made = SizeForecast.objects.get(volume=here.volume)
    assert not made.forecasts and made.enough_bytes is None
    assert "2 h counted so far of 6 h needed" in made.reason
    assert known_forecasts([here.volume.pk]) == {}


def test_what_is_old_and_has_no_heat_any_more_says_nothing(here: Scene) -> None:
    renew_forecasts(NOW)
    HeatDay.objects.all().delete()
    assert renew_forecasts(NOW + DAY) == 1
    made = SizeForecast.objects.get(volume=here.volume)
    assert not made.forecasts and "nothing counted so far" in made.reason


def test_where_heat_may_not_be_counted_the_forecast_is_deleted_too(here: Scene) -> None:
    renew_forecasts(NOW)
    set_counting(here.volume, allowed=False)
    assert not SizeForecast.objects.exists()


def test_volumes_without_heat_cost_nothing(here: Scene) -> None:
    here.volume.heat_days.all().delete()
    assert renew_forecasts(NOW) == 0
