"""A window sums whole intervals, over partition borders too."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.metrics.rates import Delta, Figures, Sums, delta, figures
from storage.metrics.samples import window
from storage.models import Host
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, placed, reading, take

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture
def host() -> Host:
    return make.host()


def test_a_window_is_sum_over_sum(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((0, 0), (10, 1000), (40, 2000)):
        take(host, seconds, reading(lv, reads))
    found = window(volume, NOON, NOON + 40 * SECOND)
    assert (found.seconds, found.intervals, found.coverage) == (40, 2, 1)
    assert found.read_iops == 50
    assert found.read_ms == 0.5


def test_an_interval_that_straddles_an_end_belongs_to_neither_side(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((0, 0), (10, 1000), (20, 1010), (30, 1020)):
        take(host, seconds, reading(lv, reads))
    assert window(volume, NOON + 5 * SECOND, NOON + 25 * SECOND).read_iops == 1
    assert window(volume, NOON - SECOND, NOON + 15 * SECOND).read_iops == 100


def test_a_window_without_samples_knows_nothing(host: Host) -> None:
    volume, _lv = placed(host)
    found = window(volume, NOON, NOON + SECOND)
    assert (found.read_iops, found.hit_rate, found.latency_p95_ms) == (None, None, None)
    assert (found.seconds, found.coverage, found.used_bytes) == (0, 0, None)


def test_a_window_ends_after_its_start(host: Host) -> None:
    volume, _lv = placed(host)
    with pytest.raises(ValueError, match="after its start"):
        window(volume, NOON, NOON)


def test_before_and_after_a_cache(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 0, latency=wire.latency()))
    take(host, 10, reading(lv, 3000, latency=wire.latency(0, 0, 0, 0, 0, 3000)))
    latency = wire.latency(40_000, 0, 0, 0, 0, 8000)
    cold = wire.cache(read_hits=40_000, read_misses=5000)
    take(host, 20, reading(lv, 48_000, cache=cold, latency=latency))
    latency = wire.latency(130_000, 0, 0, 0, 0, 18_000)
    warm = wire.cache(read_hits=130_000, read_misses=15_000, used=9)
    take(host, 30, reading(lv, 148_000, cache=warm, latency=latency))
    before = window(volume, NOON, NOON + 10 * SECOND)
    after = window(volume, NOON + 20 * SECOND, NOON + 30 * SECOND)
    assert (before.read_iops, before.hit_rate) == (300, None)
    assert (after.read_iops, after.hit_rate, after.accesses) == (10_000, 0.9, 100_000)
    assert before.latency_p50_ms is not None
    assert before.latency_p50_ms == pytest.approx(2 * 2.5**0.5)
    assert after.latency_p50_ms is not None
    assert after.latency_p50_ms < 0.1
    assert after.used_bytes == 9 * 65_536
    attach = window(volume, NOON + 10 * SECOND, NOON + 20 * SECOND)
    assert (attach.read_iops, attach.hit_rate) == (4500, None)


def test_bcache_counts_only_intervals_with_a_cache_set(host: Host) -> None:
    volume, lv = placed(host)
    history = ((0, 0, None), (1000, 1000, None), (2000, 1900, "s"), (6000, 2300, "s"))
    for n, (guest, backing, cset) in enumerate(history):
        disk = wire.disk(reads=guest, read_sectors=8 * guest)
        bcache = wire.bcache(cset_uuid=cset, disk=disk, dirty_bytes=512)
        below = wire.disk(reads=backing, read_sectors=8 * backing)
        take(host, 10 * n, wire.volume(lv, disk=below, bcache=bcache))
    found = window(volume, NOON, NOON + 30 * SECOND)
    assert (found.read_iops, found.accesses, found.hit_rate) == (200, 4000, 0.9)
    assert found.dirty_bytes == 512
    assert found.latency_p50_ms is None


STEPS = st.lists(
    st.tuples(st.integers(1, 600), st.integers(0, 5000), st.integers(0, 5000)),
    min_size=2,
    max_size=8,
)


@settings(
    max_examples=settings().max_examples // 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS, kind=st.sampled_from(["plain", "dm-cache", "bcache"]))
def test_the_database_sums_as_the_pure_code_does_over_midnight(
    host: Host, steps: list[tuple[int, int, int]], kind: str
) -> None:
    volume, lv = placed(host)
    whole = sum(seconds for seconds, _hits, _misses in steps)
    start = NOON.replace(hour=0) + timedelta(days=1) - timedelta(seconds=whole / 2)
    now = hits = misses = 0
    readings, total = [], Sums()
    for seconds, hit, miss in [(0, 0, 0), *steps]:
        now, hits, misses = now + seconds, hits + hit, misses + miss
        disk = wire.disk(reads=hits + misses, read_sectors=8 * (hits + misses))
        fields = {"disk": disk, "latency": wire.latency(hits, misses)}
        if kind == "dm-cache":
            fields["cache"] = wire.cache(read_hits=hits, read_misses=misses)
        if kind == "bcache":
            fields["bcache"] = wire.bcache(disk=disk)
            fields["disk"] = wire.disk(read_sectors=8 * misses)
        take(host, now, wire.volume(lv, **fields), start=start)
        readings.append(wire.reading(now, **fields))
    for before, after in pairwise(readings):
        found = delta(before, after)
        assert isinstance(found, Delta)
        total += Sums.of(found.columns)
    summed = window(volume, start, start + timedelta(seconds=whole))
    assert summed.intervals == len(steps)
    expected = figures(total)
    for name in Figures.__slots__:
        assert getattr(summed, name) == getattr(expected, name), name
