"""What the samples of an hour say of a host."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from storage.analysis.advice import Outlook, outlook
from storage.analysis.advice.outlook import loads
from storage.byte_sizes import GIB
from storage.inventory.facts import VolumeUser
from storage.inventory.stored import inventory_of
from storage.models import Host, Volume
from storage.volumes.snapshot import snapshots_of
from tests import make
from tests.storage.analysis.advice.load import NOW, known, sampled

pytestmark = pytest.mark.django_db
QUARTER, HOUR = timedelta(minutes=15), timedelta(hours=1)


def looked(host: Host) -> Outlook:
    return outlook(host, inventory_of(host), snapshots_of(Volume.objects.placed_on(host)), NOW)


def guest(name: str) -> tuple[VolumeUser, ...]:
    return (VolumeUser("qemu", name, "vda", 7),)


def test_windows_of_every_volume_come_with_one_query() -> None:
    _host, _facts, volumes = known(make.lv("a"), make.lv("b"))
    sampled(volumes["a"], 40, busy_ms=100)
    sampled(volumes["b"], 40, busy_ms=1)
    with CaptureQueriesContext(connection) as queries:
        found = loads(volumes.values(), (NOW - QUARTER, NOW - HOUR), NOW)
    assert len(queries) == 1
    short, long = found[volumes["a"].pk]
    assert (short.intervals, short.busy_ms, long.intervals, long.busy_ms) == (15, 1500, 40, 4000)
    assert found[volumes["b"].pk][1].busy_ms == 40


def test_a_volume_that_was_quiet_of_late_has_an_empty_short_window() -> None:
    _host, _facts, volumes = known(make.lv("a"))
    sampled(volumes["a"], 5, end=NOW - timedelta(minutes=30), busy_ms=100)
    short, long = loads(volumes.values(), (NOW - QUARTER, NOW - HOUR), NOW)[volumes["a"].pk]
    assert (short.intervals, long.intervals) == (0, 5)


def test_shares_are_of_the_reads_that_the_hdds_answered() -> None:
    host, _facts, volumes = known(
        make.lv("a", users=guest("web")),
        make.lv("b", users=guest("web")),
        make.lv("c", users=guest("db")),
        make.lv("on-ssd", pvs=("md0",)),
    )
    for name, busy_ms in (("a", 30_000), ("b", 15_000), ("c", 15_000), ("on-ssd", 60_000)):
        sampled(volumes[name], 10, busy_ms=busy_ms, reads=busy_ms // 1000)
    found = looked(host)
    assert [(use.row.volume.label, use.share) for use in found.recent] == [
        ("a", 0.5),
        ("b", 0.25),
        ("c", 0.25),
    ]
    assert found.recent[0].busy == 0.5
    assert [(each.guest, each.volume_count, each.share) for each in found.guests] == [
        ("web", 2, 0.75),
        ("db", 1, 0.25),
    ]


def test_a_thin_volume_counts_where_its_group_has_slow_disks() -> None:
    thin = make.lv("thin", layout=("thin", "sparse"), segments=(make.segment(type="thin"),))
    host, _facts, volumes = known(thin)
    sampled(volumes["thin"], 5, busy_ms=1)
    assert [use.row.volume.label for use in looked(host).uses] == ["thin"]


def test_existing_caches_show_their_hit_rate() -> None:
    host, _facts, volumes = known(make.lv("a", cache=make.dm_cache("theirs")))
    sampled(volumes["a"], 10, reads=100, read_hits=90, read_misses=10)
    (cache,) = looked(host).caches
    assert (cache.short.hit_rate, cache.short.accesses) == (0.9, 1000)
    assert looked(host).suggestions == ()


def test_the_first_to_cache_waited_longest_for_each_gib() -> None:
    host, _facts, volumes = known(
        make.lv("small", size_bytes=8 * GIB), make.lv("large", size_bytes=80 * GIB)
    )
    sampled(volumes["small"], 30, read_ms=4000, busy_ms=1)
    sampled(volumes["large"], 30, read_ms=8000, busy_ms=1)
    found = looked(host)
    assert found.is_enough
    small, large = found.suggestions
    assert (small.use.row.volume.label, small.size_bytes, large.size_bytes) == (
        "small",
        2 * GIB,
        16 * GIB,
    )
    assert small.waited_seconds == 120
    assert small.seconds_per_gib == 60
    assert small.waiting_reads == small.waited_seconds / small.covered_seconds > 0
    assert small.arithmetic == ("120 s waited for reads in 30 min / 2 GiB = 60.0 s per GiB")
    assert large.seconds_per_gib == 15


def test_waiting_for_writes_is_no_reason_for_a_cache() -> None:
    host, _facts, volumes = known(make.lv("a"))
    sampled(volumes["a"], 30, write_ms=50_000, busy_ms=1)
    assert looked(host).suggestions == ()


@pytest.mark.parametrize(("minutes", "is_enough"), [(4, False), (14, False), (15, True)])
def test_too_few_figures_are_owned_up_to(minutes: int, is_enough: bool) -> None:
    host, _facts, volumes = known(make.lv("a"))
    sampled(volumes["a"], minutes, read_ms=100)
    found = looked(host)
    assert (found.minutes, found.is_enough) == (minutes, is_enough)


def test_a_host_without_figures_has_nothing_to_say() -> None:
    host, _facts, _volumes = known(make.lv("a"))
    found = looked(host)
    assert (found.seconds, found.recent, found.suggestions, found.risks) == (0.0, (), (), ())


def test_a_group_without_ssd_is_told_with_the_reason() -> None:
    host, _facts, volumes = known(make.lv("a"), pvs=(make.pv(),))
    sampled(volumes["a"], 20, read_ms=1000)
    (suggestion,) = looked(host).suggestions
    assert suggestion.commands is None
    assert suggestion.obstacle is not None
    assert suggestion.obstacle.code == "no_fast_disk"


def test_what_lvmcache_cannot_serve_comes_last() -> None:
    thin = make.lv("thin", layout=("thin", "sparse"), segments=(make.segment(type="thin"),))
    host, _facts, volumes = known(thin, make.lv("plain"))
    sampled(volumes["thin"], 20, read_ms=9000)
    sampled(volumes["plain"], 20, read_ms=10)
    plain, last = looked(host).suggestions
    assert plain.obstacle is None
    assert last.obstacle is not None
    assert last.obstacle.code == "unsupported"
