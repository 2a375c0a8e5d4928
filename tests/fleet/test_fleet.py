"""What is invented of a fleet agrees with itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from jobs.models import Line, Step
from jobs.models.step import StepState
from panel.models import Proof
from storage.analysis.heat_store import by_kind, heat_of
from storage.analysis.measured_use import use_of
from storage.analysis.size_forecasts import points_of
from storage.models import Device, DeviceSample, LatestDeviceSample, Placement, SizeForecast
from storage.models.device import DeviceKind
from storage.volumes.snapshot import snapshots_of
from tests import fleet
from tests.fleet import heat
from tests.fleet.measured import measured

NOW = timezone.now()
ROUNDING_MS = 2


@pytest.fixture(scope="module", autouse=True)
def made(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[fleet.Fleet]:
    """Made once; rolled back with the last test."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield fleet.build(hosts=6, volumes=42, hours=2, seconds=300, now=NOW)
        transaction.set_rollback(True)


def test_each_disk_of_a_host_that_answers_has_figures_of_the_last_round(made: fleet.Fleet) -> None:
    answering = {source.host_id for source in made.sources}
    disks = Device.objects.filter(host__in=answering, kind=DeviceKind.DISK)
    fresh = LatestDeviceSample.objects.filter(at__gte=NOW - timedelta(minutes=1), gap="")
    assert disks.count() == disks.filter(latest_sample__in=fresh).count() > 0


def test_an_array_does_what_its_disks_do() -> None:
    arrays = Device.objects.filter(kind=DeviceKind.ARRAY)
    for array in arrays:
        whole = DeviceSample.objects.filter(device=array).order_by("-ts").first()
        assert whole is not None
        parts = list(DeviceSample.objects.filter(device__part_of=array, ts=whole.ts))
        assert sum(part.reads or 0 for part in parts) == pytest.approx(whole.reads, abs=4)
        copies = min(2, len(parts))
        written = sum(part.writes or 0 for part in parts)
        assert written == pytest.approx(copies * (whole.writes or 0), abs=4)
        assert max(part.busy_ms or 0 for part in parts) <= (whole.busy_ms or 0) + 1


def test_no_cache_is_to_save_more_than_its_volume_waits(made: fleet.Fleet) -> None:
    known = measured([volume.pk for volume in made.volumes])
    rows = snapshots_of(made.volumes)
    forecasts = SizeForecast.objects.filter(reason="").in_bulk()
    most = {
        row.volume.pk: max(point.saved_high for point in points_of(forecasts[row.volume.pk], row))
        for row in rows
        if row.volume.pk in forecasts and row.volume.pk in known and row.cache is None
    }
    assert any(saved > 0 for saved in most.values())
    for pk, saved in most.items():
        waits = known[pk].waited_seconds_per_day
        assert 0.3 * waits <= saved <= waits


def test_heat_has_as_many_ios_as_samples_have(made: fleet.Fleet) -> None:
    warmed = heat.warm(made.hosts, NOW)
    for row in snapshots_of(warmed[:2]):
        used = use_of(row, NOW)
        ios = (used.sums.reads + used.sums.writes) / used.seconds
        (records,) = by_kind(heat_of(row.volume, NOW - timedelta(days=14))).values()
        counted = sum(each.reads + each.writes for each in records)
        assert counted / sum(each.seconds for each in records) == pytest.approx(ios, rel=0.01)
        assert Placement.objects.filter(volume=row.volume, until=None).exists()


def test_a_failed_step_shows_its_exit_code_and_its_output_its_time() -> None:
    failed = Step.objects.get(state=StepState.FAILED)
    assert [command["rc"] for command in failed.commands] == [5]
    assert failed.ended_at is not None
    assert {line.at for line in Line.objects.filter(job=failed.job)} == {failed.ended_at}


def test_the_figures_of_a_report_fit_its_verdict() -> None:
    results = [(proof.verdict, proof.result) for proof in Proof.objects.all()]
    assert len({result["read_ms_after"] for _, result in results}) == len(results) > 3
    for verdict, result in results:
        is_better = result["read_ms_after"] < result["read_ms_before"]
        assert is_better == (verdict != "loss")
