"""What a job that no worker holds waits for."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from jobs.engine.transitions import LEASE
from jobs.models import Halt, Job, Kind, State
from panel.staff.jobs.waiting_reason import WaitingReason, waiting_reason
from storage.models import Host, Volume

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def wait(job: Job, **fields: Any) -> WaitingReason | None:
    plain = {"has_running_step": False, "halt": None, "holder": None, "working": 0, "now": NOW}
    return waiting_reason(job, **{**plain, **fields})


def waiting(host: dict[str, Any] | None = None, **fields: Any) -> Job:
    about = {"state": State.WAITING, "kind": Kind.ADD_CACHE, "created_at": NOW, **fields}
    return Job(host=Host(name="alpha", **(host or {})), volume=Volume(label="web12"), **about)


@pytest.mark.parametrize("state", [State.RUNNING, State.SUCCEEDED, State.NEEDS_ATTENTION])
def test_a_job_that_runs_has_ended_or_needs_a_person_waits_for_nothing(state: State) -> None:
    assert wait(waiting(state=state)) is None


def test_a_step_that_the_host_works_on_is_no_wait() -> None:
    assert wait(waiting(), has_running_step=True, halt=Halt(reason="power")) is None


@pytest.mark.parametrize(
    ("silent_seconds", "until", "said"),
    [
        (20, LEASE - timedelta(seconds=20), "If it stays silent, another worker takes over"),
        (90, None, "as soon as another worker is free"),
    ],
)
def test_a_worker_that_fell_silent_is_reported(
    silent_seconds: int, until: timedelta | None, said: str
) -> None:
    last_heard = NOW - timedelta(seconds=silent_seconds)
    found = wait(waiting(state=State.RUNNING, lease_until=last_heard + LEASE))
    assert found is not None
    assert (found.what, found.until) == ("silent", NOW + until if until else None)
    assert said in found.sentence


def test_a_worker_that_was_heard_of_lately_is_not() -> None:
    last_heard = NOW - timedelta(seconds=10)
    assert wait(waiting(state=State.RUNNING, lease_until=last_heard + LEASE)) is None


def test_a_job_for_later_says_when() -> None:
    later = NOW + timedelta(hours=2)
    found = wait(waiting(state=State.QUEUED, not_before=later))
    assert found is not None
    assert (found.what, found.until) == ("later", later)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(5, "Waiting for a free worker."), (16, "No worker has answered for 16 s")],
)
def test_a_job_that_no_worker_takes_says_what_to_look_at(seconds: int, said: str) -> None:
    found = wait(waiting(state=State.QUEUED, created_at=NOW - timedelta(seconds=seconds)))
    assert found is not None
    assert found.what == "worker"
    assert said in found.sentence


def test_a_job_that_waits_behind_others_says_how_many() -> None:
    job = waiting(state=State.QUEUED, created_at=NOW - timedelta(minutes=1))
    found = wait(job, working=2)
    assert found is not None
    assert found.sentence == "Waiting for 1 min: workers are busy with 2 other jobs."


def test_the_stop_goes_before_everything_else() -> None:
    job = waiting({"maintenance_since": NOW})
    found = wait(job, halt=Halt(reason="power work"), holder=waiting())
    assert found is not None
    assert (found.what, found.holder) == ("stop", None)
    assert "All jobs are paused: power work." in found.sentence


def test_a_maintenance_is_named_with_its_reason() -> None:
    found = wait(waiting({"maintenance_since": NOW, "maintenance_reason": "new disks"}))
    assert found is not None
    assert found.what == "maintenance"
    assert "alpha is in maintenance: new disks." in found.sentence


def test_a_closed_window_says_when_it_opens_and_an_open_one_nothing() -> None:
    closed = wait(waiting({"window_start": time(22), "window_end": time(4)}))
    assert closed is not None
    assert (closed.what, closed.until) == ("window", NOW.replace(hour=22))
    opened = wait(waiting({"window_start": time(10), "window_end": time(14)}))
    assert opened is not None
    assert opened.what == "other"


@pytest.mark.parametrize(("sent", "locked"), [(False, False), (True, True)])
def test_a_silent_host_is_shown_with_the_tries(sent: bool, locked: bool) -> None:
    job = waiting(attempts=3, error={"message": "cut"}, not_before=NOW + timedelta(seconds=8))
    found = wait(job, has_running_step=sent)
    assert found is not None
    assert (found.what, found.until) == ("host", job.not_before)
    assert "no answer to 3 attempts" in found.sentence
    assert ("stays locked" in found.sentence) == locked


def test_a_turn_of_another_job_leads_to_it() -> None:
    other = waiting()
    found = wait(waiting(), holder=other)
    assert found is not None
    assert (found.what, found.holder) == ("turn", other)


def test_whatever_else_is_shown_in_the_runners_words() -> None:
    found = wait(waiting(explanation="vgcfgbackup holds vg0"))
    assert found is not None
    assert found.sentence == "vgcfgbackup holds vg0. Tiercel retries automatically."
