"""A plan that relies on what loses data on the host is refused, until a person accepts it."""

from __future__ import annotations

import pytest

from jobs.models import Job, Kind, State
from storage.byte_sizes import GIB
from storage.database_clock import database_now
from storage.health import accepted_faults
from storage.models import Host, Volume
from storage.naming import cache_device_name, new_key
from storage.planner.wish import Bcache, Wish
from tests.fake.host import FakeHost
from tests.jobs.engine.test_end_to_end import (
    CSET,
    done,
    enrolled,
    fake_host,
    fake_server,
    make_fake_host,
    new_volume,
)

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db
BARE = Wish(GIB, layout="bcache")
CODE = "bcache_bvec_5_15"


def boots(host: FakeHost, kernel: str) -> None:
    with host.changing() as machine:
        machine.kernel, machine.kernel_version = kernel, "#1 SMP"


def with_cache() -> Wish:
    return Wish(GIB, layout="bcache", cache=Bcache(cache_device_name(new_key()), CSET, GIB))


def ask(volume: Volume, wish: Wish, *, dry_run: bool = False) -> Job:
    return done(Kind.ADD_CACHE, volume, wish, dry_run=dry_run)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_cache_on_a_kernel_that_loses_its_data_is_refused_and_nothing_ran(
    enrolled: Host, fake_host: FakeHost, dry_run: bool
) -> None:
    boots(fake_host, "5.14.21")
    volume = new_volume(enrolled, "bcache")
    assert done(Kind.CREATE_VOLUME, volume, BARE).state == State.SUCCEEDED
    boots(fake_host, "5.15.2")
    ran = len(fake_host.executed)
    job = ask(volume, with_cache(), dry_run=dry_run)
    assert (job.state, job.error["code"]) == (State.FAILED, "kernel_fault")
    assert "NixOS/nixpkgs/issues/146384" in job.error["message"]
    assert CODE in job.error["correction"] and "5.15.3" in job.error["correction"]
    assert len(fake_host.executed) == ran


def test_what_a_person_accepted_runs_and_what_he_took_back_does_not(
    enrolled: Host, fake_host: FakeHost
) -> None:
    boots(fake_host, "5.15.2")
    volume = new_volume(enrolled, "bcache")
    accepted_faults.accept_fault(enrolled, CODE, "a@example.org", "a test machine", database_now())
    assert done(Kind.CREATE_VOLUME, volume, BARE).state == State.SUCCEEDED
    accepted_faults.revoke_acceptance(enrolled, CODE)
    assert ask(volume, with_cache()).error["code"] == "kernel_fault"
    accepted_faults.accept_fault(enrolled, CODE, "a@example.org", "a test machine", database_now())
    assert ask(volume, with_cache()).state == State.SUCCEEDED


def test_a_cache_is_taken_off_whatever_the_kernel(enrolled: Host, fake_host: FakeHost) -> None:
    volume = new_volume(enrolled, "bcache")
    assert done(Kind.CREATE_VOLUME, volume, BARE).state == State.SUCCEEDED
    assert ask(volume, with_cache()).state == State.SUCCEEDED
    boots(fake_host, "5.15.2")
    assert done(Kind.REMOVE_CACHE, volume, BARE).state == State.SUCCEEDED


def test_a_kernel_that_comes_half_way_stops_no_job(enrolled: Host, fake_host: FakeHost) -> None:
    volume = new_volume(enrolled, "bcache")
    assert done(Kind.CREATE_VOLUME, volume, BARE).state == State.SUCCEEDED
    run = fake_host.run

    def reboots(argv: tuple[str, ...], *args: object, **more: object) -> object:
        if "make-bcache" in argv:
            boots(fake_host, "5.15.2")
        return run(argv, *args, **more)  # type: ignore[arg-type]

    fake_host.run = reboots  # type: ignore[assignment,method-assign]
    job = ask(volume, with_cache())
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert fake_host.machine.kernel == "5.15.2"
