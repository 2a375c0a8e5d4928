"""The division of a host's SSD, with what jobs hold and were promised; and as one change."""

from __future__ import annotations

from datetime import datetime

from jobs.queue.bulk import blocking_jobs
from jobs.queue.reservations import reserved
from storage.analysis.host_allocation import NO_ALLOCATION, host_allocation
from storage.analysis.ssd_shares import HostAllocation
from storage.bulk_changes import MOST, Action, BulkRequest, PlannedChange, drafts
from storage.models import Host, Volume
from storage.stored_inventory import inventory_of
from storage.volumes.snapshot import snapshots_of


def allocation_of(host: Host, now: datetime) -> HostAllocation:
    """Nothing in it before the host's first inventory."""
    facts = inventory_of(host)
    if facts is None:
        return NO_ALLOCATION
    volumes = Volume.objects.placed_on(host).in_service().select_related("customer", "cache_plan")
    rows = snapshots_of(volumes, {host.pk: facts})
    busy_ids = frozenset(blocking_jobs(rows))
    return host_allocation(host, facts, rows, reserved(host, facts), busy_ids, now)


def allocation_drafts(
    host: Host, allocation: HostAllocation, now: datetime
) -> tuple[BulkRequest, list[PlannedChange]]:
    """The proposal as one change, ordered so that space is freed before it is used."""
    changes = allocation.changes[:MOST]
    rows = [each.row for each in changes]
    sizes_bytes = {each.row.volume.pk: each.proposed.size_bytes for each in changes}
    asked = BulkRequest(Action.ALLOCATE, sizes_bytes=sizes_bytes)
    facts = inventory_of(host)
    held = reserved(host, facts) if facts is not None else {}
    return asked, drafts(rows, asked, held, now, blocking_jobs(rows))
