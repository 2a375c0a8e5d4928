"""What a job has changed on its host so far, from its steps. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.models import Job, State, Step, StepState
from jobs.transport.replies import has_begun


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
