"""The last hour of many volumes, in two queries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from panel.portal.last_hour import PARTS, hours_of
from storage.metrics.cache_warmth import POINTS, WarmthState, warmth
from storage.metrics.series import series
from storage.models import Host
from storage.volumes.ownership import disown as take_away
from storage.volumes.ownership import give
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, noon_gone, placed, reading, take

pytestmark = pytest.mark.django_db
NOW = NOON + timedelta(hours=1)


@pytest.fixture
def host() -> Host:
    return make.host()


def test_the_whole_hour_is_a_sum_and_each_part_has_its_own(host: Host) -> None:
    volume, lv = placed(host)
    rounds = ((0, 0, 0), (60, 300, 100), (3540, 300, 100), (3600, 600, 1000))
    for seconds, hits, misses in rounds:  # an interval of 58 min is a gap
        cache = wire.cache(read_hits=hits, read_misses=misses)
        take(host, seconds, reading(lv, hits + misses, cache=cache))
    found = hours_of([volume], NOW)[volume.pk]
    assert found.whole.hit_rate == pytest.approx(600 / 1600)
    assert found.reads == 1600
    assert found.hit_rates == [0.75, *[None] * (PARTS - 2), 0.25]
    assert found.read_times[0] == 0.5


def test_after_a_change_only_what_came_since_counts(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, hits, misses in ((0, 0, 0), (60, 300, 100)):
        cache = wire.cache(read_hits=hits, read_misses=misses)
        take(host, seconds, reading(lv, hits + misses, cache=cache))
    for seconds, reads in ((120, 500), (180, 550)):
        take(host, seconds, reading(lv, reads))
    found = hours_of([volume], NOW)[volume.pk]
    assert (found.is_since_change, found.whole.hit_rate) == (True, None)
    assert (found.changed_part, found.ended) == (0, NOON + timedelta(seconds=180))
    assert found.reads < 400
    assert 0.75 in found.hit_rates


def test_what_was_before_the_hour_and_what_comes_after_it_does_not_count(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((-120, 0), (-60, 5000), (0, 10_000), (60, 10_600), (3660, 99_000)):
        take(host, seconds, reading(lv, reads))
    assert hours_of([volume], NOW)[volume.pk].reads == 600


def test_what_a_former_customer_did_does_not_count(host: Host) -> None:
    (handed_over, first), (kept, second) = placed(host), placed(host)
    noon = noon_gone()
    for seconds in (0, 60):
        take(host, seconds, reading(first, seconds), reading(second, seconds), start=noon)
    give(kept, make.customer("Kept"), NOW)
    give(handed_over, make.customer("Before"), NOW)
    take_away(handed_over)
    give(handed_over, make.customer("After"), NOW)
    assert set(hours_of([handed_over, kept], noon + timedelta(hours=1))) == {kept.pk}


def test_a_volume_without_a_sample_is_missing(host: Host) -> None:
    volume, _ = placed(host)
    assert hours_of([volume], NOW) == {}


def test_two_queries_answer_for_all_volumes_each_with_its_own(
    host: Host, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    pairs = [placed(host) for _ in range(5)]
    for seconds in (0, 60):
        take(host, seconds, *(reading(lv, seconds * n) for n, (_, lv) in enumerate(pairs)))
    with django_assert_num_queries(2):
        found = hours_of([volume for volume, _ in pairs], NOW)
    assert [found[volume.pk].reads for volume, _ in pairs] == [0, 60, 120, 180, 240]


@pytest.mark.parametrize(
    ("later_growth", "state"), [(0.02, WarmthState.WARMING), (0.0, WarmthState.WARM)]
)
def test_staff_and_customer_read_the_same_of_a_cache_that_is_92_percent_full(
    host: Host, later_growth: float, state: WarmthState
) -> None:
    volume, lv = placed(host)
    for minute in range(61):
        share = 0.92 - later_growth * (60 - minute) / 10
        cache = wire.cache(
            read_hits=300 * minute, read_misses=300 * minute, used=round(share * 32_768)
        )
        take(host, 60 * minute, reading(lv, 600 * minute, cache=cache))
    recent = series(volume, NOW - timedelta(minutes=30), NOW, POINTS)
    for_staff = warmth(recent, NOW, timedelta(minutes=5))
    for_customer = hours_of([volume], NOW)[volume.pk].learning
    assert for_staff.share == pytest.approx(0.92, abs=0.001)
    assert (for_staff.state, for_customer.is_warm) == (state, state is WarmthState.WARM)
