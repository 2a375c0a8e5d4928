"""From a preview to its job: what was shown is what runs, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

from jobs.models import AuditEntry, Job, Phase, State
from tests.integration.machine import Machine
from tests.integration.person import Person, argvs, finished, words


def confirmed(
    person: Person,
    machine: Machine,
    preview: Job,
    accident: Callable[[Job], None] | None = None,
) -> Job:
    """Confirm a preview, let `accident` happen to its job, and see it done exactly as shown."""
    assert (preview.state, preview.error) == (State.SUCCEEDED, {})
    shown = machine.as_executed(argvs(preview))
    assert argvs(preview)
    before = machine.executed()
    job = person.apply(preview)
    if accident is not None:
        accident(job)
    assert (finished(job).state, job.error) == (State.SUCCEEDED, {})
    assert argvs(job) == argvs(preview)
    assert trail_of(job) == argvs(preview)
    ran = machine.executed()[len(before) :]
    assert len(ran) == len(shown) and all(map(is_as_shown, ran, shown)), (ran, shown)
    page = words(person.job_page(job))
    assert "succeeded" in page
    for step in job.step_set.all():
        assert all(words(escape(command["shell"])) in page for command in step.commands)
    return job


def is_as_shown(ran: str, shown: str) -> bool:
    """The same line, but for what stands in `<…>`: only the host can tell that when it runs."""
    return re.fullmatch(".+".join(map(re.escape, re.split("<[^>]*>", shown))), ran) is not None


def trail_of(job: Job) -> list[list[str]]:
    """Every command that the audit trail says was run for a job; each of its operations has one
    intent and one outcome."""
    entries = AuditEntry.objects.filter(job_key=job.key)
    intents, outcomes = (entries.filter(phase=phase) for phase in (Phase.INTENT, Phase.OUTCOME))
    assert [each.op_id for each in intents] == [each.op_id for each in outcomes]
    ran = (each for each in outcomes if each.result["state"] != "not_started")
    return [command["argv"] for each in ran for command in each.commands]
