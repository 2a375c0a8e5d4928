"""Jobs against an agent over real SSH: success, failure, and everything lost in between."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from jobs.engine import finish, runner, steps
from jobs.engine.transitions import LostLease, claim, renew
from jobs.hosts import contact
from jobs.hosts.read_inventory import placement_of
from jobs.models import Job, State, StepState
from jobs.queue.reaper import due
from jobs.queue.submit import ChangeRequest, cancel, submit
from jobs.requester import Requester
from storage.byte_sizes import GIB
from storage.models import Placement, Volume
from storage.planner import plan
from storage.planner.wish import LvmCache, Wish
from tests import make
from tests.jobs.agent import WISH, TaggingAgent, running
from tests.jobs.sshd import Cut, Raw, Refuse, Sshd

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]


def start(sshd: Make, agent: TaggingAgent, wish: Wish = WISH) -> tuple[Job, Sshd]:
    """A queued job for the agent's volume."""
    server = sshd(agent)
    volume = make.volume()
    make.placement(volume, server.host(), lv_name=agent.lv.name, lv_uuid=agent.lv.uuid)
    return submit(ChangeRequest("tag-volume", volume, wish), Requester(None)), server


def run(job: Job) -> Job:
    """One worker's turn, whenever the job is due."""
    Job.objects.filter(pk=job.pk).update(not_before=None)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def test_a_job_runs_the_plan_and_is_done_when_the_facts_say_so(
    sshd: Make, agent: TaggingAgent
) -> None:
    job, server = start(sshd, agent)
    run(job)
    assert (job.state, job.error) == (State.SUCCEEDED, {})
    assert server.verbs() == ["inventory", "volume.tag", "op.get", "inventory"]
    step = job.step_set.get()
    assert (step.state, step.verb) == (StepState.DONE, "volume.tag")
    assert step.commands == [{"argv": ["lvchange"], "shell": "lvchange --addtag", "rc": 0}]
    assert [line.text for line in job.lines_after(0)] == ["Logical volume changed."]
    assert server.requests[1]["id"] == str(step.op_id)


def test_success_changes_the_records_with_the_state(sshd: Make, agent: TaggingAgent) -> None:
    job, _ = start(sshd, agent)
    run(job)
    volume = Volume.objects.get(pk=job.volume_id)
    assert volume.managed
    assert volume.current_wish == WISH
    assert volume.size_bytes == 8 * GIB
    assert Placement.objects.get(volume=volume).lv_uuid == agent.lv.uuid


def test_a_wish_that_holds_already_runs_nothing(sshd: Make, agent: TaggingAgent) -> None:
    job, server = start(sshd, agent)
    agent.lv = dataclasses.replace(agent.lv, tags=make.tags(job.volume.key))
    run(job)
    assert job.state == State.SUCCEEDED
    assert server.verbs() == ["inventory"]
    assert "Nothing to do" in job.sentence


def test_a_good_exit_without_effect_is_not_success(sshd: Make, agent: TaggingAgent) -> None:
    agent.has_effect = False
    job, _ = start(sshd, agent)
    run(job)
    assert (job.state, job.error["code"]) == (State.NEEDS_ATTENTION, "no_progress")
    assert agent.runs == steps.TRIES


