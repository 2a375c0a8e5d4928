"""Wakes workers for everything that needs one: lost messages, due waits, jobs of dead workers,
and changes for many volumes. Deletes old previews.

Messages are hints. As long as Redis answers, messages and the reaper wake the workers; while it
does not, workers look for themselves (`jobs.queue.dispatch`).
"""

from __future__ import annotations

import itertools
from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from jobs import notify_workers
from jobs.engine.transitions import expire_dead_leases
from jobs.models import OVER, Job, Kind, State
from jobs.queue import bulk
from jobs.queue.submit import discard_record
from jobs.worker_identity import is_dead
from storage.models import Placement, Volume

GRACE = timedelta(seconds=5)
"""For a younger job a worker was woken at commit."""

PREVIEW_LIFE = timedelta(days=1)


def due(site: str = "") -> list[int]:
    """Ids of jobs of a site's hosts that a worker could claim now (`site` as in
    `transitions.claim_next`). A job of a worker that died on this machine is free at once, another
    one's when its lease lapses."""
    expire_dead_leases(is_dead)
    ready = Q(not_before=None) | Q(not_before__lte=Now())
    waiting = Q(state=State.WAITING) & ready
    queued = Q(state=State.QUEUED, awaits="", created_at__lt=Now() - GRACE) & ready
    orphaned = Q(state=State.RUNNING, lease_until__lt=Now())
    jobs = Job.objects.unfinished().filter(waiting | queued | orphaned)
    others = settings.TIERCEL_DEDICATED_SITES
    of_site = jobs.filter(host__site=site) if site else jobs.exclude(host__site__in=others)
    return list(of_site.order_by("id").values_list("id", flat=True))


def sweep() -> int:
    """Wake as many slots as jobs are due, and continue changes for many volumes; the number of
    messages (a broker that is away ends the round)."""
    messages: list[tuple[str, int | str]] = []
    for site in notify_workers.sites():
        slots = min(len(due(site)), notify_workers.ENOUGH_UNREAD)
        messages += [(notify_workers.RUN_DUE_JOBS, site)] * slots
    messages += [(notify_workers.BULK_CHANGE, change_id) for change_id in bulk.due_changes()]
    sent = itertools.takewhile(lambda message: notify_workers.send(*message), messages)
    return len(list(sent))


def prune_previews() -> int:
    """Delete previews that ended a day ago, and the volumes that were only ever previewed; the
    number of jobs deleted.

    Kept is the preview of a volume whose creation was asked for and did not end well: nothing else
    could still create it.
    """
    awaited = Placement.objects.filter(
        volume=OuterRef("volume"), volume__previewed_at=None, until=None, lv_uuid=None
    )
    old = Job.objects.filter(dry_run=True, state__in=OVER, ended_at__lt=Now() - PREVIEW_LIFE)
    _, deleted = old.exclude(Q(kind=Kind.CREATE_VOLUME) & Exists(awaited)).delete()
    previews = Volume.objects.filter(previewed_at__isnull=False)
    for volume in previews.exclude(Exists(Job.objects.filter(volume=OuterRef("pk")))):
        discard_record(volume)
    return deleted.get(Job._meta.label, 0)
