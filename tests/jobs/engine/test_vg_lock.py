"""One mutating step at a time in a volume group, each with a higher fence."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from jobs import notify_workers
from jobs.engine import runner, steps, vg_lock
from jobs.engine.transitions import LostLease, claim
from jobs.hosts import contact, panel_identity
from jobs.models import Job, Kind, State, Step, StepState, VgFence
from jobs.queue.submit import ChangeRequest, cancel, submit, submit_for_host
from jobs.requester import Requester
from jobs.transport.replies import OperationState
from storage.models import Host
from storage.planner import PlannedStep
from storage.planner.ssd_wish import Preparation
from tests import make
from tests.jobs.agent import running
from tests.jobs.caching import agent as agent
from tests.jobs.caching import job as job
from tests.jobs.cachingagent import CACHED, CachingAgent
from tests.jobs.engine.test_rollback import before_sending
from tests.jobs.engine.test_runner import run
from tests.jobs.engine.test_transitions import at_once
from tests.jobs.engine.test_transitions import job as job_in
from tests.jobs.sshd import Cut, Sshd

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]
NO_PERSON = Requester(None, None)
ATTACH = PlannedStep("cache.attach", {"vg": "vg0"}, {"vg_uuid": make.VG_UUID}, "Attach")
FLUSH = PlannedStep(
    "cache.flush", {"vg": "vg0"}, {"vg_uuid": make.VG_UUID}, "Flush", polled=True, holds_vg=False
)


def test_a_second_job_waits_for_the_volume_group_and_says_for_whom(
    job: Job, agent: CachingAgent
) -> None:
    first = job_in(State.RUNNING)
    assert steps.intend(first, ATTACH) is not None
    for _ in range(5):
        run(job)
        # The pool is zeroed meanwhile, which takes no turn in the group.
        assert (job.state, agent.ran) == (State.WAITING, ["pool.create"])
        assert job.explanation == f"Waiting for vg0 ({first} ({first.key}) is changing it)"
    Step.objects.filter(job=first).update(state=StepState.DONE)
    run(job)
    assert (job.state, job.step_set.count()) == (State.SUCCEEDED, 2)


@pytest.mark.parametrize("is_done", [True, False])
def test_the_next_job_is_woken_when_the_volume_group_is_free(
    job: Job,
    is_done: bool,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    first, sent = job_in(State.RUNNING), list[tuple[object, ...]]()
    step = steps.intend(first, ATTACH)
    assert step is not None
    assert run(job).state == State.WAITING
    monkeypatch.setattr(notify_workers, "send", lambda *args: sent.append(args))
    with django_capture_on_commit_callbacks(execute=True):
        if is_done:
            steps.follow(first, step, OperationState("done", (), ()))
        else:
            steps.fail(first, step, {"code": "cmd_failed"})
    assert sent == [(notify_workers.RUN_DUE_JOBS, "")]
    assert claim(job.pk, "me") is not None


def test_a_job_that_adds_an_ssd_to_the_group_is_woken_too() -> None:
    step = steps.intend(job_in(State.RUNNING), ATTACH)
    assert step is not None
    wanted = Preparation("sde", "ssd2", make.VG_UUID, "vg0")
    rests = submit_for_host(step.job.host, wanted, NO_PERSON, dry_run=False)
    assert claim(rests.pk, "me") is not None
    Job.objects.filter(pk=rests.pk).update(
        state=State.WAITING, lease_owner="", not_before=Now() + timedelta(seconds=1)
    )
    Step.objects.filter(pk=step.pk).update(state=StepState.DONE)
    vg_lock.wake_next(make.VG_UUID)
    assert claim(rests.pk, "me") is not None


def test_a_job_that_waits_for_something_else_is_left_alone(job: Job) -> None:
    step = steps.intend(job_in(State.RUNNING), ATTACH)
    assert step is not None
    assert run(job).state == State.WAITING
    Job.objects.filter(pk=job.pk).update(not_before=Now() + timedelta(minutes=5))
    Step.objects.filter(pk=step.pk).update(state=StepState.DONE)
    vg_lock.wake_next(make.VG_UUID)
    assert claim(job.pk, "me") is None


def test_a_turn_given_back_before_the_wait_is_on_record_is_not_missed(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = steps.intend(job_in(State.RUNNING), ATTACH)
    assert step is not None
    wait = runner.pause_job

    def meanwhile(*args: Any) -> None:
        Step.objects.filter(pk=step.pk).update(state=StepState.DONE)
        wait(*args)

    monkeypatch.setattr(runner, "pause_job", meanwhile)
    assert run(job).not_before is None


def test_a_long_step_that_is_polled_lets_others_change_the_group(
    job: Job, agent: CachingAgent
) -> None:
    step = steps.intend(job_in(State.RUNNING), FLUSH)
    assert step is not None
    assert (step.state, step.holds_vg) == (StepState.RUNNING, False)
    agent.fence = step.fence or 0
    assert run(job).state == State.SUCCEEDED


def test_every_step_gets_the_next_fence_of_its_group(job: Job, agent: CachingAgent) -> None:
    VgFence.objects.create(vg_uuid=make.VG_UUID, fence=41)
    run(job)
    assert [step.fence for step in job.step_set.all()] == [42, 43]
    assert [request["fence"] for request in agent.ops.values()] == [42, 43]


def test_a_refused_turn_leaves_the_fence_as_it_was() -> None:
    assert steps.intend(job_in(State.RUNNING), ATTACH) is not None
    with pytest.raises(vg_lock.VgLocked):
        steps.intend(job_in(State.RUNNING), ATTACH)
    assert VgFence.objects.get().fence == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_jobs_that_begin_at_once_one_gets_the_turn() -> None:
    jobs = [job_in(State.RUNNING) for _ in range(8)]

    def begin(n: int) -> Step | None:
        try:
            return steps.intend(jobs[n], ATTACH)
        except vg_lock.VgLocked:
            return None

    assert sum(step is not None for step in at_once(8, begin)) == 1
    assert Step.objects.filter(state=StepState.RUNNING).count() == 1


def test_a_job_that_ends_gives_its_turn_back() -> None:
    lost = job_in(State.RUNNING)
    step = steps.intend(lost, ATTACH)
    assert step is not None
    Job.objects.filter(pk=lost.pk).update(state=State.NEEDS_ATTENTION, lease_owner="")
    lost.refresh_from_db()
    with pytest.raises(vg_lock.VgLocked):
        steps.intend(job_in(State.RUNNING), ATTACH)
    assert cancel(lost, None)
    step.refresh_from_db()
    assert (step.state, step.error["code"]) == (StepState.FAILED, "unknown")
    assert steps.intend(job_in(State.RUNNING), ATTACH) is not None


def test_a_frozen_worker_that_wakes_up_late_does_nothing(
    job: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, refusals = contact.ask, []

    def freeze(host: Any, verb: str, *args: Any, **fields: Any) -> Any:
        if verb != "pool.create":
            return ask(host, verb, *args, **fields)
        # Frozen before it sends; the lease lapses, and another worker does the whole job.
        monkeypatch.setattr(contact, "ask", ask)
        Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
        assert run(job).state == State.SUCCEEDED
        reply = ask(host, verb, *args, **fields)
        assert reply.error is not None
        refusals.append(reply.error.code)
        return reply

    monkeypatch.setattr(contact, "ask", freeze)
    runner.run(job.pk)
    job.refresh_from_db()
    assert refusals == ["stale_fence"]
    assert agent.ran == ["pool.create", "cache.attach"]
    assert (job.state, job.lease_owner) == (State.SUCCEEDED, "")


def test_a_worker_that_lost_its_lease_writes_no_step(job: Job) -> None:
    old = claim(job.pk, "old")
    assert old is not None
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
    assert claim(job.pk, "new") is not None
    with pytest.raises(LostLease):
        steps.intend(old, ATTACH)
    assert not Step.objects.filter(job=job).exists()


def test_a_stale_fence_at_the_host_is_tried_again_with_the_next_one(
    job: Job, agent: CachingAgent
) -> None:
    agent.fence = 2
    for _ in range(2):
        run(job)
        assert (job.state, agent.ran) == (State.WAITING, [])
    run(job)
    assert (job.state, agent.ran) == (State.SUCCEEDED, ["pool.create", "cache.attach"])


def test_turns_that_this_panel_never_gave_are_not_climbed_over(
    job: Job, agent: CachingAgent
) -> None:
    """Another copy of this panel is at work there: each try would take the next number, until this
    one is above and the other one climbs."""
    agent.fence = 40
    agent.before["hello"] = lambda request: {"fences": {make.VG_UUID: 40}}
    run(job)
    assert (job.state, job.error["code"], agent.ran) == (State.FAILED, "turn_unknown", [])
    assert VgFence.objects.get().fence == 1
    second = submit(ChangeRequest(Kind.ADD_CACHE, job.its_volume, CACHED), Requester(None))
    run(second)
    assert (second.state, second.error["code"]) == (State.FAILED, "turn_unknown")
    assert VgFence.objects.get().fence == 1, "and the next job takes no number either"


def test_a_host_that_falls_silent_after_it_refused_a_turn_does_not_break_the_job(
    job: Job, agent: CachingAgent
) -> None:
    agent.fence = 1
    agent.before["hello"] = lambda request: Cut()
    run(job)
    assert (job.state, agent.ran) == (State.WAITING, [])
    run(job)
    assert job.state == State.SUCCEEDED


def test_who_sends_a_step_is_said_to_an_agent_that_knows_panels(
    job: Job, agent: CachingAgent
) -> None:
    Host.objects.update(hello={"agent": "0.3.0"})
    job.refresh_from_db()
    run(job)
    panel = {"id": str(panel_identity.this().panel), "after": []}
    assert [request["panel"] for request in agent.ops.values()] == [panel, panel]


@pytest.mark.parametrize("version", ["", "0.2.9", "9", "x"])
def test_an_older_agent_gets_no_panels(version: str) -> None:
    assert panel_identity.named_to(make.host(hello={"agent": version})) is None


def test_a_restored_panel_is_the_successor_of_the_one_it_comes_from() -> None:
    first = panel_identity.this().panel
    second = panel_identity.renew()
    assert second.panel != first and second.ancestors == [str(first)]
    third = panel_identity.renew()
    assert third.ancestors == [str(second.panel), str(first)] and third.restored_at is not None
    for _ in range(20):
        panel_identity.renew()
    assert len(panel_identity.this().ancestors) == panel_identity.ANCESTORS_LIMIT


def test_a_cancelled_job_asks_the_host_once_to_stop_a_long_step(
    job: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    aborted = {"state": "interrupted", "error": {"code": "aborted", "message": "stopped",
               "correction": ""}}  # fmt: skip
    agent.outcomes = [running(), running(), running(), aborted]

    before_sending(monkeypatch, "pool.create", lambda: cancel(Job.objects.get(pk=job.pk), None))
    run(job)
    first = job.step_set.first()
    assert first is not None
    assert agent.aborted == [str(first.op_id)]
    assert (first.state, first.error["code"]) == (StepState.FAILED, "aborted")
    assert job.state == State.CANCELLED


def test_an_operation_id_is_never_used_twice(job: Job) -> None:
    run(job)
    ids = {step.op_id for step in job.step_set.all()}
    assert len(ids) == 2
    assert all(isinstance(each, uuid.UUID) for each in ids)
