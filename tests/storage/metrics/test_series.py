"""A series puts whole intervals into buckets; what was not measured stays unknown."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from storage.metrics.samples import window
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.samples.packer import pack_samples
from storage.metrics.series import MAX_POINTS, UNITS, YEAR, series, step_seconds
from storage.models import Host
from tests import make
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, placed, reading, take

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def ten_seconds(settings: Settings) -> None:
    settings.TIERCEL_SAMPLE_SECONDS = 10


@pytest.fixture
def host() -> Host:
    return make.host()


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_a_bucket_is_sum_over_sum_and_not_an_average_of_rates(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((0, 0), (5, 1000), (30, 1020)):
        take(host, seconds, reading(lv, reads))
    found = series(volume, NOON, after(30), points=1)
    assert found.step_seconds == 30
    assert found.to_json()["series"]["read_iops"] == [34]
    assert found.to_json()["series"]["read_bytes_per_s"] == [34 * 4096]


def test_a_bucket_without_samples_is_unknown_and_never_zero(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((0, 0), (10, 100), (50, 150), (60, 150)):
        take(host, seconds, reading(lv, reads))
    found = series(volume, NOON, after(60)).to_json()
    assert found["series"]["read_iops"] == [10, None, None, None, 1.25, 0]
    assert found["series"]["read_ms"] == [0.5, None, None, None, 0.5, None]
    assert found["totals"]["covered_seconds"] == 60


def test_an_interval_belongs_to_the_bucket_in_which_it_ends(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((-5, 0), (5, 1000), (10, 1000), (10.001, 1000)):
        take(host, seconds, reading(lv, reads))
    found = series(volume, NOON, after(20)).to_json()["series"]["read_iops"]
    assert found == [pytest.approx(1000 / 15, abs=0.001), 0]


def test_a_band_is_sent_with_no_more_digits_than_its_line(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((0, 0), (7, 1000), (10, 1001), (30, 1003)):
        take(host, seconds, reading(lv, reads))
    found = series(volume, NOON, after(30), points=3)
    for lines in found.band_json().values():
        for line in lines.values():
            assert all(each is None or each == round(each, 4) for each in line)
            assert len(line) == found.points


def test_a_round_that_is_moments_late_makes_no_gap(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((0, 0), (9.9, 99), (20.1, 303), (29.9, 499)):
        take(host, seconds, reading(lv, reads))
    found = series(volume, NOON, after(30)).to_json()
    assert found["series"]["read_iops"] == [10, 20, 20]
    assert found["totals"]["covered_seconds"] == pytest.approx(29.9)


def test_nothing_is_known_before_the_first_interval(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((13, 0), (23, 100), (33, 200)):
        take(host, seconds, reading(lv, reads))
    assert series(volume, NOON, after(40)).to_json()["series"]["read_iops"] == [
        None,
        None,
        10,
        10,
    ]


def test_one_lost_round_is_a_gap(host: Host) -> None:
    volume, lv = placed(host)
    for seconds, reads in ((0, 0), (10, 100), (30, 300)):
        take(host, seconds, reading(lv, reads))
    assert series(volume, NOON, after(30)).to_json()["series"]["read_iops"] == [10, None, 10]


def test_a_volume_sampled_less_often_than_there_are_buckets_has_no_gaps(host: Host) -> None:
    """A lost round is one all the same."""
    volume, lv = placed(host)
    for seconds in (0, 30, 60, 90, 150, 180):
        take(host, seconds, reading(lv, 10 * seconds))
    found = series(volume, NOON, after(180)).to_json()["series"]["read_iops"]
    assert found == [*[10] * 9, *[None] * 5, *[10] * 4]


def closely(host: Host, lv: str) -> None:
    """Two minutes as usual, one of close watch, and two as usual; the watch lost a round."""
    for seconds in (0, 60, 120, 130, 140, 160, 170, 180, 240, 300):
        take(host, seconds, reading(lv, 10 * seconds))


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_close_watch_is_drawn_every_ten_seconds_and_what_is_beside_it_stays(
    host: Host, settings: Settings, is_packed: bool
) -> None:
    settings.TIERCEL_SAMPLE_SECONDS = 60
    volume, lv = placed(host)
    closely(host, lv)
    if is_packed:
        settings.TIERCEL_SAMPLE_SECONDS = 1200
        assert pack_samples(VOLUMES, after(9 * 3600)).rows == 9
    found = series(volume, NOON, after(300))
    assert found.step_seconds == 10
    assert found.to_json()["series"]["read_iops"] == [10] * 30
    assert series(volume, after(-7200), after(-3600)).step_seconds == (1800 if is_packed else 60)


def test_a_volume_without_a_close_watch_has_the_buckets_of_its_samples(
    host: Host, settings: Settings
) -> None:
    settings.TIERCEL_SAMPLE_SECONDS = 60
    volume, lv = placed(host)
    for seconds in (0, 60, 120):
        take(host, seconds, reading(lv, 10 * seconds))
    assert series(volume, NOON, after(300)).step_seconds == 60


def test_a_reboot_is_a_gap(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 0))
    take(host, 10, reading(lv, 100))
    take(host, 20, reading(lv, 5), boot="boot-2")
    take(host, 30, reading(lv, 25), boot="boot-2")
    assert series(volume, NOON, after(30)).to_json()["series"]["read_iops"] == [10, None, 2]


def test_the_hit_rate_is_hits_over_accesses(host: Host) -> None:
    volume, lv = placed(host)
    history = ((0, 0), (1000, 1000), (9000, 1000), (9000, 1010))
    for n, (hits, misses) in enumerate(history):
        cache = wire.cache(read_hits=hits, read_misses=misses, used=3, dirty=1)
        take(host, 10 * n, reading(lv, hits + misses, cache=cache))
    found = series(volume, NOON, after(30)).to_json()
    assert found["series"]["hit_rate"] == [0.5, 1, None]
    assert found["series"]["accesses_per_s"] == [200, 800, 1]
    assert found["totals"]["hit_rate"] == pytest.approx(9000 / 10_010, abs=1e-4)
    assert found["series"]["used_bytes"] == [3 * 65_536] * 3
    assert found["series"]["dirty_bytes"] == [65_536] * 3
    assert found["series"]["cache_size_bytes"] == [2**31] * 3


def test_bcache_takes_its_hit_rate_from_what_the_slow_disk_had_to_read(host: Host) -> None:
    volume, lv = placed(host)
    for n, (guest, backing) in enumerate(((0, 0), (1000, 900), (5000, 1300))):
        disk = wire.disk(reads=guest, read_sectors=8 * guest)
        below = wire.disk(reads=backing, read_sectors=8 * backing)
        take(host, 10 * n, wire.volume(lv, disk=below, bcache=wire.bcache(disk=disk)))
    found = series(volume, NOON, after(20)).to_json()["series"]
    assert found["hit_rate"] == [0.1, 0.9]
    assert found["accesses_per_s"] == [100, 400]
    assert found["latency_p95_ms"] == [None, None]


def test_a_volume_without_a_cache_has_no_accesses(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 0))
    take(host, 10, reading(lv, 5000))
    found = series(volume, NOON, after(10))
    assert not found.has_cache
    columns = found.to_json()["series"]
    for name in ("hit_rate", "accesses_per_s", "used_bytes", "dirty_bytes"):
        assert columns[name] == [None], name


def test_moves_and_writes_to_the_ssd_are_over_the_time_in_which_they_were_counted(
    host: Host,
) -> None:
    volume, lv = placed(host)
    for n in range(3):
        data = wire.disk(writes=10 * n, write_sectors=2000 * n)
        cache = wire.cache(
            write_hits=300 * n, write_misses=100 * n, promotions=50 * n, demotions=10 * n,
            cdata=data, origin=wire.disk(),
        )  # fmt: skip
        disk = wire.disk(writes=400 * n)
        take(host, 10 * n, wire.volume(lv, disk=disk, cache=cache if n else None))
    columns = series(volume, NOON, after(20)).to_json()["series"]
    assert columns["promotions_per_s"] == [None, 5]
    assert columns["demotions_per_s"] == [None, 1]
    assert columns["write_accesses_per_s"] == [None, 40]
    assert columns["write_hit_rate"] == [None, 0.75]
    assert columns["ssd_write_bytes_per_s"] == [None, 2000 * 512 / 10]


def test_percentiles_come_from_the_histogram_of_the_bucket(host: Host) -> None:
    volume, lv = placed(host)
    take(host, 0, reading(lv, 0, latency=wire.latency()))
    take(host, 10, reading(lv, 200, latency=wire.latency(100, 0, 0, 0, 0, 100)))
    columns = series(volume, NOON, after(10)).to_json()["series"]
    assert columns["latency_p50_ms"] == [0.1]
    assert 2 < columns["latency_p95_ms"][0] < 5


def test_other_volumes_and_other_times_do_not_count(host: Host) -> None:
    (volume, lv), (_other, other_lv) = placed(host), placed(host)
    for seconds, reads in ((0, 0), (10, 1000), (20, 1010), (30, 5000)):
        take(host, seconds, reading(lv, reads), reading(other_lv, 7 * reads))
    assert series(volume, after(10), after(20)).to_json()["series"]["read_iops"] == [1]


def test_the_totals_are_those_of_a_window(host: Host) -> None:
    volume, lv = placed(host)
    for n in range(30):
        cache = wire.cache(read_hits=90 * n, read_misses=10 * n * n)
        take(host, 10 * n, reading(lv, 90 * n + 10 * n * n, cache=cache))
    totals = series(volume, NOON, after(300), points=7).totals
    same = window(volume, NOON, after(300))
    assert totals["read_iops"] == same.read_iops
    assert totals["hit_rate"] == same.hit_rate
    assert totals["read_ms"] == same.read_ms


def test_a_series_without_samples_has_the_shape_of_one_with(host: Host) -> None:
    volume, _lv = placed(host)
    found = series(volume, NOON, after(95))
    assert found.is_empty
    assert found.to_json() == {
        "t0": NOON.isoformat(),
        "step_seconds": 10,
        "points": 10,
        "series": {name: [None] * 10 for name in UNITS},
        "units": UNITS,
        "totals": {**dict.fromkeys(UNITS), "covered_seconds": 0},
    }
    assert found.at(9) == after(95)


def test_what_is_kept_longer_can_be_asked_for_at_once(settings: Settings) -> None:
    with pytest.raises(ValueError, match="at most 368 days"):
        step_seconds(NOON, after(400 * 86_400), 300)
    settings.TIERCEL_SAMPLES_KEPT_DAYS = 400
    assert step_seconds(NOON, after(400 * 86_400), 300) == 172_800


@given(seconds=st.integers(1, int(YEAR.total_seconds())), points=st.integers(1, MAX_POINTS))
def test_there_are_never_more_points_than_asked_for(seconds: int, points: int) -> None:
    step = step_seconds(NOON, after(seconds), points)
    assert seconds <= step * points
    assert step >= 10


@pytest.mark.parametrize(
    ("interval", "seconds", "step"),
    [(10, 900, 10), (60, 900, 60), (45, 900, 60), (10, 86_400, 300), (90_000, 3600, 172_800)],
)
def test_a_step_is_easy_to_read_and_no_finer_than_the_samples(
    settings: Settings, interval: int, seconds: int, step: int
) -> None:
    settings.TIERCEL_SAMPLE_SECONDS = interval
    assert step_seconds(NOON, after(seconds), 600) == step


@pytest.mark.parametrize(
    ("seconds", "points", "words"),
    [
        (0, 600, "end after it starts"),
        (-1, 600, "end after it starts"),
        (368 * 86_400 + 1, 600, "at most 368 days"),
        (60, 0, "from 1 to 2,000"),
        (60, 2001, "from 1 to 2,000"),
    ],
)
def test_an_impossible_range_is_refused_in_words(
    host: Host, seconds: int, points: int, words: str
) -> None:
    volume, _lv = placed(host)
    with pytest.raises(ValueError, match=words):
        series(volume, NOON, after(seconds), points)
