"""The figures of a volume's heat, as a benchmark copies them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from storage.analysis.heat_replay import heat_replay
from storage.benchmarks.heat_profile import is_sound
from storage.models import Volume
from storage.volumes.snapshot import VolumeSnapshot, snapshots_of
from tests.heat_scene import count_heat, counting_scene
from tests.storage.metrics.samples.rounds import NOON

pytestmark = pytest.mark.django_db
NOW = NOON + timedelta(hours=1)


def row_of(volume: Volume) -> VolumeSnapshot:
    return snapshots_of([Volume.objects.get(pk=volume.pk)])[0]


def test_what_was_counted_of_a_volume_is_copied_without_its_name() -> None:
    volume = counting_scene().volume
    count_heat(volume, 12, NOW)
    figures = heat_replay(row_of(volume), NOW)
    assert figures is not None and is_sound(figures)
    assert volume.key not in repr(figures)


def test_too_little_heat_is_not_replayed() -> None:
    volume = counting_scene().volume
    count_heat(volume, 2, NOW)
    assert heat_replay(row_of(volume), NOW) is None
