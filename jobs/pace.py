"""The pace of a flush: a person raises it while it runs.

The pace is part of the job's wish. A flush that runs at another one is stopped, and the next plan
takes it up at the new pace from what is dirty then; the kernel goes on writing meanwhile.
"""

from __future__ import annotations

import dataclasses

from django.db import transaction

from jobs import hosts, steps
from jobs.asker import Asker, ordered
from jobs.models import Job, State, Step, StepState
from storage.plan import Refused
from storage.rows import rows_of
from storage.wish import MIGRATION_THRESHOLD_SECTORS, Wish

FLUSH = "cache.flush"
"""The only one with a brake: bcache flushes without any."""
FACTOR = 4
MOST_SECTORS = 2**21
"""1 GiB on the move at once: more only makes the guest wait longer."""


def paced(job: Job) -> Step | None:
    """The step whose pace can be raised; None where no such step runs."""
    if job.dry_run or job.is_over or job.falls_back or job.cancel_requested:
        return None
    return job.step_set.filter(state=StepState.RUNNING, verb=FLUSH).first()


def next_sectors(job: Job, step: Step) -> int | None:
    """The next higher pace, as a migration threshold in sectors; None at the top."""
    now = Wish.from_json(job.wish).pace_sectors or step.args.get("migration_threshold")
    if now is None:
        lv = rows_of([job.its_volume])[0].lv
        cache = lv.cache if lv is not None else None
        now = cache.migration_threshold_sectors if cache is not None else 0
    faster = max(now, MIGRATION_THRESHOLD_SECTORS) * FACTOR
    return faster if faster <= MOST_SECTORS else None


@transaction.atomic
def quicken(job: Job, asker: Asker) -> None:
    """Raise the pace of the flush that runs, on the word of `asker`; raises `Refused` where none
    does (`no_flush`), or it is at its top (`top_pace`)."""
    held = Job.objects.select_for_update().get(pk=job.pk)
    step = paced(held)
    if step is None or held.state not in (State.RUNNING, State.WAITING):
        raise Refused(
            "no_flush",
            "No flush runs here whose pace could be raised.",
            "Look at the job's steps: only a flush of lvmcache that runs, and is not being "
            "cancelled, can go faster.",
        )
    faster = next_sectors(held, step)
    if faster is None:
        raise Refused(
            "top_pace",
            "The flush goes as fast as is sensible.",
            "Wait until it has ended. Where dirty data does not become less, quieten the guest.",
        )
    wish = dataclasses.replace(Wish.from_json(held.wish), pace_sectors=faster)
    Job.objects.filter(pk=held.pk).update(wish=wish.to_json(), **ordered(asker))
    steps.add_lines(held, [f"Pace raised by {asker.name}."])


def stop_if_outpaced(job: Job, step: Step) -> None:
    """Ask the host once to stop a flush that runs at another pace than is wished now; raises
    `TransportError`."""
    if step.verb != FLUSH or step.error or job.falls_back:
        return
    job.wish = Job.objects.values_list("wish", flat=True).get(pk=job.pk)
    wanted = Wish.from_json(job.wish).pace_sectors
    if wanted is None or wanted == step.args.get("migration_threshold"):
        return
    reply = hosts.ask(job.host, "op.abort", {"op": str(step.op_id)})
    asked = {"code": "stopping", "message": "It goes on at the new pace.", "correction": ""}
    steps.mark_asked_to_stop(job, step, reply.error.to_json() if reply.error else asked)
