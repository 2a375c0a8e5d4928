"""Asking for an SSD to be added to a volume group."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from jobs.models import Job, Kind
from jobs.queue.submit import check_contactable, enqueue
from jobs.requester import Requester
from storage.models import Host
from storage.planner.ssd_wish import Preparation


@transaction.atomic
def ask(
    host: Host,
    wanted: Preparation,
    requester: Requester,
    *,
    dry_run: bool,
    fingerprint: str = "",
    not_before: datetime | None = None,
) -> Job:
    """Accept a job, and tell a worker after commit. Raises `Refused` for a host that is not in use,
    and `Busy` where another job adds an SSD to it."""
    check_contactable(host)
    return enqueue(
        {
            "kind": Kind.PREPARE_SSD,
            "host": host,
            "wish": wanted.to_json(),
            "dry_run": dry_run,
            "actor": requester.actor,
            "door": requester.door,
            "token": requester.token,
            "address": requester.address,
            "fingerprint": fingerprint,
            "not_before": not_before,
        }
    )
