"""What a person confirmed is what may run: a job is refused once its steps have changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from jobs import operation
from jobs.models import Job, Kind, State
from jobs.queue import submit
from storage.models import Volume
from tests import make
from tests.jobs.cachingagent import CACHED, CachingAgent, managed
from tests.jobs.sshd import Sshd
from tests.jobs.test_runner import run

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.02))


@pytest.fixture
def agent() -> CachingAgent:
    return CachingAgent()


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
