"""A job that has nothing to go back to, a new volume's or a new SSD's, and ends half-way: what it
leaves on the host is named, with what to do about it."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from django.test import Client
from django.urls import reverse

from jobs.engine import decisions
from jobs.models import Job, Kind, State
from jobs.queue.submit import ChangeRequest, cancel, submit, submit_for_host
from jobs.requester import Requester
from jobs.transport.errors import Unreachable
from storage.byte_sizes import GIB
from storage.models import Host, Volume
from storage.planner.ssd_wish import Preparation
from storage.planner.wish import Wish
from tests import make
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host, fake_server, make_fake_host
from tests.fake.parts import Disk
from tests.jobs.engine.test_end_to_end import done, enrolled, new_volume
from tests.jobs.engine.test_rollback import before_sending
from tests.jobs.engine.test_runner import run

__all__ = ["enrolled", "fake_host", "fake_server", "make_fake_host"]
pytestmark = pytest.mark.django_db
PLAIN = Wish(GIB)
TRIES = 3
UNUSED = "sde is a physical volume of no volume group."


@pytest.fixture
def volume(enrolled: Host) -> Volume:
    return new_volume(enrolled)


@pytest.fixture
def ssd(enrolled: Host, fake_host: FakeHost) -> Job:
    """A queued job that gives a new SSD to the volume group."""
    with fake_host.changing() as machine:
        machine.disks.append(Disk("sde", 4 * GIB, False, "LAB-SSD", "ssd2", minor=64))
        vg = machine.vgs[0]
    wanted = Preparation("sde", "ssd2", vg.uuid, vg.name)
    return submit_for_host(enrolled, wanted, Requester(None, None), dry_run=False)


def failing(host: FakeHost, program: str, times: int = TRIES) -> None:
    for _ in range(times):
        host.fail_next(program)


def page(job: Job) -> str:
    client = Client()
    client.force_login(make.staff_user())
    return client.get(reverse("job", args=[job.key])).content.decode()


def cancel_at(monkeypatch: pytest.MonkeyPatch, verb: str, job: Job) -> None:
    """A person asks for the end while that step is under way."""
    before_sending(monkeypatch, verb, lambda: cancel(Job.objects.get(pk=job.pk), None))


def test_a_volume_that_cannot_be_zeroed_is_brought_before_a_person(
    volume: Volume, fake_host: FakeHost
) -> None:
    failing(fake_host, "blkdiscard")
    job = done(Kind.CREATE_VOLUME, volume, PLAIN)
    left = f"vg0/v-{volume.key} (1 GiB) exists, not fully zeroed yet."
    assert (job.state, job.error["code"]) == (State.NEEDS_ATTENTION, "cmd_failed")
    assert job.error["residue"] == [left]
    assert "or mark it as resolved, and finish the volume" in job.error["correction"]
    shown = page(job)
    assert left.replace("1 G", "1\xa0G") in shown and reverse("job-resume", args=[job.key]) in shown
    decisions.resume(job, None)
    assert (run(job).state, job.error) == (State.SUCCEEDED, {})


def test_a_volume_that_was_never_made_just_failed(volume: Volume, fake_host: FakeHost) -> None:
    failing(fake_host, "lvcreate")
    job = done(Kind.CREATE_VOLUME, volume, PLAIN)
    assert (job.state, "residue" in job.error) == (State.FAILED, False)
    assert fake_host.machine.lvs() == []


def test_where_the_host_does_not_answer_any_more_a_person_looks(
    volume: Volume, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(host: Host) -> None:
        raise Unreachable(host.name, "no route")

    monkeypatch.setattr("jobs.engine.rollback.read_facts", silent)
    failing(fake_host, "lvcreate")
    job = done(Kind.CREATE_VOLUME, volume, PLAIN)
    assert job.state == State.NEEDS_ATTENTION
    assert "The host does not answer" in job.error["residue"][0]


def test_a_cancelled_creation_says_what_it_leaves_and_that_can_be_destroyed(
    volume: Volume, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_host.fail_next("blkdiscard")
    job = submit(ChangeRequest(Kind.CREATE_VOLUME, volume, PLAIN), Requester(None))
    cancel_at(monkeypatch, "volume.create", job)
    run(job)
    left = f"vg0/v-{volume.key} (1 GiB) exists, not fully zeroed yet."
    assert (job.state, job.explanation) == (
        State.CANCELLED,
        f"cancelled; left on the host: {left}",
    )
    assert (job.error["code"], job.error["residue"]) == ("left_over", [left])
    assert "finish the volume on its page, or retire it there, then destroy it" in page(job)
    policy = {"vgs": ["vg0"], "undo_hours": 0}
    fake_host.save("/etc/tiercel/agent.json", json.dumps(policy).encode())
    for kind, life in ((Kind.RETIRE_VOLUME, "retired"), (Kind.DESTROY_VOLUME, "gone")):
        wish = Wish(GIB, life=life)  # type: ignore[arg-type]
        ended = done(kind, volume, wish)
        assert (ended.state, ended.error) == (State.SUCCEEDED, {})
    assert fake_host.machine.lvs() == []


@pytest.mark.parametrize(
    ("layout", "program", "lacks"),
    [("plain", "blkdiscard", "not fully zeroed"), ("bcache", "make-bcache", "not formatted yet")],
)
def test_the_page_of_a_half_made_volume_says_so_and_finishes_it(
    enrolled: Host,
    fake_host: FakeHost,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    layout: Literal["plain", "bcache"],
    program: str,
    lacks: str,
) -> None:
    volume = new_volume(enrolled, layout)
    fake_host.fail_next(program)
    wish = Wish(GIB, layout=layout)
    job = submit(ChangeRequest(Kind.CREATE_VOLUME, volume, wish), Requester(None))
    verb = "bcache.format" if layout == "bcache" else "volume.create"
    cancel_at(monkeypatch, verb, job)
    run(job)
    assert job.state == State.CANCELLED
    client.force_login(make.staff_user())
    drift = reverse("volume-drift", args=[volume.key])
    shown = client.get(drift, headers={"HX-Request": "true"}).content.decode()
    assert "Not finished" in shown and lacks in shown and "Accept the current state" not in shown
    client.post(reverse("volume-repair", args=[volume.key]))
    preview = Job.objects.get(dry_run=True)
    assert run(preview).state == State.SUCCEEDED
    client.post(reverse("preview-apply", args=[preview.key]))
    finished = Job.objects.get(kind=Kind.REPAIR_VOLUME, dry_run=False)
    assert run(finished).state == State.SUCCEEDED
    volume.refresh_from_db()
    assert volume.current_wish == wish and volume.managed
    assert client.get(drift, headers={"HX-Request": "true"}).content.decode().strip() == ""


def test_a_creation_that_is_cancelled_before_it_made_anything_left_nothing(
    volume: Volume, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_host.fail_next("lvcreate")
    job = submit(ChangeRequest(Kind.CREATE_VOLUME, volume, PLAIN), Requester(None))
    cancel_at(monkeypatch, "volume.create", job)
    run(job)
    assert (job.state, job.error) == (State.CANCELLED, {})
    assert job.explanation == f"cancelled before: Create v-{volume.key} and zero it"


def test_a_bcache_ready_volume_is_left_between_its_steps(
    enrolled: Host, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = new_volume(enrolled, "bcache")
    wish = Wish(GIB, layout="bcache")
    fake_host.fail_next("make-bcache")
    job = submit(ChangeRequest(Kind.CREATE_VOLUME, volume, wish), Requester(None))
    cancel_at(monkeypatch, "bcache.format", job)
    run(job)
    (left,) = job.error["residue"]
    assert job.state == State.CANCELLED
    assert left.startswith(f"vg0/v-{volume.key} (") and left.endswith("not formatted yet.")


def test_an_ssd_that_the_group_does_not_take_is_brought_before_a_person(
    ssd: Job, fake_host: FakeHost
) -> None:
    failing(fake_host, "vgextend")
    run(ssd)
    assert (ssd.state, ssd.error["residue"]) == (State.NEEDS_ATTENTION, [UNUSED])
    assert ssd.error["correction"].endswith("and run pvremove /dev/sde on the host.")
    decisions.resume(ssd, None)
    assert run(ssd).state == State.SUCCEEDED


def test_an_ssd_without_a_mark_just_failed(ssd: Job, fake_host: FakeHost) -> None:
    failing(fake_host, "pvcreate")
    assert (run(ssd).state, "residue" in ssd.error) == (State.FAILED, False)


def test_a_cancelled_ssd_says_that_it_is_marked(
    ssd: Job, fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_host.fail_next("vgextend")
    cancel_at(monkeypatch, "ssd.prepare", ssd)
    run(ssd)
    assert (ssd.state, ssd.error["residue"]) == (State.CANCELLED, [UNUSED])
    assert ssd.explanation == f"cancelled; left on the host: {UNUSED}"
