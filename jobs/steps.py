"""Step and output rows of a running job. Record functions: each is one transaction that first
renews the lease, so that a runner that lost its job writes nothing more."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Coalesce, Now

from jobs.models import Job, Line, Step, StepState
from jobs.moves import renew
from jobs.outcome import Outcome
from storage.plan import Step as Planned

LINES_LIMIT = 5000
TRIES = 3
STEPS_LIMIT = 50


@transaction.atomic
def intend(job: Job, planned: Planned) -> Step | None:
    """Commit the intent to run a step under a fresh operation id, before anything is sent.

    None where the job is to be cancelled: this is the boundary at which it may end.
    """
    renew(job, explanation=planned.title[:500], attempts=0, error={})
    if Job.objects.values_list("cancel_requested", flat=True).get(pk=job.pk):
        return None
    step = job.step_set.filter(state=StepState.PLANNED).first()
    if step is None:
        last = job.step_set.aggregate(n=Max("n"))["n"] or 0
        step = Step(job=job, n=last + 1)
    step.verb, step.args, step.expect = planned.verb, planned.args, planned.expect
    step.title, step.op_id, step.state = planned.title[:300], uuid.uuid4(), StepState.RUNNING
    step.commands, step.progress, step.error, step.output_seen = [], {}, {}, 0
    step.ended_at = None
    step.save()
    Step.objects.filter(pk=step.pk).update(started_at=Coalesce("started_at", Now()))
    step.refresh_from_db()
    return step


@transaction.atomic
def follow(job: Job, step: Step, outcome: Outcome) -> None:
    """Store what a poll brought: new output, commands, progress, and the end where it came."""
    renew(job, attempts=0, error={})
    fresh = [(n, text) for n, text in outcome.lines if n > step.output_seen]
    if fresh:
        step.output_seen = max(n for n, _ in fresh)
        add_lines(job, [text for _, text in fresh])
    step.commands, step.progress = outcome.commands, outcome.progress
    step.save(update_fields=["output_seen", "commands", "progress"])
    if outcome.state == "done":
        Step.objects.filter(pk=step.pk).update(state=StepState.DONE, ended_at=Now())
        step.refresh_from_db()


@transaction.atomic
def fail(job: Job, step: Step, error: dict[str, Any]) -> None:
    """The step ended badly, or never began; its stderr joins the output."""
    renew(job)
    add_lines(job, str(error.get("stderr") or "").splitlines())
    Step.objects.filter(pk=step.pk).update(state=StepState.FAILED, error=error, ended_at=Now())
    step.refresh_from_db()


@transaction.atomic
def put_back(job: Job, step: Step, error: dict[str, Any]) -> None:
    """Nothing was done because something else held the host's volume group: to be sent again."""
    renew(job)
    step.state, step.op_id, step.error = StepState.PLANNED, None, error
    step.save(update_fields=["state", "op_id", "error"])


@transaction.atomic
def note(job: Job, text: str) -> None:
    """A line of our own among the output."""
    renew(job)
    add_lines(job, [text])


def add_lines(job: Job, texts: list[str]) -> None:
    """Append output, up to the cap; the first line beyond it says so."""
    last = job.line_set.aggregate(n=Max("n"))["n"] or 0
    room = LINES_LIMIT - last
    if room < len(texts) and room > 0:
        kept = texts[: room - 1]
        texts = [*kept, "Further output is only on the host, in /var/lib/tiercel/ops."]
    Line.objects.bulk_create(
        Line(job=job, n=n, text=text) for n, text in enumerate(texts[: max(0, room)], last + 1)
    )


def exhausted(job: Job, planned: Planned) -> dict[str, Any] | None:
    """Why this step must not be tried again, as a job's error; None while it may be."""
    same = job.step_set.filter(verb=planned.verb, args=planned.args)
    failed = same.filter(state=StepState.FAILED)
    if failed.count() >= TRIES:
        last = failed.order_by("-n").first()
        return dict(last.error) if last is not None else None
    if same.filter(state=StepState.DONE).count() >= TRIES or job.step_set.count() >= STEPS_LIMIT:
        return {
            "code": "no_progress",
            "message": f"“{planned.title}” ended well and the host still does not show it.",
            "correction": "Look at the commands and the output of this job; another program may "
            "undo them on the host.",
        }
    return None
