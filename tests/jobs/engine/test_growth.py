"""Jobs that extend and move volumes, against the fake host."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils.timezone import now

from jobs.engine import runner
from jobs.engine.decisions import resume
from jobs.hosts.refresh import refresh
from jobs.models import Job, Kind, State, StepState
from jobs.queue.submit import ChangeRequest, cancel, submit
from jobs.requester import Requester
from storage.byte_sizes import GIB
from storage.models import Host
from storage.planner import Refused
from storage.planner.wish import LvmCache, Wish
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.fake.parts import Process
from tests.integration.until import until
from tests.jobs.engine.test_end_to_end import commands, done, enrolled, new_volume
from tests.jobs.engine.test_patience import pass_time

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db


def drive(job: Job) -> None:
    """Let workers take a job until it has ended."""
    for _ in range(20):
        Job.objects.filter(pk=job.pk).update(not_before=None)
        runner.run(job.pk)
        job.refresh_from_db()
        if job.is_over:
            break


def test_a_volume_grows_under_its_guest_with_the_commands_of_its_preview(
    enrolled: Host, fake_host: FakeHost
) -> None:
    volume = new_volume(enrolled)
    assert done(Kind.CREATE_VOLUME, volume, Wish(GIB)).state == State.SUCCEEDED
    name = f"v-{volume.key}"
    guest = fake_host.root.guest("web12", f"/dev/vg0/{name}")
    larger = Wish(2 * GIB)
    preview = done(Kind.EXTEND_VOLUME, volume, larger, dry_run=True)
    assert preview.state == State.SUCCEEDED, preview.error
    job = done(Kind.EXTEND_VOLUME, volume, larger)
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert commands(job) == commands(preview)
    assert volume.size_bytes == 2 * GIB and volume.current_wish == larger
    assert guest.sizes == {f"/dev/vg0/{name}": 2 * GIB}
    assert fake_host.root.reads_as_zeros(fake_host.root.lv(name))
    assert [lv.name for lv in fake_host.machine.lvs()] == [name]


def test_a_volume_goes_to_ssd_without_its_cache_and_back(
    enrolled: Host, fake_host: FakeHost
) -> None:
    volume = new_volume(enrolled)
    cached = Wish(GIB, cache=LvmCache(f"c-{volume.key}", GIB))
    assert done(Kind.ADD_CACHE, volume, cached).state == State.SUCCEEDED
    for wish, disk in ((Wish(GIB, "ssd"), "md0"), (Wish(GIB), "sdc")):
        job = done(Kind.MOVE_VOLUME, volume, wish)
        assert (job.state, job.error) == (State.SUCCEEDED, {})
        lv = fake_host.root.lv(f"v-{volume.key}")
        assert {run.pv.device.name for run in lv.runs} == {disk}
        assert volume.current_wish == wish
    assert [lv.name for lv in fake_host.machine.lvs()] == [f"v-{volume.key}"]


def test_room_on_ssd_is_promised_to_a_volume_that_goes_there(enrolled: Host) -> None:
    one, two = new_volume(enrolled), new_volume(enrolled)
    for volume in (one, two):
        assert done(Kind.CREATE_VOLUME, volume, Wish(GIB)).state == State.SUCCEEDED
    assert refresh(enrolled)
    enrolled.refresh_from_db()
    assert enrolled.inventory is not None
    free = sum(pv.free_bytes for pv in enrolled.inventory.pvs if pv.tier == "fast")
    submit(ChangeRequest(Kind.MOVE_VOLUME, one, Wish(GIB, "ssd")), Requester(None))
    cache = LvmCache(f"c-{two.key}", free - GIB)
    with pytest.raises(Refused) as caught:
        submit(ChangeRequest(Kind.ADD_CACHE, two, Wish(GIB, cache=cache)), Requester(None))
    assert caught.value.code == "no_space" and "reserved" in caught.value.message


def test_an_extension_that_fails_leaves_nothing_behind(enrolled: Host, fake_host: FakeHost) -> None:
    volume = new_volume(enrolled)
    assert done(Kind.CREATE_VOLUME, volume, Wish(GIB)).state == State.SUCCEEDED
    for _ in range(5):
        fake_host.fail_next("blkdiscard")
    job = done(Kind.EXTEND_VOLUME, volume, Wish(2 * GIB))
    assert job.state == State.FAILED and job.error["code"] == "cmd_failed"
    assert [lv.name for lv in fake_host.machine.lvs()] == [f"v-{volume.key}"]
    assert fake_host.root.lv(f"v-{volume.key}").size_bytes == GIB


def test_a_cancelled_move_goes_back(
    enrolled: Host, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker leaves the move soon.
    monkeypatch.setattr(runner, "HOLD_SECONDS", 0.1)
    volume = new_volume(enrolled)
    assert done(Kind.CREATE_VOLUME, volume, Wish(GIB)).state == State.SUCCEEDED
    fake_host.machine.move_bytes_per_second = 1
    job = submit(ChangeRequest(Kind.MOVE_VOLUME, volume, Wish(GIB, "ssd")), Requester(None))
    runner.run(job.pk)
    lv = fake_host.root.lv(f"v-{volume.key}")
    # The agent looks what the others feel without it before it begins.
    until("the move begins", lambda: lv.move is not None)
    job.refresh_from_db()
    cancel(job, None)
    drive(job)
    assert job.state == State.CANCELLED
    assert lv.move is None
    assert {run.pv.device.name for run in lv.runs} == {"sdc"}


def test_a_guest_that_cannot_be_notified_leaves_the_job_to_a_person(
    enrolled: Host, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = new_volume(enrolled)
    assert done(Kind.CREATE_VOLUME, volume, Wish(GIB)).state == State.SUCCEEDED
    guest = fake_host.root.guest("web12", f"/dev/vg0/v-{volume.key}")

    def refuse(path: str, commands: object) -> None:
        raise OSError("Cannot find device")

    with monkeypatch.context() as broken:
        broken.setattr(fake_host, "qmp", refuse)
        job = done(Kind.EXTEND_VOLUME, volume, Wish(2 * GIB))
    assert (job.state, job.is_irrevocable) == (State.NEEDS_ATTENTION, True)
    assert "Cannot find device" in job.error["message"]
    resume(job, None)
    drive(job)
    assert job.state == State.SUCCEEDED
    assert guest.sizes == {f"/dev/vg0/v-{volume.key}": 2 * GIB}


def backed_up(enrolled: Host, fake_host: FakeHost) -> tuple[Job, Process]:
    """An extension that has come as far as its guest, of which a backup is being made."""
    volume = new_volume(enrolled)
    assert done(Kind.CREATE_VOLUME, volume, Wish(GIB)).state == State.SUCCEEDED
    guest = fake_host.root.guest("web12", f"/dev/vg0/v-{volume.key}")
    with fake_host.changing():
        guest.job = "backup"
    return done(Kind.EXTEND_VOLUME, volume, Wish(2 * GIB)), guest


def again(job: Job) -> Job:
    """A worker takes the job when its rest is over."""
    Job.objects.filter(pk=job.pk).update(not_before=None)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def test_a_backup_of_the_guest_is_waited_for_by_name_for_hours(
    enrolled: Host, fake_host: FakeHost
) -> None:
    job, guest = backed_up(enrolled, fake_host)
    for _ in range(5):
        assert (job.state, job.explanation) == (State.WAITING, "The guest is busy: backup running.")
        assert job.not_before is not None and job.not_before - now() > timedelta(seconds=50)
        pass_time(job, 2 * 3600)
        again(job)
    assert list(guest.sizes.values()) == [GIB]
    with fake_host.changing():
        guest.job = ""
    drive(job)
    assert job.state == State.SUCCEEDED
    assert list(guest.sizes.values()) == [2 * GIB]


def test_a_backup_that_never_ends_brings_the_job_before_a_person(
    enrolled: Host, fake_host: FakeHost
) -> None:
    job, guest = backed_up(enrolled, fake_host)
    pass_time(job, 13 * 3600)
    again(job)
    assert (job.state, job.error["code"]) == (State.NEEDS_ATTENTION, "guest_busy")
    with fake_host.changing():
        guest.job = ""
    resume(job, None)
    drive(job)
    assert job.state == State.SUCCEEDED


def test_a_job_that_waits_for_a_backup_can_be_cancelled_and_the_guest_notified_later(
    enrolled: Host, fake_host: FakeHost
) -> None:
    job, guest = backed_up(enrolled, fake_host)
    cancel(job, None)
    drive(job)
    assert job.state == State.CANCELLED
    volume = job.its_volume
    with fake_host.changing():
        guest.job = ""
    assert done(Kind.EXTEND_VOLUME, volume, Wish(2 * GIB)).state == State.SUCCEEDED
    assert list(guest.sizes.values()) == [2 * GIB]


def test_while_a_guest_is_notified_other_jobs_have_the_group(
    enrolled: Host, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libvirt hangs: the worker leaves, the volume waits, and no other one does."""
    monkeypatch.setattr(runner, "HOLD_SECONDS", 0.1)
    volume = new_volume(enrolled)
    assert done(Kind.CREATE_VOLUME, volume, Wish(GIB)).state == State.SUCCEEDED
    neighbour = new_volume(enrolled)
    assert done(Kind.CREATE_VOLUME, neighbour, Wish(GIB)).state == State.SUCCEEDED
    path = f"/dev/vg0/v-{volume.key}"
    fake_host.root.domain("42", path, "00000000-0000-4000-8000-000000000042")
    hanging = fake_host.pause_next("virsh")
    job = submit(ChangeRequest(Kind.EXTEND_VOLUME, volume, Wish(2 * GIB)), Requester(None))
    for _ in range(50):
        if hanging.reached.wait(0.05):
            break
        again(job)
    assert job.step_set.get(verb="guest.resize").state == StepState.RUNNING
    # Its steps take turns in the group, as zeroing does not.
    cached = Wish(GIB, cache=LvmCache(f"c-{neighbour.key}", GIB))
    other = submit(ChangeRequest(Kind.ADD_CACHE, neighbour, cached), Requester(None))
    drive(other)
    assert (other.state, other.error) == (State.SUCCEEDED, {})
    resize = job.step_set.get(verb="guest.resize")
    assert (resize.state, resize.holds_vg) == (StepState.RUNNING, False), "libvirt hangs still"
    hanging.resume()
    drive(job)
    assert job.state == State.SUCCEEDED
    assert fake_host.machine.processes[0].sizes == {path: 2 * GIB}


def test_an_image_with_a_size_of_its_own_refuses_the_extension_before_anything_is_done(
    enrolled: Host, fake_host: FakeHost
) -> None:
    volume = new_volume(enrolled)
    assert done(Kind.CREATE_VOLUME, volume, Wish(GIB)).state == State.SUCCEEDED
    fake_host.root.guest("web12", f"/dev/vg0/v-{volume.key}", image="qcow2")
    job = done(Kind.EXTEND_VOLUME, volume, Wish(2 * GIB))
    assert (job.state, job.error["code"]) == (State.FAILED, "unsupported")
    assert "web12" in job.error["message"] and "qcow2" in job.error["message"]
    assert fake_host.root.lv(f"v-{volume.key}").size_bytes == GIB
