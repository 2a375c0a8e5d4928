"""What the volumes of a host do together, and which wait longest."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from panel.staff.hosts.host_volumes import figures_of, residents_of, untagged
from storage.metrics.rates import CachedBy
from storage.models import Host, LatestSample, Volume
from tests import make
from tests.scene import scene

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def sampled(host: Host, at: datetime = NOW, **fields: Any) -> Volume:
    """A volume on the host with a last interval of 10 s."""
    volume = make.volume()
    make.placement(volume, host)
    defaults: dict[str, Any] = {
        "dt_ms": 10_000, "reads": 0, "writes": 0, "read_sectors": 0, "write_sectors": 0,
        "read_ms": 0, "write_ms": 0, "boottime_ns": 1, "counters": {},
    }  # fmt: skip
    LatestSample.objects.create(volume=volume, host=host, at=at, **{**defaults, **fields})
    return volume


def test_rates_of_all_volumes_add_up() -> None:
    host = make.host()
    sampled(host, reads=100, writes=50, read_ms=500)
    sampled(host, reads=300, writes=0, read_ms=100, dt_ms=5_000)
    found = figures_of(host)
    assert (found.read_iops, found.write_iops) == (70.0, 5.0)
    assert found.read_ms == 1.5
    assert found.waits == pytest.approx(0.07)


def test_the_hit_rate_is_of_both_technologies_together() -> None:
    host = make.host()
    dm_cache = {"read_hits": 150, "read_misses": 50, "technology": CachedBy.DM_CACHE}
    sampled(host, reads=200, **dm_cache)
    bcache = {"read_sectors": 1000, "slow_read_sectors": 500, "technology": CachedBy.BCACHE}
    sampled(host, reads=200, **bcache)
    found = figures_of(host)
    assert (found.hit_rate, found.accesses) == (0.625, 400)


def test_what_is_unknown_is_no_zero() -> None:
    found = figures_of(make.host())
    assert (found.read_iops, found.waits, found.hit_rate, found.at) == (None, None, None, None)


def test_old_figures_stay_but_those_of_volumes_that_are_gone_do_not_count() -> None:
    host, old = make.host(), NOW - timedelta(hours=2)
    sampled(host, at=old, reads=100)
    sampled(host, at=old - timedelta(hours=1), reads=900)
    found = figures_of(host)
    assert (found.at, found.read_iops) == (old, 10.0)


def test_a_gap_has_no_figures() -> None:
    host = make.host()
    volume = sampled(host, gap="first", reads=100)
    assert (figures_of(host).read_iops, figures_of(host).at) == (None, NOW)
    (resident,) = residents_of(host)
    assert (resident.key, resident.waits) == (volume.key, None)


def test_reads_and_writes_wait_together() -> None:
    host = make.host()
    sampled(host, read_ms=15_000, write_ms=5_000)
    (resident,) = residents_of(host)
    assert resident.waits == 2.0


@pytest.mark.parametrize(("allowed", "count"), [(True, 1), (False, 0)])
def test_what_could_carry_our_tag_by_now_is_counted(*, allowed: bool, count: int) -> None:
    there = scene(managed=False, vgs=(make.vg(allowed=allowed),))
    assert untagged(there.facts, residents_of(there.host)) == 0
    Volume.objects.update(adopted_at=NOW)
    assert untagged(there.facts, residents_of(there.host)) == count
