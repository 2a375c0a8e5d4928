"""A job that cannot reach its wish goes back to where it began, or waits for a person."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from jobs.engine import rollback
from jobs.hosts import contact
from jobs.models import AuditEntry, Job, Phase, State, StepState
from jobs.queue.submit import cancel
from storage.models import Volume
from storage.planner import PlannedStep, Refused, plan
from storage.planner.wish import Wish
from tests.jobs.caching import agent as agent
from tests.jobs.caching import job as job
from tests.jobs.cachingagent import BARE, CACHED, FAILED, POOL, CachingAgent
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Cut, Refuse, Sshd

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]
UNDONE = f"Remove the unused pool {POOL}"


@pytest.fixture
def turning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making the pool is the point of no return."""

    def plan_with_turn(*args: Any) -> tuple[PlannedStep, ...]:
        return tuple(
            dataclasses.replace(step, makes_irrevocable=step.verb == "pool.create")
            for step in plan(*args)
        )

    monkeypatch.setattr("jobs.engine.remaining_steps.plan", plan_with_turn)


def test_what_the_volume_is_now_is_what_a_job_goes_back_to(job: Job) -> None:
    assert job.fallback is not None
    assert Wish.from_json(job.fallback) == BARE


def test_a_step_that_fails_for_good_undoes_the_steps_before(job: Job, agent: CachingAgent) -> None:
    agent.failing["cache.attach"] = [FAILED] * 3
    run(job)
    assert (job.state, job.is_rolling_back) == (State.FAILED, True)
    assert agent.ran == ["pool.create", *["cache.attach"] * 3, "pool.remove"]
    assert agent.pools == {}
    assert (job.error["message"], job.error["undone"]) == (FAILED["message"], [UNDONE])
    assert job.sentence.endswith(rollback.ROLLED_BACK)
    assert Volume.objects.get(pk=job.volume_id).current_wish == BARE


@pytest.mark.parametrize("code", ["no_space", "in_use"])
def test_a_refusal_in_the_middle_is_rolled_back_at_once(
    job: Job, agent: CachingAgent, code: str
) -> None:
    def refuse(request: dict[str, Any]) -> object:
        raise Refuse(code, "not here")

    agent.before["cache.attach"] = refuse
    run(job)
    assert (job.state, job.error["code"]) == (State.FAILED, code)
    assert agent.ran == ["pool.create", "pool.remove"]


def test_a_failure_before_anything_was_changed_rolls_nothing_back(
    job: Job, agent: CachingAgent
) -> None:
    def refuse(request: dict[str, Any]) -> object:
        raise Refuse("no_space", "full")

    agent.before["pool.create"] = refuse
    run(job)
    assert (job.state, job.is_rolling_back, agent.ran) == (State.FAILED, False, [])
    assert "undone" not in job.error


def test_where_the_way_back_fails_too_a_person_sees_what_is_left(
    job: Job, agent: CachingAgent
) -> None:
    agent.failing["cache.attach"] = [FAILED] * 3
    agent.failing["pool.remove"] = [FAILED | {"message": "lvremove ended with 5"}] * 3
    run(job)
    assert job.state == State.NEEDS_ATTENTION
    assert job.error["residue"] == [f"vg0/{POOL} (2 GiB) exists."]
    assert "lvconvert ended with 5" in job.error["message"]
    assert "Rolling back failed too: lvremove ended with 5" in job.error["message"]


def test_after_the_point_of_no_return_there_is_no_way_back(
    job: Job, agent: CachingAgent, turning: None
) -> None:
    agent.failing["cache.attach"] = [FAILED] * 3
    run(job)
    assert (job.state, job.is_irrevocable, job.is_rolling_back) == (
        State.NEEDS_ATTENTION,
        True,
        False,
    )
    assert agent.ran == ["pool.create", *["cache.attach"] * 3]
    assert job.error["residue"] == [f"vg0/{POOL} (2 GiB) exists."]


def test_a_step_without_effect_is_brought_before_a_person(job: Job, agent: CachingAgent) -> None:
    agent._create = lambda args: None  # type: ignore[method-assign]
    run(job)
    assert (job.state, job.error["code"]) == (State.NEEDS_ATTENTION, "no_progress")
    assert agent.ran == ["pool.create"] * 3


def test_lost_data_is_brought_before_a_person_and_nothing_is_rolled_back(
    job: Job, agent: CachingAgent
) -> None:
    agent.failing["cache.attach"] = [FAILED | {"code": "data_lost", "message": "It is lost."}]
    run(job)
    assert (job.state, job.is_rolling_back) == (State.NEEDS_ATTENTION, False)
    assert "It is lost." in job.error["message"]
    assert agent.ran == ["pool.create", "cache.attach"]


