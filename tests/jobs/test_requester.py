"""Who ordered something of a job after the person who asked for it: the trail, the output and the
end of the job say it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.test import Client
from django.urls import reverse

from jobs.engine import decisions, runner
from jobs.models import AuditEntry, Job, Kind, Origin, Phase, State, StepState
from jobs.queue.submit import ChangeRequest, cancel, submit
from jobs.requester import Requester, job_fields
from tests import make
from tests.jobs.caching import agent as agent
from tests.jobs.cachingagent import CACHED, FAILED, CachingAgent, managed
from tests.jobs.engine.test_rollback import before_sending
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Sshd
from tests.scene import job as job_of
from tests.scene import scene, step

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]
Who = tuple[str, str, str, str]

ADAS: Who = ("ada@example.org", "tcl_ada", "192.0.2.1", "api")
BOBS: Who = ("bob@example.org", "", "198.51.100.2", "page")
OP_ID = "6a7c1e4e-1b57-4c0e-8a53-90e54ab1c009"


def ada() -> Requester:
    """Ada's program."""
    return Requester(make.staff_user("ada@example.org"), "192.0.2.1", Origin.API, "tcl_ada")


@pytest.fixture
def bob() -> AbstractBaseUser:
    return make.staff_user("bob@example.org")


@pytest.fixture
def pages(bob: AbstractBaseUser) -> Client:
    """Bob's browser."""
    client = Client(REMOTE_ADDR="198.51.100.2")
    client.force_login(bob)
    return client


@pytest.fixture
def job(sshd: Make, agent: CachingAgent) -> Job:
    """A queued job of Ada's that adds a cache."""
    volume = managed(agent, sshd(agent).host())
    return submit(ChangeRequest(Kind.ADD_CACHE, volume, CACHED), ada())


@pytest.fixture
def stuck(job: Job, agent: CachingAgent) -> Job:
    """That job, once its cache could be neither attached nor removed."""
    agent.failing = {"cache.attach": [FAILED] * 3, "pool.remove": [FAILED] * 3}
    assert run(job).state == State.NEEDS_ATTENTION
    return job


def trail(job: Job) -> list[tuple[str, str, Who]]:
    """Phase, verb and who of each entry of the job, oldest first."""
    found = AuditEntry.objects.filter(job_key=job.key)
    return [
        (each.phase, each.verb, (each.actor, each.token, str(each.address), each.origin))
        for each in found
    ]


def pair(verb: str, who: Who) -> list[tuple[str, str, Who]]:
    return [("intent", verb, who), ("outcome", verb, who)]


def lines(job: Job) -> list[str]:
    return list(job.line_set.order_by("n").values_list("text", flat=True))


def askers(job: Job) -> Who:
    """Who asked for the job first."""
    job = Job.objects.get(pk=job.pk)
    return (str(job.actor), job.token, str(job.address), job.origin)


@pytest.mark.parametrize(
    ("decision", "verbs"), [("rollback", ["pool.remove"]), ("resume", ["cache.attach"])]
)
def test_what_a_job_does_on_a_decision_is_that_persons(
    stuck: Job, agent: CachingAgent, pages: Client, decision: str, verbs: list[str]
) -> None:
    before = trail(stuck)
    assert {who for _, _, who in before} == {ADAS}
    assert pages.post(reverse(f"job-{decision}", args=[stuck.key])).status_code == 302
    assert run(stuck).is_over
    assert trail(stuck) == before + [entry for verb in verbs for entry in pair(verb, BOBS)]
    assert askers(stuck) == ADAS


def test_a_resolved_job_remembers_who_settled_it(stuck: Job, pages: Client) -> None:
    pages.post(reverse("job-resolve", args=[stuck.key]), {"why": "removed it"})
    assert run(stuck).state == State.CANCELLED
    assert (str(stuck.last_actor), stuck.last_origin) == ("bob@example.org", "page")
    assert stuck.last_address == "198.51.100.2"


