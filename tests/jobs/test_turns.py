"""One mutating step at a time in a volume group, each with a higher fence."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from jobs import hosts, operation, runner, steps, turns
from jobs.models import Job, Kind, State, Step, StepState, VgFence
from jobs.moves import LostLease, claim
from jobs.queue import cancel, submit
from storage.plan import Step as Planned
from tests import make
from tests.jobs.agent import running
from tests.jobs.cachingagent import CACHED, CachingAgent, managed
from tests.jobs.sshd import Sshd
from tests.jobs.test_fallback import before_sending
from tests.jobs.test_moves import at_once
from tests.jobs.test_moves import job as job_in
from tests.jobs.test_runner import run

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]
ATTACH = Planned("cache.attach", {"vg": "vg0"}, {"vg_uuid": make.VG_UUID}, "Attach")
FLUSH = Planned(
    "cache.flush", {"vg": "vg0"}, {"vg_uuid": make.VG_UUID}, "Flush", polled=True, holds_vg=False
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.02))


@pytest.fixture
def agent() -> CachingAgent:
    return CachingAgent()


@pytest.fixture
def queued(sshd: Make, agent: CachingAgent) -> Job:
    """A job that adds a cache."""
    volume = managed(agent, sshd(agent).host())
    return submit(kind=Kind.ADD_CACHE, volume=volume, wish=CACHED, actor=None)


def test_a_second_job_waits_for_the_volume_group_and_says_for_whom(
    queued: Job, agent: CachingAgent
) -> None:
    first = job_in(State.RUNNING)
    assert steps.intend(first, ATTACH) is not None
    for _ in range(5):
        run(queued)
        assert (queued.state, agent.ran) == (State.WAITING, [])
        assert queued.explanation == f"Waits for {first} ({first.key}), which changes vg0 now"
    Step.objects.filter(job=first).update(state=StepState.DONE)
    run(queued)
    assert (queued.state, queued.step_set.count()) == (State.SUCCEEDED, 2)


def test_a_long_step_that_is_polled_lets_others_change_the_group(
    queued: Job, agent: CachingAgent
) -> None:
    step = steps.intend(job_in(State.RUNNING), FLUSH)
    assert step is not None
    assert (step.state, step.holds_vg) == (StepState.RUNNING, False)
    agent.fence = step.fence or 0
    assert run(queued).state == State.SUCCEEDED


def test_every_step_gets_the_next_fence_of_its_group(queued: Job, agent: CachingAgent) -> None:
    VgFence.objects.create(vg_uuid=make.VG_UUID, fence=41)
    run(queued)
    assert [step.fence for step in queued.step_set.all()] == [42, 43]
    assert [request["fence"] for request in agent.ops.values()] == [42, 43]


def test_a_refused_turn_leaves_the_fence_as_it_was() -> None:
    assert steps.intend(job_in(State.RUNNING), ATTACH) is not None
    with pytest.raises(turns.Taken):
        steps.intend(job_in(State.RUNNING), ATTACH)
    assert VgFence.objects.get().fence == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_jobs_that_begin_at_once_one_gets_the_turn() -> None:
    jobs = [job_in(State.RUNNING) for _ in range(8)]

    def begin(n: int) -> Step | None:
        try:
            return steps.intend(jobs[n], ATTACH)
        except turns.Taken:
            return None

    assert sum(step is not None for step in at_once(8, begin)) == 1
    assert Step.objects.filter(state=StepState.RUNNING).count() == 1


def test_a_job_that_ends_gives_its_turn_back() -> None:
    lost = job_in(State.RUNNING)
    step = steps.intend(lost, ATTACH)
    assert step is not None
    Job.objects.filter(pk=lost.pk).update(state=State.NEEDS_ATTENTION, lease_owner="")
    lost.refresh_from_db()
    with pytest.raises(turns.Taken):
        steps.intend(job_in(State.RUNNING), ATTACH)
    assert cancel(lost, None)
    step.refresh_from_db()
    assert (step.state, step.error["code"]) == (StepState.FAILED, "unknown")
    assert steps.intend(job_in(State.RUNNING), ATTACH) is not None


def test_a_frozen_worker_that_wakes_up_late_does_nothing(
    queued: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, refusals = hosts.ask, []

    def freeze(host: Any, verb: str, *args: Any, **fields: Any) -> Any:
        if verb != "pool.create":
            return ask(host, verb, *args, **fields)
        # Frozen before it sends; the lease lapses, and another worker does the whole job.
        monkeypatch.setattr(hosts, "ask", ask)
        Job.objects.filter(pk=queued.pk).update(lease_until=Now() - timedelta(seconds=1))
        assert run(queued).state == State.SUCCEEDED
        reply = ask(host, verb, *args, **fields)
        assert reply.error is not None
        refusals.append(reply.error.code)
        return reply

    monkeypatch.setattr(hosts, "ask", freeze)
    runner.run(queued.pk)
    queued.refresh_from_db()
    assert refusals == ["stale_fence"]
    assert agent.ran == ["pool.create", "cache.attach"]
    assert (queued.state, queued.lease_owner) == (State.SUCCEEDED, "")


def test_a_worker_that_lost_its_lease_writes_no_step(queued: Job) -> None:
    old = claim(queued.pk, "old")
    assert old is not None
    Job.objects.filter(pk=queued.pk).update(lease_until=Now() - timedelta(seconds=1))
    assert claim(queued.pk, "new") is not None
    with pytest.raises(LostLease):
        steps.intend(old, ATTACH)
    assert not Step.objects.filter(job=queued).exists()


def test_a_stale_fence_at_the_host_is_tried_again_with_the_next_one(
    queued: Job, agent: CachingAgent
) -> None:
    agent.fence = 2
    for _ in range(2):
        run(queued)
        assert (queued.state, agent.ran) == (State.WAITING, [])
    run(queued)
    assert (queued.state, agent.ran) == (State.SUCCEEDED, ["pool.create", "cache.attach"])


def test_a_cancelled_job_asks_the_host_once_to_stop_a_long_step(
    queued: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    aborted = {"state": "interrupted", "error": {"code": "aborted", "message": "stopped",
               "correction": ""}}  # fmt: skip
    agent.outcomes = [running(), running(), running(), aborted]

    before_sending(monkeypatch, "pool.create", lambda: cancel(Job.objects.get(pk=queued.pk), None))
    run(queued)
    first = queued.step_set.first()
    assert first is not None
    assert agent.aborted == [str(first.op_id)]
    assert (first.state, first.error["code"]) == (StepState.FAILED, "aborted")
    assert queued.state == State.CANCELLED


def test_an_operation_id_is_never_used_twice(queued: Job) -> None:
    run(queued)
    ids = {step.op_id for step in queued.step_set.all()}
    assert len(ids) == 2
    assert all(isinstance(each, uuid.UUID) for each in ids)
