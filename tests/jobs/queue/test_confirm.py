"""What a person confirmed is what may run: a job is refused once its steps have changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from jobs.models import Job, Kind, State, StepState
from jobs.queue.submit import ChangeRequest, confirm, submit
from jobs.requester import Requester
from storage.byte_sizes import GIB
from storage.models import Volume
from storage.planner.wish import Wish
from tests import make
from tests.jobs.caching import agent as agent
from tests.jobs.cachingagent import BARE, CACHED, FAILED, CachingAgent, managed
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Refuse, Sshd

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


@pytest.fixture
def volume(sshd: Make, agent: CachingAgent) -> Volume:
    return managed(agent, sshd(agent).host())


@pytest.fixture
def preview(volume: Volume) -> Job:
    asked = submit(ChangeRequest(Kind.ADD_CACHE, volume, CACHED, dry_run=True), Requester(None))
    return run(asked)


def confirmed(preview: Job) -> Job:
    return confirm(preview, Requester(None, None))


def test_a_preview_keeps_the_fingerprint_of_its_steps(preview: Job) -> None:
    assert preview.state == State.SUCCEEDED
    assert len(preview.fingerprint) == 64


def test_what_was_shown_runs(preview: Job, agent: CachingAgent) -> None:
    job = run(confirmed(preview))
    assert (job.state, agent.ran) == (State.SUCCEEDED, ["pool.create", "cache.attach"])


def test_a_job_whose_steps_have_changed_since_is_refused(preview: Job, agent: CachingAgent) -> None:
    agent.lv = dataclasses.replace(agent.lv, size_bytes=agent.lv.size_bytes * 2)
    job = run(confirmed(preview))
    assert (job.state, job.error["code"], agent.ran) == (State.FAILED, "stale", [])
    assert "different from the preview you confirmed" in job.error["message"]
    assert "new preview" in job.error["correction"]


def test_a_nightly_snapshot_elsewhere_in_the_group_does_not_disturb(
    preview: Job, agent: CachingAgent
) -> None:
    agent.more = (make.lv("mail"), make.lv("mail-snap", layout=("linear", "snapshot")))
    job = run(confirmed(preview))
    assert (job.state, agent.ran) == (State.SUCCEEDED, ["pool.create", "cache.attach"])


def ssds(agent: CachingAgent, md0_gib: int, md1_gib: int) -> None:
    """The agent's group has two SSDs with so much room."""
    sizes = {"md0": md0_gib, "md1": md1_gib}
    fast = (make.fast_pv(name, free_bytes=gib * GIB) for name, gib in sizes.items())
    agent.pvs = (make.pv(), *fast)


def pvs_of(job: Job) -> list[list[str]]:
    return [step.args["pvs"] for step in job.step_set.all() if "pvs" in step.args]


@pytest.fixture
def chosen(agent: CachingAgent, volume: Volume) -> Job:
    """A preview that makes a pool on md0, the emptier one of two SSDs."""
    ssds(agent, 40, 39)
    asked = submit(ChangeRequest(Kind.ADD_CACHE, volume, CACHED, dry_run=True), Requester(None))
    preview = run(asked)
    assert preview.disks == {"pool.create": ["md0"]}
    return preview


def test_another_volume_that_takes_space_on_one_of_two_disks_does_not_disturb(
    chosen: Job, agent: CachingAgent
) -> None:
    ssds(agent, 38, 39)
    job = run(confirmed(chosen))
    assert (job.state, job.error, pvs_of(job)) == (State.SUCCEEDED, {}, [["md0"]])


def test_a_job_whose_disk_is_full_by_now_is_refused(chosen: Job, agent: CachingAgent) -> None:
    ssds(agent, 1, 39)
    job = run(confirmed(chosen))
    assert (job.state, job.error["code"], agent.ran) == (State.FAILED, "stale", [])


def test_a_pool_that_has_to_be_made_again_is_made_where_it_was_seen(
    chosen: Job, agent: CachingAgent
) -> None:
    ssds(agent, 38, 39)
    agent.failing["pool.create"] = [FAILED]
    job = run(confirmed(chosen))
    assert (job.state, pvs_of(job)) == (State.SUCCEEDED, [["md0"], ["md0"]])


def test_the_way_back_is_on_the_emptiest_disk(volume: Volume, agent: CachingAgent) -> None:
    """It was in no preview."""
    ssds(agent, 38, 39)
    fields = {
        "disks": {"pool.create": ["md0"]},
        "fallback": CACHED.to_json(),
        "is_rolling_back": True,
    }
    job = submit(ChangeRequest(Kind.REMOVE_CACHE, volume, BARE), Requester(None))
    Job.objects.filter(pk=job.pk).update(**fields)
    assert pvs_of(run(job)) == [["md1"]]


def test_a_job_without_a_preview_takes_the_emptiest_disk(
    chosen: Job, volume: Volume, agent: CachingAgent
) -> None:
    ssds(agent, 38, 39)
    job = run(submit(ChangeRequest(Kind.ADD_CACHE, volume, CACHED), Requester(None)))
    assert (job.disks, job.state, pvs_of(job)) == ({}, State.SUCCEEDED, [["md1"]])


def test_only_the_first_plan_is_compared(preview: Job, agent: CachingAgent) -> None:
    failed = {"code": "timeout", "message": "slow", "correction": ""}
    agent.failing["cache.attach"] = [failed]
    assert run(confirmed(preview)).state == State.SUCCEEDED


def test_a_job_without_a_preview_is_not_compared(volume: Volume, agent: CachingAgent) -> None:
    job = submit(ChangeRequest(Kind.ADD_CACHE, volume, CACHED), Requester(None))
    assert (job.fingerprint, run(job).state) == ("", State.SUCCEEDED)


def test_a_step_that_was_put_back_leaves_the_confirmation_in_force(
    preview: Job, agent: CachingAgent
) -> None:
    def busy(request: dict[str, Any]) -> object:
        raise Refuse("busy", "vgcfgbackup holds vg0")

    agent.before["pool.create"] = busy
    job = run(confirmed(preview))
    assert (job.state, job.step_set.get().state) == (State.WAITING, StepState.PLANNED)
    agent.before.clear()
    agent.lv = dataclasses.replace(agent.lv, size_bytes=agent.lv.size_bytes * 2)
    run(job)
    assert (job.state, job.error["code"], agent.ran) == (State.FAILED, "stale", [])


def test_a_preview_that_found_nothing_to_do_confirms_no_step(
    volume: Volume, agent: CachingAgent
) -> None:
    bare = Wish(size_bytes=agent.lv.guest_size_bytes)
    asked = submit(ChangeRequest(Kind.REMOVE_CACHE, volume, bare, dry_run=True), Requester(None))
    preview = run(asked)
    assert preview.step_set.count() == 0
    run(submit(ChangeRequest(Kind.ADD_CACHE, volume, CACHED), Requester(None)))
    agent.ran.clear()
    job = run(
        submit(
            ChangeRequest(Kind.REMOVE_CACHE, volume, bare, fingerprint=preview.fingerprint),
            Requester(None),
        )
    )
    assert (job.state, job.error.get("code"), agent.ran) == (State.FAILED, "stale", [])