def test_the_operation_id_is_stored_before_the_request_is_sent(
    sshd: Make, agent: TaggingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, _ = start(sshd, agent)
    stored: list[uuid.UUID | None] = []
    ask = contact.ask

    def look(host: Any, verb: str, *args: Any, **fields: Any) -> Any:
        if verb == "volume.tag":
            stored.append(job.step_set.get(state=StepState.RUNNING).op_id)
            assert fields["request_id"] == str(stored[0])
        return ask(host, verb, *args, **fields)

    monkeypatch.setattr(contact, "ask", look)
    run(job)
    assert stored == [job.step_set.get().op_id]


def test_a_connection_cut_in_the_middle_of_a_step_does_not_fail_the_job(
    sshd: Make, agent: TaggingAgent
) -> None:
    cuts = [Cut(), Cut(), None]

    def cut_after_start(request: dict[str, Any]) -> object:
        agent.tag(request)
        return cuts.pop(0)

    agent.before["volume.tag"] = cut_after_start
    job, server = start(sshd, agent)
    run(job)
    assert job.state == State.SUCCEEDED
    assert agent.runs == 1
    assert server.connections == 3
    assert "cut during a request" in job.lines_after(0)[0].text


def test_a_request_on_a_dead_channel_is_sent_again_under_the_same_id(
    sshd: Make, agent: TaggingAgent
) -> None:
    def cut_after_start(request: dict[str, Any]) -> object:
        started_before = bool(agent.ops)
        agent.tag(request)
        return None if started_before else Cut()

    agent.before["volume.tag"] = cut_after_start
    job, server = start(sshd, agent)
    run(job)
    assert job.state == State.SUCCEEDED
    assert agent.runs == 1
    sent = [request["id"] for request in server.requests if request["verb"] == "volume.tag"]
    assert sent == [str(job.step_set.get().op_id)] * 2


def test_a_request_that_never_arrived_is_planned_anew(sshd: Make, agent: TaggingAgent) -> None:
    cuts = [Cut(), Cut(), None]
    agent.before["volume.tag"] = lambda request: cuts.pop(0)
    job, _ = start(sshd, agent)
    run(job)
    assert job.state == State.SUCCEEDED
    states = [(step.state, step.error.get("code")) for step in job.step_set.all()]
    assert states == [(StepState.FAILED, "not_started"), (StepState.DONE, None)]


def test_a_long_operation_waits_without_a_worker_and_is_taken_up_again(
    sshd: Make, agent: TaggingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "HOLD_SECONDS", 0.0)
    progress = {"label": "zeroing", "done_bytes": 1, "total_bytes": 4}
    agent.outcomes = [running(progress=progress, lines=[{"n": 1, "text": "one"}]), running()]
    job, _ = start(sshd, agent)
    run(job)
    assert (job.state, job.lease_owner) == (State.WAITING, "")
    assert job.step_set.get().progress == progress
    assert job.pk not in due()
    runner.run(job.pk)
    assert Job.objects.get(pk=job.pk).state == State.WAITING, "it is not due yet"
    run(job)
    assert job.state == State.WAITING
    run(job)
    assert job.state == State.SUCCEEDED
    assert agent.runs == 1
    assert [line.text for line in job.lines_after(0)] == ["one"]


def test_a_dead_workers_job_is_taken_over_and_its_operation_asked_for(
    sshd: Make, agent: TaggingAgent
) -> None:
    job, server = start(sshd, agent)
    dead = claim(job.pk, "dead worker")
    assert dead is not None
    planned = plan(make.facts(agent.lv), placement_of(job).target, WISH)
    step = steps.intend(dead, planned[0])
    assert step is not None
    agent.tag({"id": str(step.op_id), "args": step.args})
    runner.run(job.pk)
    assert server.verbs() == [], "the lease still holds"
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))
    assert due() == [job.pk]
    run(job)
    assert job.state == State.SUCCEEDED
    assert server.verbs()[0] == "op.get"
    assert agent.runs == 1
    with pytest.raises(LostLease):
        renew(dead)


def test_a_step_that_fails_three_times_fails_the_job_with_the_agents_words(
    sshd: Make, agent: TaggingAgent
) -> None:
    failed = {
        "code": "cmd_failed",
        "message": "lvchange ended with 5",
        "correction": "Read the output.",
        "argv": ["lvchange"],
        "rc": 5,
        "stderr": "  Volume group vg0 not found\n  giving up",
    }
    agent.has_effect = False
    agent.outcomes = [{"state": "failed", "lines": [], "error": failed}] * 3
    job, _ = start(sshd, agent)
    run(job)
    assert job.state == State.FAILED
    assert (job.error["message"], job.error["rc"]) == ("lvchange ended with 5", 5)
    assert job.step_set.filter(state=StepState.FAILED).count() == 3
    assert [line.text for line in job.lines_after(4)] == [
        "  Volume group vg0 not found",
        "  giving up",
    ]


@pytest.mark.parametrize("code", ["observe_only", "no_space", "in_use", "vg_not_allowed"])
def test_a_refusal_that_fresh_facts_cannot_lift_fails_at_once(
    sshd: Make, agent: TaggingAgent, code: str
) -> None:
    def refuse(request: dict[str, Any]) -> object:
        raise Refuse(code, "not here")

    agent.before["volume.tag"] = refuse
    job, server = start(sshd, agent)
    run(job)
    assert (job.state, job.error["code"]) == (State.FAILED, code)
    assert job.error["correction"] == "mend it"
    assert server.verbs().count("volume.tag") == 1


def test_a_busy_volume_group_is_waited_for_and_costs_no_try(
    sshd: Make, agent: TaggingAgent
) -> None:
    busy = 6

    def refuse(request: dict[str, Any]) -> object:
        nonlocal busy
        busy -= 1
        if busy > 0:
            raise Refuse("busy", "vgcfgbackup holds vg0")
        return None

    agent.before["volume.tag"] = refuse
    job, _ = start(sshd, agent)
    for _ in range(5):
        run(job)
        assert (job.state, job.explanation) == (State.WAITING, "vgcfgbackup holds vg0")
    run(job)
    assert job.state == State.SUCCEEDED
    assert job.step_set.count() == 1


def test_a_refused_plan_fails_with_its_correction(sshd: Make, agent: TaggingAgent) -> None:
    job, server = start(sshd, agent, Wish(size_bytes=8 * GIB, cache=LvmCache("c-a", GIB)))
    run(job)
    assert (job.state, job.error["code"]) == (State.FAILED, "bad_request")
    assert job.error["correction"]
    assert server.verbs() == ["inventory"]


