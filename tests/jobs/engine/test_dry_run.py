"""Previews ask the agent and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jobs.engine import runner
from jobs.engine.dry_run import NOTHING
from jobs.models import Job, State, StepState
from jobs.queue.submit import ChangeRequest, submit
from jobs.requester import Requester
from storage.byte_sizes import GIB
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.jobs.agent import WISH, TaggingAgent
from tests.jobs.sshd import Refuse, Sshd

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


def preview(server: Sshd, agent: TaggingAgent, wish: Wish = WISH, **tags: Any) -> Job:
    volume = make.volume(**tags)
    make.placement(volume, server.host(), lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    job = submit(ChangeRequest("tag-volume", volume, wish, dry_run=True), Requester(None))
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def test_a_preview_holds_the_exact_commands_and_runs_none(sshd: Make) -> None:
    agent = TaggingAgent()
    server = sshd(agent)
    job = preview(server, agent)
    assert (job.state, agent.runs) == (State.SUCCEEDED, 0)
    assert server.verbs() == ["inventory", "dry_run"]
    step = job.step_set.get()
    assert (step.state, step.op_id, step.started_at) == (StepState.PLANNED, None, None)
    assert [command["shell"] for command in step.commands] == ["lvchange --addtag"]
    assert server.requests[1]["dry_run"] == [step.request]


def test_a_check_for_later_is_shown(sshd: Make) -> None:
    agent = TaggingAgent()
    deferred = [{"code": "not_found", "message": "the pool is made by an earlier step"}]

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        data = agent.dry_run(request)
        data["steps"][0]["deferred"] = deferred
        return data

    agent.before["dry_run"] = answer
    job = preview(sshd(agent), agent)
    assert (job.state, job.step_set.get().deferred) == (State.SUCCEEDED, deferred)


def test_a_step_that_would_fail_fails_the_preview_and_is_named(sshd: Make) -> None:
    agent = TaggingAgent()

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        data = agent.dry_run(request)
        data["steps"][0]["error"] = Refuse("in_use", "a guest holds it").error
        return data

    agent.before["dry_run"] = answer
    job = preview(sshd(agent), agent)
    assert (job.state, job.error["code"]) == (State.FAILED, "in_use")
    assert job.step_set.get().error["message"] == "a guest holds it"
    assert "a guest holds it" in job.sentence


def test_nothing_to_do_is_said(sshd: Make) -> None:
    agent = TaggingAgent(make.lv("web12", tags=make.tags("aaaaaaaaaaaaaaaa")))
    job = preview(sshd(agent), agent, key="aaaaaaaaaaaaaaaa")
    assert (job.state, job.explanation) == (State.SUCCEEDED, NOTHING)
    assert not job.step_set.exists()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({}, "bad_reply"),
        ({"steps": []}, "bad_reply"),
        ({"steps": [{"commands": [{"shell": 1}], "deferred": [], "error": None}]}, "bad_reply"),
        ({"steps": [{"commands": [], "deferred": None, "error": None}]}, "bad_reply"),
        ({"steps": [{"commands": [], "deferred": [], "error": "no"}]}, "bad_reply"),
    ],
)
def test_a_mad_answer_fails_the_preview(sshd: Make, answer: dict[str, Any], code: str) -> None:
    agent = TaggingAgent()
    agent.before["dry_run"] = lambda request: answer
    job = preview(sshd(agent), agent)
    assert (job.state, job.error["code"]) == (State.FAILED, code)


def test_a_refused_request_fails_with_the_agents_words(sshd: Make) -> None:
    agent = TaggingAgent()

    def refuse(request: dict[str, Any]) -> None:
        raise Refuse("unknown_verb", "older agent")

    agent.before["dry_run"] = refuse
    job = preview(sshd(agent), agent)
    assert (job.state, job.error["code"]) == (State.FAILED, "unknown_verb")
    assert job.error["correction"] == "mend it"


def test_a_plan_that_is_refused_fails_with_its_correction(sshd: Make) -> None:
    agent = TaggingAgent()
    job = preview(sshd(agent), agent, Wish(8 * GIB, cache=LvmCache("c-a", GIB)))
    assert (job.state, job.error["code"]) == (State.FAILED, "bad_request")


def test_a_host_out_of_reach_fails_the_preview_at_once(sshd: Make) -> None:
    agent = TaggingAgent()
    server = sshd(agent)
    host = server.host()
    server.close()
    volume = make.volume()
    make.placement(volume, host, lv_uuid=agent.lv.uuid)
    job = submit(ChangeRequest("tag-volume", volume, WISH, dry_run=True), Requester(None))
    runner.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error["code"]) == (State.FAILED, "unreachable")
    server.start()
