"""The speed of a long step, which a person can raise while the step runs.

The speed is part of the job's wish. A flush with another speed is stopped, and the next plan
continues with the remaining dirty data at the new speed; the kernel writes on meanwhile. Zeroing
and moves keep the latency of the other volumes on their disks within a budget: the agent receives
the new budget, and the operation continues.
"""

from __future__ import annotations

import dataclasses

from django.db import transaction

from jobs.engine import steps
from jobs.hosts import contact, panel_identity
from jobs.models import Job, State, Step, StepState
from jobs.requester import Requester, requester_fields
from storage.agent.operations.pacer import RISES
from storage.planner import Refused
from storage.planner.wish import MIGRATION_THRESHOLD_SECTORS, Wish
from storage.volumes.snapshot import snapshots_of

FLUSH = "cache.flush"
"""The only one with a brake: bcache flushes without any."""
FACTOR = 4
MOST_SECTORS = 2**21
"""1 GiB on the move at once: more only makes the guest wait longer."""


def adjustable_step(job: Job) -> Step | None:
    """The step whose pace can be raised; None where no such step runs."""
    if job.dry_run or job.is_over or job.is_rolling_back or job.cancel_requested:
        return None
    step = job.step_set.filter(state=StepState.RUNNING).first()
    return step if step is not None and has_rate(step) else None


def has_rate(step: Step) -> bool:
    """A flush with a brake, or what leaves others room on its disks."""
    return step.verb == FLUSH or allowed_percent(step) is not None


def allowed_percent(step: Step) -> int | None:
    """By how many percent the p95 of the others may rise; None for a step without such a budget,
    and before its host has said so."""
    others = step.progress.get("others")
    return None if others is None else int(others["allowed_percent"])


def next_rise(step: Step) -> int | None:
    """The next larger budget in percent; None at the top."""
    current_percent = allowed_percent(step) or 0
    return next((each for each in RISES if each > current_percent), None)


def next_sectors(job: Job, step: Step) -> int | None:
    """The next higher pace of a flush, as a migration threshold in sectors; None at the top."""
    current_sectors = Wish.from_json(job.wish).pace_sectors or step.args.get("migration_threshold")
    if current_sectors is None:
        lv = snapshots_of([job.its_volume])[0].lv
        cache = lv.cache if lv is not None else None
        current_sectors = cache.migration_threshold_sectors if cache is not None else 0
    faster = max(current_sectors, MIGRATION_THRESHOLD_SECTORS) * FACTOR
    return faster if faster <= MOST_SECTORS else None


@transaction.atomic
def raise_rate(job: Job, requester: Requester) -> None:
    """Raise the speed of the step that runs, for `requester`; raises `Refused` where none
    has one (`no_flush`), or it is at its top (`top_pace`)."""
    locked_job = Job.objects.select_for_update().get(pk=job.pk)
    step = adjustable_step(locked_job)
    if step is None or locked_job.state not in (State.RUNNING, State.WAITING):
        raise Refused(
            "no_flush",
            "No running step of this job can be made faster.",
            "Only a running lvmcache flush, zeroing or move that is not being cancelled can be "
            "made faster.",
        )
    wish = Wish.from_json(locked_job.wish)
    if step.verb == FLUSH:
        sectors = next_sectors(locked_job, step)
        faster = None if sectors is None else dataclasses.replace(wish, pace_sectors=sectors)
    else:
        percent = next_rise(step)
        faster = None if percent is None else dataclasses.replace(wish, rise_percent=percent)
    if faster is None:
        raise Refused(
            "top_pace",
            "The step already runs at the highest speed.",
            "Wait until the step has ended. If dirty data does not decrease, reduce the load in "
            "the guest.",
        )
    Job.objects.filter(pk=locked_job.pk).update(
        wish=faster.to_json(), **requester_fields(requester)
    )
    steps.add_lines(locked_job, [f"Speed raised by {requester.name}."])


def apply_rate(job: Job, step: Step) -> None:
    """Let a step that runs go at the pace that is wished now; raises `TransportError`."""
    if step.error or job.is_rolling_back or not has_rate(step):
        return
    job.wish = Job.objects.values_list("wish", flat=True).get(pk=job.pk)
    if step.verb == FLUSH:
        _stop_if_rate_changed(job, step)
    else:
        _send_budget(job, step)


def _stop_if_rate_changed(job: Job, step: Step) -> None:
    """Ask the host once to stop a flush that runs at another pace."""
    wished_sectors = Wish.from_json(job.wish).pace_sectors
    if wished_sectors is None or wished_sectors == step.args.get("migration_threshold"):
        return
    panel = panel_identity.named_to(job.host)
    reply = contact.ask(job.host, "op.abort", {"op": str(step.op_id)}, panel=panel)
    stopping = {
        "code": "stopping",
        "message": "The step continues at the new speed.",
        "correction": "",
    }
    steps.mark_asked_to_stop(job, step, reply.error.to_json() if reply.error else stopping)


def _send_budget(job: Job, step: Step) -> None:
    """Again and again, until the host says that it keeps the new budget."""
    wished_percent = None if job.volume_id is None else Wish.from_json(job.wish).rise_percent
    if wished_percent is not None and wished_percent > (allowed_percent(step) or 0):
        args = {"op": str(step.op_id), "rise_percent": wished_percent}
        contact.ask(job.host, "op.pace", args, panel=panel_identity.named_to(job.host))