def test_an_unreachable_host_fails_the_job_after_a_few_tries(
    sshd: Make, agent: TaggingAgent
) -> None:
    job, server = start(sshd, agent)
    server.close()
    for _ in range(finish.TRIES - 1):
        run(job)
        assert (job.state, job.error["code"]) == (State.WAITING, "unreachable")
    run(job)
    assert (job.state, job.error["code"]) == (State.FAILED, "unreachable")
    assert not job.step_set.exists()
    server.start()


def test_a_host_lost_during_a_step_keeps_the_volume_locked_until_it_answers(
    sshd: Make, agent: TaggingAgent
) -> None:
    job, _ = start(sshd, agent)
    agent.before["op.get"] = lambda request: Cut()
    run(job)
    for _ in range(finish.TRIES + 2):
        assert (job.state, job.error["code"]) == (State.WAITING, "unreachable")
        run(job)
    agent.before = {}
    run(job)
    assert (job.state, job.error, agent.runs) == (State.SUCCEEDED, {}, 1)


def test_after_long_without_an_answer_a_person_decides(sshd: Make, agent: TaggingAgent) -> None:
    job, _ = start(sshd, agent)
    agent.before["op.get"] = lambda request: Cut()
    run(job)
    Job.objects.filter(pk=job.pk).update(attempts=finish.PATIENCE_TRIES)
    run(job)
    assert job.state == State.NEEDS_ATTENTION
    assert "before you cancel" in job.error["correction"]
    assert cancel(job, None)
    assert job.state == State.CANCELLED


def test_a_cancelled_job_ends_before_its_next_step(sshd: Make, agent: TaggingAgent) -> None:
    job, _ = start(sshd, agent)

    def cancel_meanwhile(request: dict[str, Any]) -> object:
        agent.before = {}
        requests.append(request)
        return None

    requests: list[dict[str, Any]] = []
    agent.before["inventory"] = cancel_meanwhile
    Job.objects.filter(pk=job.pk).update(cancel_requested=True)
    run(job)
    assert len(requests) == 1
    assert (job.state, agent.runs) == (State.CANCELLED, 0)


def test_an_inventory_that_does_not_decode_is_no_crash(sshd: Make, agent: TaggingAgent) -> None:
    agent.before["inventory"] = lambda request: {"consistent": True}
    job, _ = start(sshd, agent)
    for _ in range(finish.TRIES):
        run(job)
    assert (job.state, job.error["code"]) == (State.FAILED, "bad_reply")


def test_nul_and_surrogates_in_output_are_stored_harmlessly(
    sshd: Make, agent: TaggingAgent
) -> None:
    agent.outcomes = [{"lines": [{"n": 1, "text": "a\0b\ud800"}]}]
    job, _ = start(sshd, agent)
    run(job)
    assert job.state == State.SUCCEEDED
    assert job.lines_after(0)[0].text == "a\ufffdb?"


def test_garbage_for_a_poll_is_asked_again(sshd: Make, agent: TaggingAgent) -> None:
    garbage = [Raw(b"boom\n"), {"state": "dancing"}]
    agent.before["op.get"] = lambda request: garbage.pop(0) if garbage else None
    job, _ = start(sshd, agent)
    run(job)
    assert job.state == State.SUCCEEDED


def test_a_mistake_in_the_panel_fails_the_job_and_does_not_come_back(
    sshd: Make, agent: TaggingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(runner, "remaining_steps", broken)
    job, _ = start(sshd, agent)
    run(job)
    assert (job.state, job.error["code"]) == (State.FAILED, "internal")
    assert job.error["correction"].endswith("The new job starts from the current state.")
    assert due() == []


def test_output_is_capped_and_says_so(sshd: Make, agent: TaggingAgent) -> None:
    agent.outcomes = [{"lines": [{"n": n, "text": "x"} for n in range(1, 5100)]}]
    job, _ = start(sshd, agent)
    run(job)
    lines = list(job.lines_after(0))
    assert len(lines) == steps.LINES_LIMIT
    assert "only on the host" in lines[-1].text


def test_a_host_lost_between_two_steps_does_not_leave_half_a_job(
    sshd: Make, agent: TaggingAgent
) -> None:
    job, _ = start(sshd, agent)
    inventories: list[object] = [None, Cut(), Cut(), Cut(), Cut(), Cut(), Cut(), Cut()]
    agent.before["inventory"] = lambda request: inventories.pop(0) if inventories else None
    run(job)
    for _ in range(finish.TRIES):
        assert (job.state, job.error["code"]) == (State.WAITING, "unreachable")
        run(job)
    while not job.is_over:
        run(job)
    assert (job.state, agent.runs) == (State.SUCCEEDED, 1)


def test_a_panel_that_fails_while_an_operation_runs_keeps_the_volume_locked(
    sshd: Make, agent: TaggingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> bool:
        raise RuntimeError("the database went away")

    monkeypatch.setattr(runner, "watch", broken)
    job, _ = start(sshd, agent)
    assert (run(job).state, "resume" in job.error["correction"]) == (State.NEEDS_ATTENTION, True)