def before_sending(monkeypatch: pytest.MonkeyPatch, verb: str, act: Callable[[], object]) -> None:
    """Do something just before the panel sends that verb."""
    ask = contact.ask

    def acting(host: Any, asked: str, *args: Any, **fields: Any) -> Any:
        if asked == verb:
            act()
        return ask(host, asked, *args, **fields)

    monkeypatch.setattr(contact, "ask", acting)


def test_a_cancelled_job_undoes_what_it_did(
    job: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Job.objects.get(pk=job.pk)
    before_sending(monkeypatch, "pool.create", lambda: cancel(asked, None))
    run(job)
    assert (job.state, agent.ran) == (State.CANCELLED, ["pool.create", "pool.remove"])
    assert job.sentence == "Add cache: cancelled; finished steps were undone."


def test_a_job_past_the_point_of_no_return_cannot_be_cancelled(
    job: Job, turning: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        with pytest.raises(Refused) as caught:
            cancel(Job.objects.get(pk=job.pk), None)
        codes.append(caught.value.code)

    codes: list[str] = []
    before_sending(monkeypatch, "pool.create", refused)
    run(job)
    assert (codes, job.state) == (["turned"], State.SUCCEEDED)


def test_a_host_that_is_lost_while_rolling_back_is_waited_for_and_the_reason_kept(
    job: Job, agent: CachingAgent
) -> None:
    agent.failing["cache.attach"] = [FAILED] * 3

    inventories = [*[None] * 5, *[Cut()] * 9]
    agent.before["inventory"] = lambda request: inventories.pop(0)
    run(job)
    assert (job.state, job.is_rolling_back) == (State.WAITING, True)
    assert job.error["message"] == FAILED["message"]
    agent.before = {}
    run(job)
    assert (job.state, job.error["undone"]) == (State.FAILED, [UNDONE])
    assert job.step_set.filter(state=StepState.DONE).count() == 2


def test_a_job_whose_plan_is_refused_in_the_middle_goes_back(
    job: Job, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused_forward(facts: Any, target: Any, wish: Wish, *more: Any) -> tuple[PlannedStep, ...]:
        if agent.pools and wish == CACHED:
            raise Refused("degraded", "the SSD is gone", "Bring it back.")
        return plan(facts, target, wish, *more)

    monkeypatch.setattr("jobs.engine.remaining_steps.plan", refused_forward)
    run(job)
    assert (job.state, job.error["code"]) == (State.FAILED, "degraded")
    assert agent.ran == ["pool.create", "pool.remove"]


def test_a_host_that_is_lost_after_a_half_done_step_is_waited_for(
    job: Job, agent: CachingAgent
) -> None:
    """The step failed after its first command: its remains are on the host."""
    agent.failing["pool.create"] = [FAILED]
    inventories = [None, *[Cut()] * 9]
    agent.before["inventory"] = lambda request: inventories.pop(0)
    for _ in range(3):
        run(job)
    assert (job.state, job.attempts) == (State.WAITING, 3)
    agent.before = {}
    assert run(job).state == State.SUCCEEDED


def test_a_step_that_was_refused_before_its_first_command_has_touched_nothing(
    job: Job, agent: CachingAgent
) -> None:
    """The host accepted it, and found under its lock that the plan does not hold any more."""
    planned = {"argv": ["lvcreate"], "shell": "lvcreate", "rc": None, "started_ns": None}
    stale = {"code": "stale", "message": "The volume was replaced.", "correction": "Plan anew."}
    agent.outcomes = [{"state": "failed", "commands": [planned], "error": stale}]
    agent.before["pool.create"] = lambda request: agent.ops.update({request["id"]: request}) or {}
    inventories: list[object] = [None, *[Cut()] * 9]
    agent.before["inventory"] = lambda request: inventories.pop(0)
    for _ in range(3):
        run(job)
    assert job.step_set.get().state == StepState.FAILED
    assert (job.state, job.error["code"]) == (State.FAILED, "unreachable")


def test_a_step_whose_second_command_found_the_group_taken_is_half_done(
    job: Job, agent: CachingAgent
) -> None:
    agent.failing["pool.create"] = [FAILED | {"code": "busy", "message": "Can't get lock"}] * 3
    for tries in (1, 2):
        run(job)
        assert (job.state, job.explanation) == (State.WAITING, "Can't get lock")
        assert job.step_set.filter(state=StepState.FAILED).count() == tries
    run(job)
    run(job)
    assert (job.state, job.is_rolling_back, job.error["code"]) == (State.FAILED, True, "busy")
    results = AuditEntry.objects.filter(phase=Phase.OUTCOME).values_list("result__state", flat=True)
    assert list(results) == ["failed"] * 3
