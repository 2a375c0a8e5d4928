"""Volumes that are watched closely have rounds of their own between those of their host."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs import collector, notify_workers
from jobs.hosts import refresh
from storage.byte_sizes import GIB
from storage.database_clock import database_now
from storage.metrics import close_watch
from storage.models import Host, HostActivity, HostLoad, LatestSample, Sample, Volume
from storage.planner import Refused
from tests import make
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.fake.server import FakeServer
from tests.jobs.test_collector import fake_record
from tests.scene import scene

__all__ = ["fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def unannounced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_workers, "host", lambda pk: None)


@pytest.fixture
def volumes(fake_server: FakeServer, fake_host: FakeHost) -> tuple[Volume, Volume]:
    """Two volumes under load, of which the first is watched, after a whole round."""
    for name in ("web12", "db1"):
        fake_host.root.add_lv(name, GIB)
        fake_host.root.load(name)
    host = fake_record(fake_server)
    assert refresh.refresh(host)
    watched, other = (Volume.objects.get(label=name) for name in ("web12", "db1"))
    assert collector.collect(0).sampled == 1
    close_watch.begin_close_watch(watched, database_now() + HOUR, database_now())
    return watched, other


def intervals(of: Volume) -> list[int | None]:
    return list(Sample.objects.filter(volume=of).order_by("ts").values_list("dt_ms", flat=True))


def test_a_watched_volume_has_intervals_of_ten_seconds_and_others_as_before(
    volumes: tuple[Volume, Volume], fake_host: FakeHost
) -> None:
    watched, other = volumes
    for _ in range(3):
        fake_host.advance(10)
        assert collector.collect_watched(0) == collector.CollectionRound(sampled=1)
    fake_host.advance(5)
    assert collector.collect(0).sampled == 1
    assert intervals(watched) == pytest.approx([10_000, 10_000, 10_000, 5000], abs=50)
    assert intervals(other) == pytest.approx([35_000], abs=50)
    reads = Sample.objects.filter(volume=watched).values_list("reads", flat=True)
    latest = LatestSample.objects.get(volume=other)
    assert sum(each or 0 for each in reads) == pytest.approx(latest.reads, rel=0.01)


def test_rounds_of_a_few_volumes_are_no_time_of_the_host(
    volumes: tuple[Volume, Volume], fake_host: FakeHost
) -> None:
    """Its load is that of all volumes over the whole rounds."""
    for _ in range(6):
        fake_host.advance(10)
        collector.collect_watched(0)
    assert not HostActivity.objects.filter(read_iops__isnull=False).exists()
    collector.collect(0)
    total = list(HostLoad.objects.all())
    assert sum(each.dt_ms for each in total) == pytest.approx(60_000, abs=500)
    samples = Sample.objects.all()
    assert sum(each.reads for each in total) == sum(each.reads or 0 for each in samples)


def test_a_watch_ends_by_itself_and_by_hand(
    volumes: tuple[Volume, Volume], fake_host: FakeHost
) -> None:
    watched, _ = volumes
    Volume.objects.update(watched_until=database_now())
    assert collector.collect_watched(0) == collector.CollectionRound()
    close_watch.begin_close_watch(watched, database_now() + HOUR, database_now())
    assert close_watch.watched(database_now())
    close_watch.end_close_watch(watched)
    assert close_watch.watched(database_now()) == {}


def test_an_agent_too_old_for_it_costs_its_host_nothing(
    volumes: tuple[Volume, Volume],
    fake_host: FakeHost,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collector, "WATCH", "sample.unheard_of")
    assert collector.collect_watched(0) == collector.CollectionRound(failed=1)
    assert Host.objects.get().error == {}


def test_a_whole_round_that_waits_for_its_turn_holds_up_no_watch(
    volumes: tuple[Volume, Volume], fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "_busy", {Host.objects.get().pk})
    fake_host.advance(10)
    assert collector.collect_watched(0).sampled == 1
    monkeypatch.setattr(collector, "_busy_watched", {Host.objects.get().pk})
    assert collector.collect_watched(0) == collector.CollectionRound(skipped=1)


def test_a_host_has_a_bounded_number_of_them() -> None:
    host, now = make.host(), database_now()
    placed = [make.volume() for _ in range(close_watch.WATCHED_LIMIT + 1)]
    for volume in placed:
        make.placement(volume, host)
    *first, last = placed
    for volume in first:
        close_watch.begin_close_watch(volume, now + HOUR, now)
    close_watch.begin_close_watch(first[0], now + 2 * HOUR, now)
    with pytest.raises(Refused, match="16 volumes"):
        close_watch.begin_close_watch(last, now + HOUR, now)
    close_watch.end_close_watch(first[0])
    close_watch.begin_close_watch(last, now + HOUR, now)


def test_what_is_not_active_cannot_be_watched() -> None:
    there, now = scene(make.lv()), database_now()
    Volume.objects.update(retired_at=now)
    with pytest.raises(Refused, match="not active"):
        close_watch.begin_close_watch(there.volume, now + HOUR, now)
    with pytest.raises(Refused, match="not active"):
        close_watch.begin_close_watch(make.volume(), now + HOUR, now)
