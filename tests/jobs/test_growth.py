"""Jobs that extend and move volumes, against the fake host."""

from __future__ import annotations

import pytest

from jobs import runner
from jobs.decisions import resume
from jobs.models import Job, Kind, State
from jobs.queue import cancel, submit
from jobs.refresh import refresh
from storage.models import Host
from storage.plan import Refused
from storage.wish import GIB, LvmCache, Wish
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.host import FakeHost
from tests.jobs.test_end_to_end import commands, done, enrolled, new_volume

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
    submit(kind=Kind.MOVE_VOLUME, volume=one, wish=Wish(GIB, "ssd"), actor=None)
    cache = LvmCache(f"c-{two.key}", free - GIB)
    with pytest.raises(Refused) as caught:
        submit(kind=Kind.ADD_CACHE, volume=two, wish=Wish(GIB, cache=cache), actor=None)
    assert caught.value.code == "no_space" and "promised" in caught.value.message


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
    job = submit(kind=Kind.MOVE_VOLUME, volume=volume, wish=Wish(GIB, "ssd"), actor=None)
    runner.run(job.pk)
    lv = fake_host.root.lv(f"v-{volume.key}")
    assert lv.move is not None
    job.refresh_from_db()
    cancel(job, None)
    drive(job)
    assert job.state == State.CANCELLED
    assert lv.move is None
    assert {run.pv.device.name for run in lv.runs} == {"sdc"}


def test_a_guest_that_cannot_be_told_leaves_the_job_to_a_person(
    enrolled: Host, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = new_volume(enrolled)
    assert done(Kind.CREATE_VOLUME, volume, Wish(GIB)).state == State.SUCCEEDED
    guest = fake_host.root.guest("web12", f"/dev/vg0/v-{volume.key}")

    def refuse(path: str, commands: object) -> None:
        raise OSError("timed out")

    with monkeypatch.context() as broken:
        broken.setattr(fake_host, "qmp", refuse)
        job = done(Kind.EXTEND_VOLUME, volume, Wish(2 * GIB))
    assert (job.state, job.turned) == (State.NEEDS_ATTENTION, True)
    assert "timed out" in job.error["message"]
    resume(job, None)
    drive(job)
    assert job.state == State.SUCCEEDED
    assert guest.sizes == {f"/dev/vg0/v-{volume.key}": 2 * GIB}
