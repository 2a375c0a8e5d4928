"""What a person confirmed is what may run: a job is refused once its steps have changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from jobs.models import Job, Kind, State, StepState
from jobs.queue import submit
from storage.models import Volume
from storage.wish import Wish
from tests import make
from tests.jobs.caching import agent as agent
from tests.jobs.cachingagent import CACHED, CachingAgent, managed
from tests.jobs.sshd import Refuse, Sshd
from tests.jobs.test_runner import run

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


@pytest.fixture
def volume(sshd: Make, agent: CachingAgent) -> Volume:
    return managed(agent, sshd(agent).host())


@pytest.fixture
def preview(volume: Volume) -> Job:
    asked = submit(kind=Kind.ADD_CACHE, volume=volume, wish=CACHED, actor=None, dry_run=True)
    return run(asked)


def confirm(preview: Job) -> Job:
    return submit(
        kind=Kind.ADD_CACHE,
        volume=preview.volume,
        wish=CACHED,
        actor=None,
        fingerprint=preview.fingerprint,
    )


def test_a_preview_keeps_the_fingerprint_of_its_steps(preview: Job) -> None:
    assert preview.state == State.SUCCEEDED
    assert len(preview.fingerprint) == 64


def test_what_was_shown_runs(preview: Job, agent: CachingAgent) -> None:
    job = run(confirm(preview))
    assert (job.state, agent.ran) == (State.SUCCEEDED, ["pool.create", "cache.attach"])


def test_a_job_whose_steps_have_changed_since_is_refused(preview: Job, agent: CachingAgent) -> None:
    agent.lv = dataclasses.replace(agent.lv, size_bytes=agent.lv.size_bytes * 2)
    job = run(confirm(preview))
    assert (job.state, job.error["code"], agent.ran) == (State.FAILED, "stale", [])
    assert "has changed since you saw it" in job.error["message"]
    assert "new preview" in job.error["correction"]


def test_a_nightly_snapshot_elsewhere_in_the_group_does_not_disturb(
    preview: Job, agent: CachingAgent
) -> None:
    agent.more = (make.lv("mail"), make.lv("mail-snap", layout=("linear", "snapshot")))
    job = run(confirm(preview))
    assert (job.state, agent.ran) == (State.SUCCEEDED, ["pool.create", "cache.attach"])


def test_only_the_first_plan_is_compared(preview: Job, agent: CachingAgent) -> None:
    failed = {"code": "timeout", "message": "slow", "correction": ""}
    agent.failing["cache.attach"] = [failed]
    assert run(confirm(preview)).state == State.SUCCEEDED


def test_a_job_without_a_preview_is_not_compared(volume: Volume, agent: CachingAgent) -> None:
    job = submit(kind=Kind.ADD_CACHE, volume=volume, wish=CACHED, actor=None)
    assert (job.fingerprint, run(job).state) == ("", State.SUCCEEDED)


def test_a_step_that_was_put_back_leaves_the_confirmation_in_force(
    preview: Job, agent: CachingAgent
) -> None:
    def busy(request: dict[str, Any]) -> object:
        raise Refuse("busy", "vgcfgbackup holds vg0")

    agent.before["pool.create"] = busy
    job = run(confirm(preview))
    assert (job.state, job.step_set.get().state) == (State.WAITING, StepState.PLANNED)
    agent.before.clear()
    agent.lv = dataclasses.replace(agent.lv, size_bytes=agent.lv.size_bytes * 2)
    run(job)
    assert (job.state, job.error["code"], agent.ran) == (State.FAILED, "stale", [])


def test_a_preview_that_found_nothing_to_do_confirms_no_step(
    volume: Volume, agent: CachingAgent
) -> None:
    bare = Wish(size_bytes=agent.lv.guest_size_bytes)
    asked = submit(kind=Kind.REMOVE_CACHE, volume=volume, wish=bare, actor=None, dry_run=True)
    preview = run(asked)
    assert preview.step_set.count() == 0
    run(submit(kind=Kind.ADD_CACHE, volume=volume, wish=CACHED, actor=None))
    agent.ran.clear()
    job = run(
        submit(
            kind=Kind.REMOVE_CACHE,
            volume=volume,
            wish=bare,
            actor=None,
            fingerprint=preview.fingerprint,
        )
    )
    assert (job.state, job.error.get("code"), agent.ran) == (State.FAILED, "stale", [])
