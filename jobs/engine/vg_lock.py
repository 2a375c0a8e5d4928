"""The lock on a volume group: which step may change the group now, and its fencing token."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from jobs import notify_workers
from jobs.engine.finish import REST_SECONDS
from jobs.models import Job, State, Step, StepState, VgFence
from storage.planner import PlannedStep, Refused

CONSTRAINT = "step_one_per_vg"


class VgLocked(Exception):
    """A step of another job changes the volume group now; `sentence` says which."""

    def __init__(self, vg_uuid: str, vg_name: str, holder: Job | None) -> None:
        self.vg_uuid = vg_uuid
        who = f"{holder} ({holder.key})" if holder is not None else "another job"
        self.sentence = f"Waiting for {vg_name} ({who} is changing it)"
        super().__init__(self.sentence)


def unknown_fence(vg_name: str) -> Refused:
    """Why the panel takes no turn in a group whose host has seen one that this database never
    issued."""
    return Refused(
        "turn_unknown",
        f"The host has seen turns in {vg_name} that this panel never took: another copy of this "
        "panel works on it, or the database lost its last transactions (it was restored by hand, "
        "or a standby took over that had not received them).",
        "Make sure that no other copy of this panel runs. Then run here: manage.py after_restore. "
        "It stops all jobs and asks each host what it was sent.",
    )


def check_fence_known(planned: PlannedStep) -> None:
    """Raises `Refused` where another copy's turn was seen in the group of the step."""
    group = VgFence.objects.filter(vg_uuid=planned.expect.get("vg_uuid", ""))
    if group.filter(ahead__isnull=False).exists():
        raise unknown_fence(str(planned.args.get("vg", "")))


def next_fence(vg_uuid: str) -> int:
    """The number of the next turn; its row stays locked until the transaction ends, so that of
    two who begin at once the second one sees the first one's step."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO jobs_vgfence AS had (vg_uuid, fence) VALUES (%s, 1) "
            "ON CONFLICT (vg_uuid) DO UPDATE SET fence = had.fence + 1 RETURNING fence",
            [vg_uuid],
        )
        (fence,) = cursor.fetchone()
    return int(fence)


def vg_locked(vg_uuid: str, vg_name: str) -> VgLocked:
    """The error that names the holder of the lock, as the database has it now."""
    step = _locking_steps(vg_uuid).select_related("job__volume").first()
    return VgLocked(vg_uuid, vg_name, step.job if step is not None else None)


def wake_next(vg_uuid: str) -> None:
    """If the group is free, the oldest job that waits for it continues at once, seconds before the
    reaper would find it. Other jobs that wait so briefly lose nothing by looking again."""
    if not vg_uuid or _locking_steps(vg_uuid).exists():
        return
    in_group = Q(volume__placement__vg_uuid=vg_uuid, volume__placement__until=None)
    resting = Job.objects.filter(
        in_group | Q(volume=None, wish__vg_uuid=vg_uuid),
        state=State.WAITING,
        not_before__lte=Now() + timedelta(seconds=REST_SECONDS),
    )
    job_id = resting.exclude(step__state=StepState.RUNNING).order_by("id").values("pk").first()
    if job_id is not None:
        Job.objects.filter(**job_id, state=State.WAITING).update(not_before=None)
        notify_workers.job(job_id["pk"])


def _locking_steps(vg_uuid: str) -> QuerySet[Step]:
    return Step.objects.filter(vg_uuid=vg_uuid, state=StepState.RUNNING, holds_vg=True)
