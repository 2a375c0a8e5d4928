"""The point of no return: passed by what the host has begun, not by what the panel intended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.engine import finish
from jobs.models import Job, Kind, State, StepState
from jobs.queue.submit import ChangeRequest, cancel, submit
from jobs.requester import Requester
from storage.byte_sizes import GIB
from storage.naming import retired_name
from storage.planner import Refused
from storage.planner.wish import Wish
from tests import make
from tests.jobs.agent import TaggingAgent
from tests.jobs.engine.test_rollback import before_sending
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Cut, Refuse, Sshd

pytestmark = pytest.mark.django_db
GONE = Wish(8 * GIB, life="gone")
WIPE = {"argv": ["blkdiscard"], "shell": "blkdiscard --zeroout", "rc": None}
FULL = {"code": "cmd_failed", "message": "blkdiscard ended with 1", "correction": "Read on."}


class DestroyingAgent(TaggingAgent):
    """It takes a `volume.destroy` where `before` does not refuse it, and never gets far. Its host
    keeps a retired volume for no time."""

    def __call__(self, request: dict[str, Any]) -> object:
        if request.get("verb") == "hello":
            return {"policy": {"undo_hours": 0}}
        if request.get("verb") != "volume.destroy":
            return super().__call__(request)
        first = self.before.get("volume.destroy")
        if first is not None and (answer := first(request)) is not None:
            return answer
        self.ops[request["id"]] = request
        self.runs += 1
        return {"op": request["id"]}


@pytest.fixture
def agent() -> DestroyingAgent:
    return DestroyingAgent()


@pytest.fixture
def job(sshd: Callable[..., Sshd], agent: DestroyingAgent) -> Job:
    """A queued job that destroys a retired volume."""
    volume = make.volume(managed=True)
    marks = ("tiercel.name=web12", "tiercel.retired=1700000000")
    name, tags = retired_name(volume.key), (*make.tags(volume.key), *marks)
    agent.lv = make.lv(name, tags=tags, active=False, open_count=0)
    make.placement(volume, sshd(agent).host(), lv_name=name, lv_uuid=agent.lv.uuid)
    return submit(ChangeRequest(Kind.DESTROY_VOLUME, volume, GONE), Requester(None))


def refusing(agent: DestroyingAgent, *troubles: Exception) -> None:
    """The next requests to destroy meet these."""
    left = list(troubles)

    def refuse(request: dict[str, Any]) -> object:
        if left:
            raise left.pop(0)
        return None

    agent.before["volume.destroy"] = refuse


def lose_after_first_look(agent: DestroyingAgent) -> None:
    """The host is read once and cannot be reached for the next plan."""
    looks: list[object] = [None, *[Cut()] * 9]
    agent.before["inventory"] = lambda request: looks.pop(0)


@pytest.mark.parametrize("code", ["busy", "stuck", "stale_fence"])
def test_a_destroy_that_the_host_put_off_is_cancelled_at_once(
    job: Job, agent: DestroyingAgent, code: str
) -> None:
    refusing(agent, Refuse(code, "not now"))
    run(job)
    assert (job.state, job.is_irrevocable) == (State.WAITING, False)
    assert cancel(job, None)
    assert (job.state, job.is_irrevocable, agent.runs) == (State.CANCELLED, False, 0)
    assert run(job).state == State.CANCELLED
    assert agent.runs == 0


def test_while_it_waits_its_page_offers_to_cancel_it(job: Job, agent: DestroyingAgent) -> None:
    refusing(agent, Refuse("busy", "not now"))
    run(job)
    client = Client()
    client.force_login(make.staff_user())
    page = client.get(reverse("job", args=[job.key])).content.decode()
    assert f'action="{reverse("job-cancel", args=[job.key])}"' in page


def test_who_cancels_between_the_refusal_and_the_next_try_is_heard(
    job: Job, agent: DestroyingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker still has the job: it ends before the next intent."""
    heard: list[bool] = []

    def cancelled_first(waiting: Job, *args: Any, **fields: Any) -> None:
        heard.append(cancel(Job.objects.get(pk=waiting.pk), None))
        finish.pause_job(waiting, *args, **fields)

    refusing(agent, Refuse("busy", "not now"))
    monkeypatch.setattr("jobs.engine.operation.pause_job", cancelled_first)
    run(job)
    assert (heard, job.state, job.cancel_requested) == ([False], State.WAITING, True)
    run(job)
    assert (job.state, job.is_irrevocable, agent.runs) == (State.CANCELLED, False, 0)


def test_while_the_request_is_under_way_it_cannot_be_cancelled(
    job: Job, agent: DestroyingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        with pytest.raises(Refused, match="can no longer be rolled back"):
            cancel(Job.objects.get(pk=job.pk), None)
        asked.append(job.key)

    asked: list[str] = []
    before_sending(monkeypatch, "volume.destroy", refused)
    refusing(agent, Refuse("busy", "not now"))
    run(job)
    assert (len(asked), job.is_irrevocable) == (1, False)


def test_a_destroy_that_never_arrived_has_not_turned_either(
    job: Job, agent: DestroyingAgent
) -> None:
    agent.before["volume.destroy"] = lambda request: Cut()
    lose_after_first_look(agent)
    run(job)
    step = job.step_set.get()
    assert (step.state, step.error["code"]) == (StepState.FAILED, "not_started")
    assert (job.state, job.is_irrevocable) == (State.WAITING, False)
    assert cancel(job, None)
    assert (job.state, agent.runs) == (State.CANCELLED, 0)


def test_a_destroy_whose_first_command_was_begun_only_goes_forward(
    job: Job, agent: DestroyingAgent
) -> None:
    begun = {"state": "failed", "commands": [WIPE | {"rc": 1}], "error": FULL}
    agent.outcomes = [begun]
    refusing(agent)
    lose_after_first_look(agent)
    run(job)
    assert (job.state, job.is_irrevocable) == (State.WAITING, True)
    with pytest.raises(Refused, match="can no longer be rolled back"):
        cancel(job, None)
    agent.before.pop("inventory")
    refusing(agent, Refuse("busy", "not now"))
    run(job)
    assert (job.state, job.is_irrevocable) == (State.WAITING, True), "an earlier try had begun"
