"""What the pages say of a job: its title for its current state ("Adding a cache to web12",
"Failed to add …"), what it costs, and what cancelling, closing and rollback do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from jobs.models import Job, State, Step, StepState
from jobs.models.job import WORDS
from jobs.transport.replies import has_begun
from storage.formatting import seconds, size
from storage.planner.cost import Cost

SLOWED_PERCENT: Final = 50
"""A step that works for less of the time is throttled to protect other volumes."""


def headline(job: Job, *, begun: bool) -> str:
    """Kind, label and state in one phrase; `begun`: a step of it was sent to the host."""
    words, label = WORDS[job.kind], job.label
    if job.dry_run:
        return f"Preview: {words.do.format(label)}"
    if job.state == State.SUCCEEDED:
        return words.done.format(label)
    if job.state == State.FAILED:
        return f"Failed to {words.do.format(label)}"
    if job.state == State.CANCELLED:
        return f"Cancelled: {words.do.format(label)}"
    if job.state == State.NEEDS_ATTENTION:
        return f"Needs a decision: {words.do.format(label)}"
    if job.is_rolling_back:
        return f"Rolling back: {words.do.format(label)}"
    if begun or job.state == State.RUNNING:
        return words.doing.format(label)
    return f"Waiting to {words.do.format(label)}"


def detail(job: Job, *, is_at_work: bool = False) -> str:
    """What the headline does not say: what it does now, or how it ended; "" where that is all. An
    error is shown apart from it. `is_at_work`: a step runs on the host, with or without worker."""
    if job.state in (State.FAILED, State.NEEDS_ATTENTION):
        return job.explanation if "undone" in job.error else ""
    if job.state == State.RUNNING and not job.explanation:
        return "Reading what is on the host."
    if job.state == State.QUEUED or (job.state == State.WAITING and not is_at_work):
        return ""
    explanation = job.explanation.rstrip(".")
    return f"{explanation[:1].upper()}{explanation[1:]}." if explanation else ""


def cancel_effect(job: Job) -> str:
    """What cancelling does to the steps of a job that runs."""
    if job.fallback is not None:
        return "The job stops before its next step and undoes the finished steps."
    return "The job stops before its next step. Finished steps are not undone."


def close_effect(unknown: Sequence[Step]) -> str:
    """What closing a job without checking means; `unknown` are its steps of unknown outcome."""
    result = f" The result of “{unknown[0].title}” stays unknown." if unknown else ""
    return (
        f"Closes the job without checking the host.{result} Use this only if the host is gone for "
        "good."
    )


def is_slowed(step: Step | None) -> bool:
    """Whether the running step rests most of the time, because it slows other volumes down."""
    others = (step.progress.get("others") if step is not None else None) or {}
    return bool(others.get("share_percent", 100) < SLOWED_PERCENT)


def cost_sentence(cost: Cost) -> str:
    """What a preview costs, in one line; its own page has a table."""
    wait = seconds(cost.wait_seconds) if cost.wait_seconds else "none"
    space = f" Needs {size(cost.ssd_bytes)} of {size(cost.ssd_free_bytes)} free SSD space."
    return (
        f"Takes {cost.duration}. Longest wait for other volumes: {wait}."
        f"{space if cost.ssd_bytes else ''} Rollback: {cost.rollback}."
    )


def rollback(job: Job, steps: Iterable[Step], *, is_possible: bool) -> str:
    """Whether an unfinished job can still be undone. One that never rolls back automatically, such
    as a new volume, says what its preview said (`storage.planner.cost.Cost.rollback`)."""
    if is_possible:
        return "possible"
    if job.is_irrevocable:
        return "no longer possible"
    return (
        "not possible"
        if any(step.makes_irrevocable for step in steps)
        else "possible with a new job"
    )


@dataclass(frozen=True, slots=True)
class ChangesSoFar:
    """Steps by how far they came: `done`, `broken` (failed after a command had begun), `unknown`
    (sent, and not known to be over). `kept_group`: the volume group that a step of unknown outcome
    keeps for itself while a person decides; "" for none."""

    sentence: str
    done: tuple[Step, ...]
    broken: tuple[Step, ...]
    unknown: tuple[Step, ...]
    kept_group: str


def changes_so_far(job: Job, steps: Sequence[Step]) -> ChangesSoFar:
    """`steps` are all of the job, in their order."""
    done = tuple(step for step in steps if step.state == StepState.DONE)
    broken = tuple(
        step for step in steps if step.state == StepState.FAILED and has_begun(step.commands)
    )
    unknown = tuple(step for step in steps if step.state == StepState.RUNNING)
    is_left = job.state == State.NEEDS_ATTENTION
    locked_groups = [str(step.args.get("vg", "")) for step in unknown if step.holds_vg and is_left]
    return ChangesSoFar(
        _sentence(job, len(done), len(broken), len(unknown)),
        done,
        broken,
        unknown,
        locked_groups[0] if locked_groups else "",
    )


def barred(job: Job, changes_so_far: ChangesSoFar) -> str:
    """What no other job may do while a person has to decide about this one."""
    what = "change this volume" if job.volume_id is not None else "add an SSD to this host"
    sentence = f"Until you decide, no other job may {what}."
    if not changes_so_far.kept_group:
        return sentence
    return (
        f"{sentence} No job may change the volume group {changes_so_far.kept_group} either: "
        f"“{changes_so_far.unknown[0].title}” may still be running there."
    )


def _sentence(job: Job, done: int, broken: int, unknown: int) -> str:
    if not done and not broken and not unknown:
        return "Nothing was changed on the host." if job.is_over else "Nothing was changed yet."
    parts = [f"{_steps(done)} done"] if done else []
    parts += [f"{_steps(broken)} failed"] if broken else []
    parts += [f"{_steps(unknown)} running"] if unknown else []
    return f"{', '.join(parts)}."


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"
