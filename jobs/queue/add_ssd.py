"""Asking for an SSD to be added to a volume group."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from jobs.models import Job, Kind
from jobs.queue.submit import accept, contactable
from jobs.requester import Asker
from storage.models import Host
from storage.planner.ssd_wish import Preparation


@transaction.atomic
def ask(
    host: Host,
    wanted: Preparation,
    asker: Asker,
    *,
    dry_run: bool,
    fingerprint: str = "",
    not_before: datetime | None = None,
) -> Job:
    """Accept a job, and tell a worker after commit. Raises `Refused` for a host that is not in use,
    and `Busy` where another job adds an SSD to it."""
    contactable(host)
    return accept(
        {
            "kind": Kind.PREPARE_SSD,
            "host": host,
            "wish": wanted.to_json(),
            "dry_run": dry_run,
            "actor": asker.actor,
            "door": asker.door,
            "token": asker.token,
            "address": asker.address,
            "fingerprint": fingerprint,
            "not_before": not_before,
        }
    )
