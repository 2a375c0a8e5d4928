"""A wrong clock of a host neither shortens an undo window nor retires a volume."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.hosts.refresh import refresh
from jobs.models import Kind, State
from storage.database_clock import database_now
from storage.models import Host, Placement, Volume
from storage.volumes.lifecycle import life_refusal
from storage.volumes.snapshot import snapshots_of
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import done, enrolled, new_volume
from tests.jobs.engine.test_lifecycle import as_life, live, lv_names, succeed

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db
DAY_SECONDS = 24 * 3600


@pytest.fixture
def volume(enrolled: Host) -> Volume:
    made = new_volume(enrolled, "plain")
    succeed(Kind.CREATE_VOLUME, made, live("plain"))
    return made


@pytest.mark.parametrize("seconds", [-DAY_SECONDS, 60])
def test_a_volume_is_not_retired_while_the_clock_of_its_host_is_wrong(
    volume: Volume, fake_host: FakeHost, seconds: int
) -> None:
    fake_host.clock.step(seconds)
    job = done(Kind.RETIRE_VOLUME, volume, as_life(live("plain"), "retired"))
    assert (job.state, job.error["code"]) == (State.FAILED, "clock_off")
    assert lv_names(fake_host) == [f"v-{volume.key}"]
    refresh(Host.objects.get())
    refused = life_refusal(snapshots_of([volume])[0], "retired", database_now())
    assert refused is not None and refused.code == "clock_off"


def test_a_clock_that_runs_ahead_does_not_destroy_before_the_panels_own_time(
    volume: Volume, fake_host: FakeHost
) -> None:
    succeed(Kind.RETIRE_VOLUME, volume, as_life(live("plain"), "retired"))
    seen = Placement.objects.get().retired_seen_at
    assert seen is not None and abs(database_now() - seen) < timedelta(minutes=5)
    # Both clocks of the host say that the window is over.
    fake_host.advance(2 * DAY_SECONDS)
    job = done(Kind.DESTROY_VOLUME, volume, as_life(live("plain"), "gone"))
    assert (job.state, job.error["code"]) == (State.FAILED, "too_early")
    refused = life_refusal(snapshots_of([volume])[0], "gone", database_now())
    assert refused is not None and refused.code == "too_early"
    Placement.objects.update(retired_seen_at=seen - timedelta(days=1))
    succeed(Kind.DESTROY_VOLUME, volume, as_life(live("plain"), "gone"))
    assert lv_names(fake_host) == []


def test_the_panels_time_begins_anew_after_a_restore(volume: Volume) -> None:
    succeed(Kind.RETIRE_VOLUME, volume, as_life(live("plain"), "retired"))
    succeed(Kind.RESTORE_VOLUME, volume, live("plain"))
    assert Placement.objects.get().retired_seen_at is None
