"""What a job has changed on its host so far."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Job, State, Step, StepState
from panel.staff.jobs.headline import barred, changes_so_far

RAN = [{"argv": [], "shell": "lvcreate", "rc": 0}, {"argv": [], "shell": "lvchange", "rc": 5}]
NOT_RUN = [{"argv": [], "shell": "lvcreate", "rc": None, "started_ns": None}]


def step(state: StepState, **fields: Any) -> Step:
    return Step(state=state, title="Attach", args={"vg": "vg0"}, **fields)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (State.RUNNING, "Nothing was changed yet."),
        (State.FAILED, "Nothing was changed on the host."),
    ],
)
def test_without_a_step_nothing_was_changed(state: State, said: str) -> None:
    assert changes_so_far(Job(state=state), [step(StepState.PLANNED)]).sentence == said


def test_a_failed_step_counts_once_a_command_of_it_had_begun() -> None:
    steps = [step(StepState.FAILED, commands=NOT_RUN), step(StepState.FAILED, commands=RAN)]
    found = changes_so_far(Job(state=State.FAILED), steps)
    assert (found.broken, found.sentence) == ((steps[1],), "1 step failed.")


def test_steps_are_shown_by_how_far_they_came() -> None:
    steps = [step(StepState.DONE), step(StepState.DONE), step(StepState.RUNNING)]
    found = changes_so_far(Job(state=State.RUNNING), steps)
    assert found.sentence == "2 steps done, 1 step running."
    assert (found.done, found.unknown) == (tuple(steps[:2]), (steps[2],))


@pytest.mark.parametrize(
    ("state", "holds_vg", "kept"),
    [
        (State.NEEDS_ATTENTION, True, "vg0"),
        (State.NEEDS_ATTENTION, False, ""),
        (State.RUNNING, True, ""),
    ],
)
def test_a_job_that_needs_a_person_keeps_the_group_of_its_running_step(
    state: State, holds_vg: bool, kept: str
) -> None:
    found = changes_so_far(Job(state=state), [step(StepState.RUNNING, holds_vg=holds_vg)])
    assert found.kept_group == kept


def test_a_decision_keeps_the_group_of_a_step_that_may_still_run() -> None:
    job = Job(state=State.NEEDS_ATTENTION, volume_id=1)
    held = step(StepState.RUNNING, holds_vg=True)
    assert (
        barred(job, changes_so_far(job, []))
        == "Until you decide, no other job may change this volume."
    )
    assert "No job may change the volume group vg0 either: “Attach”" in barred(
        job, changes_so_far(job, [held])
    )


def test_a_decision_about_an_ssd_keeps_the_host() -> None:
    job = Job(state=State.NEEDS_ATTENTION)
    assert "add an SSD to this host" in barred(job, changes_so_far(job, []))