def test_a_cancelled_job_undoes_on_the_word_of_who_cancelled_it(
    job: Job, agent: CachingAgent, pages: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = reverse("job-cancel", args=[job.key])
    before_sending(monkeypatch, "pool.create", lambda: pages.post(url))
    run(job)
    assert (job.state, agent.ran) == (State.CANCELLED, ["pool.create", "pool.remove"])
    # What was sent before she was overruled stays hers.
    assert trail(job) == pair("pool.create", ADAS) + pair("pool.remove", BOBS)
    assert job.explanation == "cancelled by bob@example.org; finished steps were undone"
    assert lines(job)[0] == "Cancellation requested by bob@example.org."
    assert askers(job) == ADAS


def test_a_job_cancelled_before_a_step_ends_with_who_did_it(
    job: Job, bob: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    Job.objects.filter(pk=job.pk).update(fallback=None)
    asked = Job.objects.get(pk=job.pk)
    requester = Requester(bob, "198.51.100.2")
    before_sending(monkeypatch, "inventory", lambda: cancel(asked, requester))
    run(job)
    assert job.state == State.CANCELLED
    assert job.explanation.startswith("cancelled by bob@example.org before: ")


def test_a_job_cancelled_half_way_without_a_way_back_ends_with_who_did_it(
    job: Job, bob: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    Job.objects.filter(pk=job.pk).update(fallback=None)
    asked = Job.objects.get(pk=job.pk)
    before_sending(monkeypatch, "pool.create", lambda: cancel(asked, Requester(bob, None)))
    run(job)
    assert job.explanation.startswith("cancelled by bob@example.org; left on the host: ")


def test_who_cancels_a_cancelled_job_changes_nothing(bob: AbstractBaseUser) -> None:
    waiting = job_of(scene(), state=State.WAITING, **job_fields(ada()))
    step(waiting, state=StepState.DONE, op_id=OP_ID)
    assert not cancel(waiting, Requester(bob, "198.51.100.2"))
    assert not cancel(waiting, Requester(make.staff_user("eve@example.org"), None))
    waiting.refresh_from_db()
    assert waiting.last_actor == bob
    assert lines(waiting) == ["Cancellation requested by bob@example.org."]


def test_what_tiercel_cancels_itself_keeps_whom_it_has(bob: AbstractBaseUser) -> None:
    waiting = job_of(scene(), state=State.WAITING, last_actor=bob, last_origin=Origin.PAGE)
    step(waiting, state=StepState.DONE, op_id=OP_ID)
    assert not cancel(waiting, None)
    waiting.refresh_from_db()
    assert (waiting.last_actor, lines(waiting)) == (bob, [])


def test_an_operation_given_up_unread_is_given_up_by_who_ended_the_job(pages: Client) -> None:
    stuck = job_of(scene(), state=State.NEEDS_ATTENTION, **job_fields(ada()))
    step(stuck, state=StepState.RUNNING, op_id=OP_ID)
    assert pages.post(reverse("job-cancel", args=[stuck.key])).status_code == 302
    assert trail(stuck) == [("outcome", "cache.attach", BOBS)]
    outcome = AuditEntry.objects.get(phase=Phase.OUTCOME)
    assert outcome.result["state"] == "unknown"


def test_an_account_that_is_gone_leaves_its_address_and_token(
    stuck: Job, bob: AbstractBaseUser
) -> None:
    decisions.roll_back(stuck, Requester(bob, "198.51.100.2", Origin.API, "tcl_bob"))
    bob.delete()
    run(stuck)
    assert trail(stuck)[-2:] == pair("pool.remove", ("", "tcl_bob", "198.51.100.2", "api"))


def test_the_records_that_a_job_changes_are_signed_by_who_ordered_it_last(
    stuck: Job, bob: AbstractBaseUser, agent: CachingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed: list[tuple[str, str]] = []
    sign = runner.audit_trail.signed

    def note(job: Job) -> object:
        context = sign(job)
        signed.append((context.metadata["actor"], context.metadata["token"]))
        return context

    monkeypatch.setattr(runner.audit_trail, "signed", note)
    decisions.resume(stuck, Requester(bob, None, Origin.API, "tcl_bob"))
    assert run(stuck).state == State.SUCCEEDED
    assert signed == [("bob@example.org", "tcl_bob")]
