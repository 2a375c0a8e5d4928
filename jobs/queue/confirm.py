"""From a preview to its job: the same wish, with the same steps."""

from __future__ import annotations

from datetime import datetime

from jobs.models import Job, Kind, State
from jobs.queue.submit import submit, submit_add_ssd
from jobs.requester import Requester
from storage.access import Right
from storage.planner import Refused
from storage.planner.ssd_wish import Preparation
from storage.planner.wish import Wish

FOR_ADMINS = frozenset({Kind.DESTROY_VOLUME, Kind.PREPARE_SSD})
PROVEN = FOR_ADMINS | {Kind.DROP_CACHE}
"""What gives up data or a whole disk: at a page only with a fresh proof of who sits there."""


def right_to(preview: Job) -> Right:
    """What whoever confirms it must be allowed."""
    return Right.ADMINISTER if preview.kind in FOR_ADMINS else Right.OPERATE


def confirm(preview: Job, requester: Requester, *, not_before: datetime | None = None) -> Job:
    """The job that does what the preview said, now or later; where other steps would begin it by
    then, it ends without any. Raises `Refused`, also for a preview that did not end well, and
    `Busy`."""
    if preview.state != State.SUCCEEDED:
        raise Refused(
            "stale", "This preview failed, or has not ended yet.", "Create a new preview."
        )
    if preview.volume is None:
        return submit_add_ssd(
            preview.host,
            Preparation.from_json(preview.wish),
            requester,
            dry_run=False,
            fingerprint=preview.fingerprint,
            not_before=not_before,
        )
    return submit(
        kind=preview.kind,
        volume=preview.volume,
        wish=Wish.from_json(preview.wish),
        actor=requester.actor,
        door=requester.door,
        token=requester.token,
        address=requester.address,
        fingerprint=preview.fingerprint,
        disks=preview.disks,
        not_before=not_before,
    )
