"""Previews: dry-run jobs, filled by any worker. Nothing on the host changes and nothing is locked.

The steps and their exact commands are the agent's own answer, so a person confirms exactly what
would run.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction

from jobs.engine.finish import fail_job, finish_job, refuse_job
from jobs.engine.remaining_steps import remaining_steps
from jobs.engine.transitions import renew
from jobs.hosts import contact
from jobs.hosts.read_inventory import read_facts
from jobs.models import Job, State, Step
from jobs.transport.errors import BadReply, TransportError
from jobs.transport.replies import decode_preview
from storage.host_data import BadHostData
from storage.planner import PlannedStep, Refused
from storage.planner.fingerprint import disks_of, plan_fingerprint

NOTHING = "No changes needed."


def fill(job: Job) -> None:
    """Fill a claimed dry-run job with its steps and end it; raises `LostLease`."""
    try:
        facts = read_facts(job.host)
        planned = remaining_steps(job, facts)
        if not planned:
            nothing = plan_fingerprint(planned)
            finish_job(job, State.SUCCEEDED, explanation=NOTHING, fingerprint=nothing)
            return
        renew(job)
        answers = _ask(job, planned)
    except TransportError as error:
        fail_job(job, error.to_json())
        return
    except Refused as refused:
        refuse_job(job, refused)
        return
    _store(job, planned, answers)


def _ask(job: Job, planned: tuple[PlannedStep, ...]) -> list[dict[str, Any]]:
    requests = [{"verb": p.verb, "args": p.args, "expect": p.expect} for p in planned]
    reply = contact.dry_run(job.host, requests)
    if reply.error is not None:
        raise Refused(reply.error.code, reply.error.message, reply.error.correction)
    try:
        return decode_preview(reply.data.get("steps"), len(planned))
    except BadHostData as error:
        raise BadReply(job.host.name, str(error)) from None


@transaction.atomic
def _store(job: Job, planned: tuple[PlannedStep, ...], answers: list[dict[str, Any]]) -> None:
    renew(job)
    job.step_set.all().delete()
    job.is_without_steps = False
    Step.objects.bulk_create(
        Step(
            job=job,
            n=n,
            verb=step.verb,
            args=step.args,
            expect=step.expect,
            title=step.title[:300],
            makes_irrevocable=step.makes_irrevocable,
            **answer,
        )
        for n, (step, answer) in enumerate(zip(planned, answers, strict=True), 1)
    )
    errors = [answer["error"] for answer in answers if answer["error"]]
    if errors:
        fail_job(job, errors[0])
    else:
        renew(job, fingerprint=plan_fingerprint(planned), disks=disks_of(planned))
        count = "1 step" if len(planned) == 1 else f"{len(planned)} steps"
        finish_job(job, State.SUCCEEDED, explanation=f"Ready: {count}.")
