"""Announces again whatever waits for a worker: lost messages, due waits, dead workers' jobs,
changes for many volumes. Deletes old previews.

Messages are hints. As long as Redis answers, messages and the reaper wake the workers; while it
does not, they look for themselves (`jobs.queue.job_threads`).
"""

from __future__ import annotations

from datetime import timedelta

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
"""A job this young was announced at commit just now."""

PREVIEW_LIFE = timedelta(days=1)


def due() -> list[int]:
    """Ids of jobs that a worker could take this moment. A job of a worker that died on this machine
    is free at once, another one's when its lease lapses."""
    expire_dead_leases(is_dead)
    ready = Q(not_before=None) | Q(not_before__lte=Now())
    waiting = Q(state=State.WAITING) & ready
    queued = Q(state=State.QUEUED, awaits="", created_at__lt=Now() - GRACE) & ready
    orphaned = Q(state=State.RUNNING, lease_until__lt=Now())
    jobs = Job.objects.filter(waiting | queued | orphaned).order_by("id")
    return list(jobs.values_list("id", flat=True))


def all_due() -> list[tuple[str, int]]:
    """These jobs, and the changes for many volumes: each with the name of its task."""
    jobs = [(notify_workers.RUN_JOB, job_id) for job_id in due()]
    return jobs + [
        ("jobs.tasks.go_on_with_bulk_change", change_id) for change_id in bulk.due_changes()
    ]


def sweep() -> int:
    """Nudge for each; the number announced (a broker that is away ends the round)."""
    announced = 0
    for task, row_id in all_due():
        if not notify_workers.send(task, row_id):
            break
        announced += 1
    return announced


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
