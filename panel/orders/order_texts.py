"""What customers read about a change, by code: no output and no error of a tool gets through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as marked

from jobs.models import Job, Kind, State, Step, StepState
from panel.models import Order
from storage.agent.verbs.registry import verbs_with
from storage.agent.verbs.verb import Trait
from storage.planner.daily_window import opening_words

SWITCHING = verbs_with(Trait.SWITCHES_CACHE)
"""The verbs by which a volume gets, changes or loses its cache; all before only prepare."""

PHASES = {
    Kind.ADD_CACHE: (marked("Preparing your cache"), marked("Activating the cache")),
    Kind.SET_CACHE: (marked("Getting ready"), marked("Changing your cache")),
    Kind.REPLACE_CACHE: (marked("Preparing your new cache"), marked("Replacing the cache")),
    Kind.REMOVE_CACHE: (marked("Getting ready"), marked("Removing the cache")),
}
OTHER_PHASES = (marked("Getting ready"), marked("Changing your volume"))
WAITING_TOO_LONG = 2
"""Failed contacts that are not mentioned."""


@dataclass(frozen=True, slots=True)
class ChangePhase:
    text: str
    state: Literal["done", "now", "next", "failed"]


@dataclass(frozen=True, slots=True)
class ChangeProgress:
    """`left_seconds` is None where it is unknown."""

    percent: int
    left_seconds: float | None


def phases(job: Job, steps: Sequence[Step]) -> tuple[ChangePhase, ...]:
    """The two parts of a change and its end, each with how far it is."""
    names = PHASES.get(Kind(job.kind), OTHER_PHASES)
    texts = (*(gettext(name) for name in names), gettext("Done"))
    if job.state == State.SUCCEEDED:
        return tuple(ChangePhase(text, "done") for text in texts)
    at = int(any(step.verb in SWITCHING and step.state != StepState.PLANNED for step in steps))
    here: Literal["now", "failed"] = (
        "failed" if job.is_over or job.state == State.NEEDS_ATTENTION else "now"
    )
    return tuple(
        ChangePhase(text, "done" if n < at else here if n == at else "next")
        for n, text in enumerate(texts)
    )


def sentence(job: Job, steps: Sequence[Step]) -> str:
    """Progress of a change, in one or two sentences."""
    if job.state == State.SUCCEEDED:
        return _became(job)
    if job.state == State.CANCELLED:
        return gettext("The change was stopped by your provider. Your plan stays as it was.")
    if job.state == State.NEEDS_ATTENTION:
        return gettext(
            "Support has to check this change. It is listed for support; you do not need to do "
            "anything."
        )
    if job.state == State.FAILED:
        if any(step.state != StepState.PLANNED for step in steps):
            return gettext(
                "We could not change the plan. Your plan and its price stay the same. The failure "
                "is listed for support."
            )
        return gettext(
            "We could not change the plan, and nothing was changed. The failure is listed for "
            "support."
        )
    if job.state == State.WAITING and job.attempts > WAITING_TOO_LONG:
        return gettext(
            "This takes longer than usual. It continues automatically; you can leave this page."
        )
    window, begins = job.window, job.begins_in_window
    if window is not None and begins is not None:
        text = gettext(
            "The change starts {time} ({zone}): your provider makes such changes in a time window. "
            "Your machine keeps running; you can leave this page."
        )
        time = opening_words(begins, timezone.now(), window.zone)
        return text.format(time=time, zone=window.zone)
    here = (phase.text for phase in phases(job, steps) if phase.state == "now")
    return gettext("{phase}. Your machine keeps running; you can leave this page.").format(
        phase=next(here, gettext("Working"))
    )


def progress(job: Job, steps: Sequence[Step]) -> ChangeProgress | None:
    """How far the part is that runs now, where its host can tell; None where it cannot."""
    if job.is_over or job.state == State.NEEDS_ATTENTION:
        return None
    running_step = next((step for step in steps if step.state == StepState.RUNNING), None)
    if running_step is None:
        return None
    progress_json = running_step.progress
    total, done = progress_json.get("total_bytes"), progress_json.get("done_bytes")
    if not isinstance(total, int) or not isinstance(done, int) or total <= 0:
        return None
    left_seconds = progress_json.get("left_s")
    return ChangeProgress(
        min(100, max(0, done * 100 // total)),
        left_seconds if isinstance(left_seconds, int | float) else None,
    )


@dataclass(frozen=True, slots=True)
class StateChip:
    """A state chip, for the tag `chip`."""

    tone: Literal["ok", "warning", "busy", "quiet"]
    icon: str
    text: str


def change_outcome(job: Job) -> StateChip:
    """The outcome of a change, in a word or two, for the history."""
    if job.state == State.SUCCEEDED:
        return StateChip("ok", "ok", gettext("done"))
    if job.state in (State.FAILED, State.CANCELLED):
        return StateChip("quiet", "cut", gettext("not changed"))
    if job.state == State.NEEDS_ATTENTION:
        return StateChip("warning", "warning", gettext("support is checking"))
    return StateChip("busy", "run", gettext("running"))


def plan_name(job: Job) -> str:
    """What a change leads to."""
    if job.cache_plan is not None:
        return job.cache_plan.name
    return gettext("No cache") if job.kind == Kind.REMOVE_CACHE else gettext("Your former cache")


def unplanned(order: Order) -> str:
    """What a volume without a plan had before an order: nothing, or a cache for nothing."""
    if order.from_cache is None:
        return gettext("no cache")
    return gettext("a cache set up by your provider")


def unplanned_after(order: Order) -> str:
    """What a volume without a plan has after an order."""
    if order.restores_free_cache:
        return gettext("the cache set up by your provider")
    return gettext("no cache")


def _became(job: Job) -> str:
    if job.cache_plan is not None:
        text = gettext("Done: this volume now has the plan {plan}.")
        return text.format(plan=job.cache_plan.name)
    if job.kind == Kind.REMOVE_CACHE:
        return gettext("Done: this volume no longer has a cache.")
    return gettext("Done: this volume has its former cache again. The cache starts empty.")


def change_context(job: Job) -> dict[str, object]:
    """The context of the templates that show a change."""
    steps = list(job.step_set.all())
    return {
        "plan": plan_name(job),
        "sentence": sentence(job, steps),
        "phases": phases(job, steps),
        "progress": progress(job, steps),
    }
