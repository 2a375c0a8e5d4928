"""Removing a host from the panel: what is deleted, and what prevents it.

Nothing on the host changes, and nothing is sent to it ever again. Its row stays without keys and
reports, so that jobs, the audit trail and the history of volumes still name it. A machine that is
enrolled again gets its volumes back (`storage.discovery.ingest`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from jobs.models import Job, JobQuerySet
from jobs.queue.submit import cancel
from storage.formatting import counted
from storage.health.host_problems import is_silent
from storage.health.missing_volumes import leave_host
from storage.models import (
    Benchmark,
    CacheCondition,
    CachePlan,
    DiskRound,
    Host,
    HostActivity,
    HostOutline,
    PhysicalDisk,
    Placement,
)
from storage.models.host import HostState
from storage.planner import Refused


@dataclass(frozen=True, slots=True)
class Removal:
    """The effects of removing the host. `placements` are its volumes, `plans` the
    names of plans that no other host offers, `job_count` the jobs that have ended and stay;
    `paid_count` volumes have a plan that ends. `refusal` is why it cannot be removed now."""

    placements: tuple[Placement, ...]
    job_count: int
    plans: tuple[str, ...]
    refusal: Refused | None

    @property
    def customer_names(self) -> tuple[str, ...]:
        """The customers of its volumes."""
        owners = [each.volume.customer for each in self.placements]
        return tuple(sorted({owner.name for owner in owners if owner is not None}))

    @property
    def paid_count(self) -> int:
        return sum(each.volume.cache_plan_id is not None for each in self.placements)

    @property
    def digest(self) -> str:
        """Identifies what a person was shown."""
        shown = [
            f"{each.volume.key} {each.volume.customer_id} {each.volume.cache_plan_id}"
            for each in self.placements
        ]
        return hashlib.sha256("\n".join((*shown, *self.plans)).encode()).hexdigest()


def removal_of(host: Host, now: datetime) -> Removal:
    """As the records are now; nothing is changed."""
    placed = Placement.objects.filter(host=host, until=None).order_by("volume_id")
    placements = tuple(placed.select_related("volume__customer"))
    jobs = Job.objects.filter(host=host, dry_run=False)
    plans = CachePlan.objects.filter(on_offer=True, hosts=host)
    others = Host.objects.exclude(state=HostState.REMOVED).exclude(pk=host.pk)
    elsewhere = plans.filter(pk__in=CachePlan.objects.filter(hosts__in=others))
    alone = plans.exclude(pk__in=elsewhere)
    return Removal(
        placements,
        jobs.count(),
        tuple(alone.values_list("name", flat=True)),
        _refusal(host, placements, jobs.unfinished(), now),
    )


def _refusal(
    host: Host, placements: tuple[Placement, ...], unfinished: JobQuerySet, now: datetime
) -> Refused | None:
    if host.state == HostState.REMOVED:
        return Refused("not_found", f"{host} was removed already.", "There is nothing to remove.")
    if count := unfinished.count():
        has = "has" if count == 1 else "have"
        return Refused(
            "busy",
            f"{counted(count, 'job')} {has} not ended on {host}.",
            "Wait until they have ended, or cancel them.",
        )
    answers = host.state == HostState.ACTIVE and not host.error and not is_silent(host, now)
    in_service = [
        each
        for each in placements
        if each.volume.customer_id is not None
        and each.volume.retired_at is None
        and each.missing_since is None
    ]
    if answers and in_service:
        of = "of a customer" if len(in_service) == 1 else "of customers"
        return Refused(
            "in_use",
            f"{host} answers, and {counted(len(in_service), 'volume')} {of} would be removed.",
            "Move or retire these volumes first, or remove their customer.",
        )
    return None


@transaction.atomic
def remove(host: Host, shown: str | None, now: datetime) -> None:
    """Take the host out of the panel. `shown` is the digest of the preview that a person saw, None
    without one. Raises `Refused`."""
    # For update: writers of jobs or volumes for this host wait until this transaction ends.
    locked = Host.objects.select_for_update().get(pk=host.pk)
    removal = removal_of(locked, now)
    if removal.refusal is not None:
        raise removal.refusal
    if shown is not None and shown != removal.digest:
        raise Refused(
            "stale",
            f"What would be removed with {locked} has changed since the preview.",
            "Look at the preview again. Nothing was removed.",
        )
    for preview in Job.objects.unfinished().filter(host=locked, dry_run=True):
        cancel(preview, None)
    leave_host(removal.placements, now)
    HostOutline.objects.filter(host=locked).delete()
    CacheCondition.objects.filter(host=locked).delete()
    HostActivity.objects.filter(host=locked).delete()
    DiskRound.objects.filter(host=locked).delete()
    PhysicalDisk.objects.filter(host=locked).delete()
    # Their worker finds that the host is gone, and ends them.
    Benchmark.objects.filter(host=locked, ended_at=None).update(not_before=now)
    locked.state, locked.removed_at = HostState.REMOVED, now
    locked.sealed_key, locked.host_key_seen = b"", ""
    locked.enrol_digest, locked.enrol_expires_at = "", None
    locked.hello, locked.hello_at, locked.facts, locked.facts_at = {}, None, {}, None
    locked.problems, locked.error = [], {}
    locked.maintenance_since, locked.maintenance_until = None, None
    locked.maintenance_reason = ""
    locked.save()
