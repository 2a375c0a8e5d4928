"""How long a step waits for what is in its way: each thing has a patience of its own, which begins
when the host first names it."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

import pytest
from django.db.models import F

from jobs.models import Job, State, StepState
from storage.inventory.volume_parts import Work
from tests.jobs.agent import TaggingAgent, running
from tests.jobs.caching import agent as agent
from tests.jobs.caching import job as job
from tests.jobs.cachingagent import CachingAgent
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Refuse

pytestmark = pytest.mark.django_db
LOCKED = {"code": "busy", "message": "Can't get lock", "correction": "Wait."}
REFUSED = [{"argv": ["lvcreate"], "shell": "lvcreate", "rc": 5}]


def refusing(agent: TaggingAgent, *codes: str) -> None:
    """The next requests to make the pool are refused so."""
    left = list(codes)

    def refuse(request: object) -> object:
        if left:
            raise Refuse(left.pop(0), "not now")
        return None

    agent.before["pool.create"] = refuse


def pass_time(job: Job, seconds: int) -> None:
    """So long ago is now all that the job remembers."""
    back = timedelta(seconds=seconds)
    Job.objects.filter(pk=job.pk).update(
        created_at=F("created_at") - back, started_at=F("started_at") - back
    )
    for step in job.step_set.all():
        if step.started_at is not None:
            step.started_at -= back
        if step.blocked_since is not None:
            step.blocked_since -= back
        step.save()


def test_a_late_turn_after_a_long_wait_for_a_lock_is_waited_for_like_any(
    job: Job, agent: CachingAgent
) -> None:
    refusing(agent, "busy", "stale_fence")
    run(job)
    pass_time(job, 90)
    run(job)
    assert (job.state, job.step_set.get().error["code"]) == (State.WAITING, "stale_fence")
    assert run(job).state == State.SUCCEEDED


@pytest.mark.parametrize(
    ("code", "patience_seconds"), [("stale_fence", 60), ("busy", 3600), ("stuck", 3600)]
)
def test_what_stays_in_the_way_is_given_up_after_its_own_time(
    job: Job, agent: CachingAgent, code: str, patience_seconds: int
) -> None:
    refusing(agent, *[code] * 3)
    run(job)
    pass_time(job, patience_seconds - 20)
    assert run(job).state == State.WAITING
    pass_time(job, 21)
    run(job)
    assert (job.state, job.error["code"], agent.ran) == (State.FAILED, code, [])


def test_a_lock_that_an_accepted_operation_meets_counts_from_the_first_time_too(
    job: Job, agent: CachingAgent
) -> None:
    """The host took the operation, and LVM found its own lock taken."""
    agent.failing["pool.create"] = [LOCKED] * 2
    agent.outcomes = [{"commands": REFUSED}] * 2
    run(job)
    assert (job.state, job.step_set.get().state) == (State.WAITING, StepState.PLANNED)
    pass_time(job, 3601)
    run(job)
    assert (job.state, job.is_rolling_back, job.error["code"]) == (State.FAILED, False, "busy")


def test_what_a_person_resumed_waits_anew(job: Job, agent: CachingAgent) -> None:
    refusing(agent, "stale_fence", "stale_fence")
    run(job)
    pass_time(job, 300)
    Job.objects.filter(pk=job.pk).update(state=State.QUEUED, started_at=None)
    assert run(job).state == State.WAITING
    assert run(job).state == State.SUCCEEDED


def test_a_step_that_is_sent_again_tells_of_no_trouble(
    job: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.engine.runner.HOLD_SECONDS", 0.0)
    refusing(agent, "busy")
    run(job)
    assert job.step_set.get().error["message"] == "not now"
    agent.outcomes = [running()]
    run(job)
    step = job.step_set.get()
    assert (step.state, step.error, step.blocked_by) == (StepState.RUNNING, {}, "busy")
    run(job)
    assert job.state == State.SUCCEEDED
    assert [step.error for step in job.step_set.all()] == [{}, {}]


def test_what_comes_back_after_something_else_is_waited_for_anew(
    job: Job, agent: CachingAgent
) -> None:
    refusing(agent, "busy", "stale_fence", "busy")
    for _ in range(3):
        assert run(job).state == State.WAITING
        pass_time(job, 3590)
    assert run(job).state == State.SUCCEEDED


def move_by_hand(agent: CachingAgent) -> None:
    """A person has begun `pvmove /dev/sdc /dev/sdd`."""
    work = Work("pvmove", "sdc", 37, ours=False)
    agent.lv = dataclasses.replace(agent.lv, work=work)


def pass_wait(job: Job, hours: float) -> None:
    pass_time(job, int(hours * 3600))
    job.refresh_from_db()
    since = datetime.fromisoformat(job.error["waits_since"]) - timedelta(hours=hours)
    Job.objects.filter(pk=job.pk).update(error=job.error | {"waits_since": since.isoformat()})


def test_a_job_waits_for_hours_while_its_volume_is_moved_by_hand(
    job: Job, agent: CachingAgent
) -> None:
    move_by_hand(agent)
    for _ in range(5):
        run(job)
    assert (job.state, agent.ran) == (State.WAITING, [])
    assert job.explanation == "vg0/web12 is being moved by hand (pvmove /dev/sdc), 37 % done."
    pass_wait(job, 11.9)
    assert run(job).state == State.WAITING
    agent.lv = dataclasses.replace(agent.lv, work=None)
    assert run(job).state == State.SUCCEEDED
    assert job.error == {}


def test_after_half_a_day_of_it_the_job_gives_up_and_nothing_was_done(
    job: Job, agent: CachingAgent
) -> None:
    move_by_hand(agent)
    run(job)
    pass_wait(job, 12.1)
    run(job)
    assert (job.state, job.error["code"], agent.ran) == (State.FAILED, "occupied", [])


def test_a_pvmove_that_began_after_the_plan_is_waited_for_by_the_step(
    job: Job, agent: CachingAgent
) -> None:
    refusing(agent, *["occupied"] * 5)
    for _ in range(5):
        assert run(job).state == State.WAITING
    assert run(job).state == State.SUCCEEDED


def test_a_job_that_waits_for_a_person_at_work_can_be_cancelled(
    job: Job, agent: CachingAgent
) -> None:
    agent.before["cache.attach"] = lambda request: move_by_hand(agent)
    agent.failing["cache.attach"] = [{"code": "stale", "message": "no", "correction": "Again."}]
    agent.outcomes = []
    run(job)
    assert job.state == State.WAITING
    Job.objects.filter(pk=job.pk).update(cancel_requested=True)
    run(job)
    assert job.is_rolling_back
