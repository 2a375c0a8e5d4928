"""Whole jobs where the host is not as recorded: a repair, and a cache whose SSD is gone."""

from __future__ import annotations

import dataclasses

import pytest

from jobs.hosts.refresh import refresh
from jobs.models import Kind, State
from storage.agent.guests import hiding
from storage.agent.operations.boot import boot
from storage.byte_sizes import GIB
from storage.health.drift import drift_of
from storage.models import Host, Volume
from storage.naming import cache_device_name, pool_name
from storage.planner.wish import Bcache, LvmCache, Wish
from storage.volumes.snapshot import snapshots_of
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import CSET, commands, done, enrolled, new_volume

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db


def made(host: Host) -> tuple[Volume, Wish]:
    """A volume with a writethrough cache, and its wish."""
    volume = new_volume(host)
    wish = Wish(GIB, cache=LvmCache(pool_name(volume.key), GIB))
    assert done(Kind.CREATE_VOLUME, volume, wish).state == State.SUCCEEDED
    return volume, wish


def lv_name(volume: Volume) -> str:
    assert volume.placed is not None
    return volume.placed.lv_name


def test_a_mode_changed_by_hand_is_drift_until_a_job_repairs_it(
    enrolled: Host, fake_host: FakeHost
) -> None:
    volume, wish = made(enrolled)
    assert drift_of(snapshots_of([volume])[0]) is None
    with fake_host.changing():
        cache = fake_host.root.lv(lv_name(volume)).cache
        assert cache is not None
        cache.mode = "writeback"
    job = done(Kind.REPAIR_VOLUME, volume, wish)
    assert job.state == State.SUCCEEDED, job.error
    assert [line for line in commands(job) if "--cachemode writethrough" in line]
    assert drift_of(snapshots_of([volume])[0]) is None


def test_settings_forgotten_at_a_restart_are_drift_until_the_boot_unit_ran(
    enrolled: Host, fake_host: FakeHost
) -> None:
    volume = new_volume(enrolled, "bcache")
    cache = Bcache(cache_device_name(volume.key), CSET, GIB, "writethrough")
    wish = Wish(GIB, layout="bcache", cache=cache)
    assert done(Kind.CREATE_VOLUME, volume, wish).state == State.SUCCEEDED
    assert drift_of(snapshots_of([volume])[0]) is None
    with fake_host.changing() as machine:
        # Where the distribution's rule registers the volume, and no rule sets it.
        machine.files.pop(hiding.PATH)
    fake_host.root.reboot()
    assert refresh(enrolled)
    drift = drift_of(snapshots_of([volume])[0])
    assert drift is not None
    assert [each.what for each in drift.differences] == ["Sequential cutoff"]
    assert boot(fake_host)[1] == []
    assert refresh(enrolled)
    assert drift_of(snapshots_of([volume])[0]) is None


def test_a_lost_clean_cache_is_given_up_by_a_job(enrolled: Host, fake_host: FakeHost) -> None:
    volume, wish = made(enrolled)
    fake_host.root.lose_pv("md0")
    job = done(Kind.DROP_CACHE, volume, dataclasses.replace(wish, cache=None))
    assert job.state == State.SUCCEEDED, job.error
    assert commands(job) == [f"lvconvert -y --uncache vg0/{lv_name(volume)}"]
    assert fake_host.root.lv(lv_name(volume)).cache is None
    assert volume.current_wish is not None and volume.current_wish.cache is None


@pytest.mark.parametrize("kind", [Kind.REPAIR_VOLUME, Kind.REMOVE_CACHE])
def test_a_job_that_was_asked_for_before_the_ssd_was_lost_gives_up_no_cache(
    enrolled: Host, fake_host: FakeHost, kind: Kind
) -> None:
    volume, wish = made(enrolled)
    fake_host.root.lose_pv("md0")
    job = done(kind, volume, dataclasses.replace(wish, cache=None))
    assert (job.state, job.error["code"], commands(job)) == (State.FAILED, "degraded", [])
    assert fake_host.root.lv(lv_name(volume)).cache is not None


def test_a_lost_writeback_cache_is_left_to_a_person(enrolled: Host, fake_host: FakeHost) -> None:
    volume, wish = made(enrolled)
    with fake_host.changing():
        cache = fake_host.root.lv(lv_name(volume)).cache
        assert cache is not None
        cache.mode = "writeback"
    fake_host.root.lose_pv("md0")
    job = done(Kind.DROP_CACHE, volume, dataclasses.replace(wish, cache=None))
    assert (job.state, job.error["code"]) == (State.FAILED, "dirty")
    assert commands(job) == []
    assert fake_host.root.lv(lv_name(volume)).cache is not None
