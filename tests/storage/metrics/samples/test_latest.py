"""What volumes do now."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from pytest_django import DjangoAssertNumQueries

from storage.metrics.rates import CachedBy, GapReason
from storage.metrics.samples import latest, latest_of
from storage.models import Host
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, placed, reading, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def host() -> Host:
    return make.host()


def test_a_volume_never_sampled_has_nothing() -> None:
    assert latest(make.volume()) is None


def test_the_last_interval_is_now(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((0, 0), (10, 50), (20, 3050)):
        take(host, seconds, reading(lv, reads))
    with time_machine.travel(NOON + timedelta(seconds=27), tick=False):
        found = latest(volume)
    assert found is not None
    assert (found.read_iops, found.read_ms, found.seconds) == (300, 0.5, 10)
    assert (found.at, found.age_seconds) == (NOON + timedelta(seconds=20), 7)
    assert (found.gap, found.technology) == (None, CachedBy.NONE)


def test_a_gap_has_gauges_and_a_reason_but_no_figures(host: Host) -> None:
    volume, lv = placed(host)
    cache = wire.cache(used=7, mode="writeback")
    take(host, 0, reading(lv, 0, cache=cache))
    take(host, 10, reading(lv, 3000, cache=cache), boot="boot-2")
    found = latest(volume)
    assert found is not None
    assert found.gap is GapReason.REBOOTED
    assert found.gap.sentence == "the host rebooted"
    assert (found.read_iops, found.hit_rate, found.latency_p50_ms) == (None, None, None)
    assert (found.used_bytes, found.cache_mode) == (7 * 65_536, "writeback")


def test_a_gap_of_the_cache_leaves_the_disks_figures(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 0, cache=wire.cache(read_hits=900)))
    take(host, 10, reading(lv, 3000, cache=wire.cache(read_hits=100)))
    found = latest(volume)
    assert found is not None
    assert (found.read_iops, found.hit_rate, found.gap) == (300, None, None)
    assert found.cache_gap is GapReason.CACHE_REWOUND


def test_hit_rates_of_both_technologies(host: Host) -> None:
    lvm, lvm_lv = placed(host)
    other, other_lv = placed(host)
    for seconds, reads in ((0, 0), (10, 1000)):
        hits = reads * 9 // 10
        cached = wire.cache(read_hits=hits, read_misses=reads - hits)
        guest = wire.bcache(disk=wire.disk(reads=reads, read_sectors=8 * reads))
        backing = wire.disk(read_sectors=2 * reads)
        take(
            host,
            seconds,
            reading(lvm_lv, reads, cache=cached),
            wire.volume(other_lv, disk=backing, bcache=guest),
        )
    found = latest_of([lvm, other])
    assert (found[lvm.pk].hit_rate, found[lvm.pk].accesses) == (0.9, 1000)
    assert (found[other.pk].hit_rate, found[other.pk].accesses) == (0.75, 1000)
    assert found[other.pk].technology is CachedBy.BCACHE


def test_many_volumes_cost_one_query(
    host: Host, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    placements = [placed(host) for _ in range(5)]
    take(host, 0, *(reading(lv, 1) for _volume, lv in placements))
    with django_assert_num_queries(1):
        found = latest_of([volume for volume, _lv in placements])
    assert len(found) == 5


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"cache": wire.cache()}, ""),
        ({"cache": wire.cache(needs_check=True)}, "needs check"),
        ({"cache": wire.cache(read_only=True)}, "read-only"),
        ({"cache": wire.cache(failed=True)}, "failed"),
        ({"bcache": wire.bcache(state="inconsistent")}, "inconsistent"),
        ({"bcache": wire.bcache(cset_uuid=None, state="no cache")}, ""),
    ],
)
def test_what_is_wrong_with_a_cache_is_said(host: Host, fields: dict[str, Any], state: str) -> None:
    volume, lv = placed(host)
    take(host, 0, wire.volume(lv, suspended=True, **fields))
    found = latest(volume)
    assert found is not None
    assert (found.cache_state, found.suspended) == (state, True)
