"""Turns in a volume group: which step may change it now, and the number of that turn."""

from __future__ import annotations

from django.db import connection

from jobs.models import Job, Step, StepState

CONSTRAINT = "step_one_per_vg"


class Taken(Exception):
    """A step of another job changes the volume group now; `sentence` says which."""

    def __init__(self, vg_name: str, holder: Job | None) -> None:
        who = f"{holder} ({holder.key})" if holder is not None else "another job"
        self.sentence = f"Waits for {who}, which changes {vg_name} now"
        super().__init__(self.sentence)


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


def taken(vg_uuid: str, vg_name: str) -> Taken:
    """Who has the turn in the group, as far as the database tells now."""
    holding = Step.objects.filter(vg_uuid=vg_uuid, state=StepState.RUNNING, holds_vg=True)
    step = holding.select_related("job__volume").first()
    return Taken(vg_name, step.job if step is not None else None)
