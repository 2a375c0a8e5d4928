"""What a person decides about a job that needs attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.engine import decisions
from jobs.models import Job, State, StepState
from jobs.requester import Requester
from storage.planner import Refused
from tests import make
from tests.jobs.caching import agent as agent
from tests.jobs.caching import job as job
from tests.jobs.cachingagent import FAILED, POOL, CachingAgent
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Cut, Sshd
from tests.one_line import on_one_line

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


@pytest.fixture
def stuck(job: Job, agent: CachingAgent) -> Job:
    """A job whose cache could be neither attached nor removed."""
    agent.failing = {"cache.attach": [FAILED] * 3, "pool.remove": [FAILED] * 3}
    assert run(job).state == State.NEEDS_ATTENTION
    agent.ran.clear()
    return job


@pytest.fixture
def staff() -> Client:
    client = Client()
    client.force_login(make.staff_user("ops@example.org"))
    return client


def test_a_resumed_job_goes_on_forward_and_counts_its_tries_anew(
    stuck: Job, agent: CachingAgent
) -> None:
    decisions.resume(stuck, None)
    assert (stuck.state, stuck.error) == (State.QUEUED, {})
    agent.failing["cache.attach"] = [FAILED] * 2
    run(stuck)
    assert (stuck.state, agent.ran) == (State.SUCCEEDED, ["cache.attach"] * 3)


def test_a_job_is_rolled_back_on_a_persons_word(stuck: Job, agent: CachingAgent) -> None:
    decisions.roll_back(stuck, None)
    run(stuck)
    assert (stuck.state, agent.ran, agent.pools) == (State.FAILED, ["pool.remove"], {})
    assert stuck.error["undone"] == [f"Remove the unused pool {POOL}"]
    assert "residue" not in stuck.error


def test_a_job_past_the_point_of_no_return_is_not_rolled_back(stuck: Job) -> None:
    Job.objects.filter(pk=stuck.pk).update(is_irrevocable=True)
    stuck.refresh_from_db()
    with pytest.raises(Refused, match="no longer possible"):
        decisions.roll_back(stuck, None)
    assert stuck.state == State.NEEDS_ATTENTION


def test_a_resolved_job_reads_the_host_and_ends_with_who_and_why(
    stuck: Job, agent: CachingAgent
) -> None:
    agent.pools.clear()
    ops = Requester(make.staff_user("ops@example.org"), None)
    decisions.resolve(stuck, ops, "removed the pool by hand")
    run(stuck)
    assert (stuck.state, agent.ran) == (State.CANCELLED, [])
    assert stuck.explanation == "cancelled; resolved by ops@example.org: removed the pool by hand"
    stuck.host.refresh_from_db()
    assert [lv["name"] for lv in stuck.host.facts["lvs"]] == ["web12"]


def test_a_job_is_not_resolved_without_the_hosts_answer(stuck: Job, agent: CachingAgent) -> None:
    agent.before["inventory"] = lambda request: Cut()
    decisions.resolve(stuck, None, "it is fine")
    run(stuck)
    assert (stuck.state, stuck.error["code"]) == (State.NEEDS_ATTENTION, "unreachable")
    assert "resolve" not in stuck.error


def test_a_job_is_not_resolved_while_its_operation_runs(stuck: Job, agent: CachingAgent) -> None:
    step = stuck.step_set.last()
    assert step is not None
    step.state = StepState.RUNNING
    step.save()
    agent.outcomes = [{"state": "running", "commands": [], "lines": []}]
    agent.errors.clear()
    decisions.resolve(stuck, None, "it is fine")
    run(stuck)
    assert (stuck.state, stuck.error["code"]) == (State.NEEDS_ATTENTION, "still_running")


@pytest.mark.parametrize("decide", [decisions.resume, decisions.roll_back])
def test_only_a_job_that_waits_for_a_decision_gets_one(
    stuck: Job, decide: Callable[[Job, Any], None]
) -> None:
    Job.objects.filter(pk=stuck.pk).update(state=State.WAITING)
    stuck.refresh_from_db()
    with pytest.raises(Refused, match="does not need a decision"):
        decide(stuck, None)


@pytest.mark.parametrize("verb", ["resume", "rollback", "resolve"])
def test_the_page_of_the_job_offers_every_decision(stuck: Job, staff: Client, verb: str) -> None:
    page = staff.get(reverse("job", args=[stuck.key])).content.decode()
    action = reverse(f"job-{verb}", args=[stuck.key])
    assert f'action="{action}"' in page
    assert f"vg0/{POOL} (2\xa0GiB) exists." in page
    response = staff.post(action, {"why": "done by hand"})
    assert (response.status_code, response.headers["Location"]) == (302, f"/jobs/{stuck.key}/")
    assert Job.objects.get(pk=stuck.pk).state == State.QUEUED
    assert staff.post(action, {"why": "done by hand"}).status_code == 409


@pytest.mark.parametrize(
    ("why", "said"),
    [(" ", "Describe briefly what you did."), ("x" * 201, "Use at most 200 characters.")],
)
def test_a_resolution_without_a_fitting_reason_is_refused(
    stuck: Job, staff: Client, why: str, said: str
) -> None:
    response = staff.post(reverse("job-resolve", args=[stuck.key]), {"why": why})
    assert response.status_code == 422
    assert said in response.content.decode()
    assert Job.objects.get(pk=stuck.pk).state == State.NEEDS_ATTENTION


def test_no_way_back_disables_the_button_with_the_reason(stuck: Job, staff: Client) -> None:
    Job.objects.filter(pk=stuck.pk).update(is_irrevocable=True)
    page = on_one_line(staff.get(reverse("job", args=[stuck.key])).content.decode())
    assert 'disabled aria-describedby="no-way-back">Roll back' in page
    assert "Rollback is no longer possible." in page
