"""A job with a window begins within it, and its flush rests outside."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from jobs.engine import holds, operation, runner
from jobs.engine.transitions import need_attention_after_restore
from jobs.models import Job, Kind, State, StepState
from jobs.queue.job_windows import change_window, window_fields
from jobs.queue.submit import Busy, ChangeRequest, cancel, submit
from jobs.requester import Requester
from jobs.transport.errors import AnswerTimeout
from storage.models import Host, Volume
from storage.planner.daily_window import DailyWindow
from tests import make
from tests.jobs.cachingagent import managed
from tests.jobs.engine.test_runner import run
from tests.jobs.sshd import Sshd
from tests.jobs.windows import DIRTY, FLUSHED, RestingAgent, closed_window, open_window

pytestmark = pytest.mark.django_db
Make = Callable[..., Sshd]

UNCACHED = dataclasses.replace(DIRTY, cache=None)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "POLL_SECONDS", (0.01, 0.02))
    monkeypatch.setattr(runner, "HOLD_SECONDS", 0.0)


@pytest.fixture
def agent() -> RestingAgent:
    return RestingAgent()


@pytest.fixture
def volume(sshd: Make, agent: RestingAgent) -> Volume:
    return managed(agent, sshd(agent).host())


def asked(volume: Volume, window: DailyWindow | None, kind: Kind = Kind.FLUSH_CACHE) -> Job:
    wish = FLUSHED if kind == Kind.FLUSH_CACHE else UNCACHED
    return submit(ChangeRequest(kind, volume, wish, window=window), Requester(None))


def move_window(job: Job, window: DailyWindow) -> None:
    """As if the time had come for the window to be open, or closed."""
    Job.objects.filter(pk=job.pk).update(**window_fields(window))


def test_it_is_accepted_at_once_and_waits_until_its_window_opens(
    volume: Volume, agent: RestingAgent
) -> None:
    job = asked(volume, closed_window())
    runner.run(job.pk)
    job.refresh_from_db()
    assert (job.state, agent.ran) == (State.QUEUED, [])
    assert "Flush cache: waits for its window: t" in job.sentence
    assert job.not_before is not None
    assert timedelta(minutes=118) < job.not_before - timezone.now() < timedelta(minutes=121)


def test_it_begins_at_once_where_its_window_is_open(volume: Volume, agent: RestingAgent) -> None:
    agent.ends = True
    job = asked(volume, open_window())
    assert job.not_before is None
    for _ in range(4):
        run(job)
    assert (job.state, agent.ran) == (State.SUCCEEDED, ["cache.flush", "cache.set"])


def test_a_worker_that_takes_it_too_early_does_not_ask_the_host(
    volume: Volume, agent: RestingAgent
) -> None:
    job = run(asked(volume, closed_window()))
    assert (job.state, agent.ran) == (State.WAITING, [])
    assert "waits for its window" in job.sentence
    assert job.not_before is not None and job.not_before > timezone.now() + timedelta(hours=1)


def test_a_flush_that_is_not_done_at_the_end_of_the_window_rests_until_the_next_one(
    volume: Volume, agent: RestingAgent
) -> None:
    job = run(asked(volume, open_window()))
    assert (job.state, agent.ran) == (State.WAITING, ["cache.flush"])
    move_window(job, closed_window())
    for _ in range(3):
        run(job)
    assert agent.aborted == [str(job.step_set.get(n=1).op_id)]
    assert agent.ran == ["cache.flush", "cache.set"], "the cache works as before all day"
    assert agent.lv.cache is not None and agent.lv.cache.policy == "smq"
    assert (job.state, job.error) == (State.WAITING, {})
    assert "waits for its window" in job.sentence
    assert job.not_before is not None and job.not_before > timezone.now() + timedelta(hours=1)
    move_window(job, open_window())
    agent.ends = True
    for _ in range(4):
        run(job)
    assert job.state == State.SUCCEEDED
    assert agent.ran == ["cache.flush", "cache.set"] * 2


def test_each_night_counts_its_own_tries(volume: Volume, agent: RestingAgent) -> None:
    job = asked(volume, open_window())
    for _ in range(5):
        move_window(job, open_window())
        run(job)
        move_window(job, closed_window())
        for _ in range(3):
            run(job)
        # It was last night.
        for step in job.step_set.exclude(started_at=None):
            job.step_set.filter(pk=step.pk).update(started_at=Now() - timedelta(days=2))
    assert (job.state, job.error) == (State.WAITING, {})
    assert agent.ran == ["cache.flush", "cache.set"] * 5


def test_a_removal_whose_flush_ended_goes_on_after_the_window(
    volume: Volume, agent: RestingAgent
) -> None:
    agent.ends = True
    job = run(asked(volume, open_window(), Kind.REMOVE_CACHE))
    assert agent.ran[0] == "cache.flush"
    move_window(job, closed_window())
    for _ in range(3):
        run(job)
    assert (job.state, agent.ran) == (State.SUCCEEDED, ["cache.flush", "cache.detach"])


def test_one_whose_flush_rests_is_cancelled_at_once_although_its_window_is_closed(
    volume: Volume, agent: RestingAgent
) -> None:
    job = run(asked(volume, open_window(), Kind.REMOVE_CACHE))
    move_window(job, closed_window())
    for _ in range(3):
        run(job)
    cancel(job, None)
    for _ in range(3):
        run(job)
    assert job.state == State.CANCELLED
    assert agent.ran == ["cache.flush", "cache.set"]


def test_one_that_waits_for_its_window_is_cancelled_at_once(volume: Volume) -> None:
    job = asked(volume, closed_window())
    assert cancel(job, None)
    assert job.state == State.CANCELLED


def test_a_person_lets_it_run_now(volume: Volume, agent: RestingAgent) -> None:
    agent.ends = True
    job = asked(volume, closed_window())
    change_window(job, None, Requester(make.staff_user("bob@example.org")))
    assert (job.window, job.not_before) == (None, None)
    for _ in range(4):
        run(job)
    assert job.state == State.SUCCEEDED
    assert job.line_set.filter(text="Window removed by bob@example.org.").count() == 1


def test_a_window_that_is_removed_while_a_worker_lets_the_job_go_holds_nothing(
    volume: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = asked(volume, closed_window())
    check = runner.check_window

    def remove(held: Job, now: object) -> None:
        change_window(job, None, Requester(None))
        check(held, now)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "check_window", remove)
    run(job)
    assert (job.state, job.not_before) == (State.WAITING, None)


def test_a_second_job_of_the_volume_is_refused_while_the_first_one_waits(volume: Volume) -> None:
    first = asked(volume, closed_window())
    with pytest.raises(Busy) as busy:
        asked(volume, None, Kind.REMOVE_CACHE)
    assert busy.value.job == first


def test_a_host_that_is_away_for_the_whole_window_is_asked_again_in_the_next_one(
    sshd: Make, agent: RestingAgent
) -> None:
    server = sshd(agent)
    volume = managed(agent, server.host())
    job = asked(volume, open_window())
    server.close()
    for _ in range(5):
        run(job)
    assert (job.state, job.attempts) == (State.WAITING, 5)
    move_window(job, closed_window())
    run(job)
    assert (job.state, job.attempts) == (State.WAITING, 0)
    assert "waits for its window" in job.sentence
    assert job.not_before is not None and job.not_before > timezone.now() + timedelta(hours=1)


def test_a_flush_that_was_stopped_is_set_back_as_soon_as_its_host_answers_again(
    volume: Volume, agent: RestingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_answer(host: Host) -> None:
        raise AnswerTimeout(host.name, 10)

    job = run(asked(volume, open_window()))
    move_window(job, closed_window())
    with monkeypatch.context() as away:
        away.setattr(runner, "read_facts", no_answer)
        for _ in range(3):
            run(job)
    assert (job.state, agent.ran) == (State.WAITING, ["cache.flush"])
    assert job.not_before is not None and job.not_before < timezone.now() + timedelta(minutes=6)
    run(job)
    assert agent.ran == ["cache.flush", "cache.set"]
    assert job.not_before is not None and job.not_before > timezone.now() + timedelta(hours=1)


def test_after_a_restore_a_person_resumes_it_and_it_waits_for_its_window(
    volume: Volume, agent: RestingAgent
) -> None:
    from jobs.engine import decisions

    job = asked(volume, closed_window())
    need_attention_after_restore({"code": "restored", "message": "Restored.", "correction": ""})
    job.refresh_from_db()
    decisions.resume(job, None)
    run(job)
    assert (job.state, agent.ran) == (State.WAITING, [])
    assert "waits for its window" in job.sentence


def test_a_worker_that_dies_leaves_a_flush_that_the_next_one_stops(
    volume: Volume, agent: RestingAgent
) -> None:
    job = run(asked(volume, open_window()))
    Job.objects.filter(pk=job.pk).update(
        state=State.RUNNING, lease_owner="dead", lease_until=Now() - timedelta(seconds=1)
    )
    move_window(job, closed_window())
    for _ in range(3):
        run(job)
    assert len(agent.aborted) == 1
    assert job.step_set.get(n=1).state == StepState.FAILED
    assert (job.state, agent.ran) == (State.WAITING, ["cache.flush", "cache.set"])


def test_maintenance_holds_it_also_in_its_window(volume: Volume, agent: RestingAgent) -> None:
    job = asked(volume, open_window())
    holds.begin_maintenance(job.host, "new disks", timezone.now() + timedelta(hours=1))
    run(job)
    assert (job.state, agent.ran) == (State.WAITING, [])
    assert "is in maintenance until" in job.sentence
