"""A new cache is filled as a step of its job, which does not depend on it."""

from __future__ import annotations

import pytest

from jobs.hosts.read_heat import read_heat
from jobs.models import Job, Kind, State, StepState
from storage.agent.heat.hot_map import CHUNK_SECTORS, HotMap
from storage.agent.operations.cache_filler import CacheFiller
from storage.agent.state import heat_files, hot_map_files
from storage.byte_sizes import GIB
from storage.models import Host, Volume
from storage.naming import new_key, pool_name
from storage.planner.wish import LvmCache, Wish
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import (
    done,
    enrolled,
    fake_host,
    fake_server,
    make_fake_host,
    new_volume,
)

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db

COLD = ["pool.create", "cache.attach"]
WARM = ["volume.count", *COLD, "cache.warm"]


@pytest.fixture
def volume(enrolled: Host, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> Volume:
    """One of which the agent has counted for an hour what is read most."""
    monkeypatch.setattr(heat_files, "SILENT_NS", 10**18)
    volume = new_volume(enrolled)
    done(Kind.CREATE_VOLUME, volume, Wish(GIB))
    enrolled.refresh_from_db()
    heat_files.save_state(fake_host, heat_files.RUNNING, "", dict.fromkeys(heat_files.FIGURES, 0))
    assert read_heat(enrolled)
    placement = volume.placed
    assert placement is not None and placement.lv_uuid is not None
    hot = HotMap()
    hot.add([(0, 1, chunk * CHUNK_SECTORS, 8, b"R") for chunk in range(0, 200, 2)])
    head = hot_map_files.MapHead(3600, hot.reads, fake_host.wall_ns())
    hot_map_files.store(fake_host, placement.lv_uuid, head, hot.to_bytes(), is_first=True)
    return volume


def add_cache(volume: Volume, *, dry_run: bool = False) -> Job:
    wish = Wish(GIB, cache=LvmCache(pool_name(new_key()), GIB))
    return done(Kind.ADD_CACHE, volume, wish, dry_run=dry_run)


def steps(job: Job) -> list[tuple[str, str]]:
    return list(job.step_set.values_list("verb", "state"))


def test_a_cache_is_made_and_filled_in_one_job(fake_host: FakeHost, volume: Volume) -> None:
    preview = add_cache(volume, dry_run=True)
    assert (preview.state, [verb for verb, _ in steps(preview)]) == (State.SUCCEEDED, WARM)
    job = add_cache(volume)
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert steps(job) == [(verb, StepState.DONE) for verb in WARM]
    (said,) = job.line_set.filter(text__contains="100 % of what is read most")
    assert said.text.startswith("All is there")
    cache = fake_host.root.lv(volume.placed.lv_name).cache  # type: ignore[union-attr]
    assert cache is not None and cache.used >= 100
    assert not fake_host.list(hot_map_files.MARKS)


def test_a_warm_start_that_fails_is_tried_once_and_fails_no_job(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: CacheFiller) -> str:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(CacheFiller, "run", broken)
    job = add_cache(volume)
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert steps(job) == [*((verb, StepState.DONE) for verb in WARM[:-1]), (WARM[-1], "failed")]


def test_a_volume_whose_customer_does_not_wish_it_is_not_counted(
    enrolled: Host, fake_host: FakeHost, volume: Volume
) -> None:
    Volume.objects.filter(pk=volume.pk).update(counts_heat=False)
    assert read_heat(enrolled)
    job = add_cache(volume)
    assert (job.state, [verb for verb, _ in steps(job)]) == (State.SUCCEEDED, COLD)
    assert "empty at first" in job.step_set.get(verb="cache.attach").title


def test_a_restart_of_the_host_only_costs_the_warm_start(
    fake_host: FakeHost, volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = hot_map_files.mark

    def forgotten(host: FakeHost, lv_uuid: str, cache: str) -> bool:
        begun(host, lv_uuid, cache)
        hot_map_files.unmark_all(host)
        return True

    monkeypatch.setattr(hot_map_files, "mark", forgotten)
    job = add_cache(volume)
    assert (job.state, job.error) == (State.SUCCEEDED, {})
