"""Announces again whatever waits for a worker: lost messages, due waits, dead workers' jobs,
changes for many volumes. Deletes old previews.

Messages are hints. As long as the broker answers, messages and the reaper wake the workers. While
it does not, a thread of each worker of the queue `jobs` polls the database for what the reaper
would have announced. A claim decides which worker runs a job, so any number of them may poll.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final

from celery import current_app
from celery.signals import celeryd_after_setup
from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from jobs import notify_workers
from jobs.engine import runner
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
    jobs = [("jobs.tasks.run_job", job_id) for job_id in due()]
    return jobs + [("jobs.tasks.go_on_with_bulk_change", change_id) for change_id in bulk.due()]


WORK: Final[Mapping[str, Callable[[int], object]]] = {
    "jobs.tasks.run_job": runner.run,
    "jobs.tasks.go_on_with_bulk_change": bulk.go_on,
}
"""What these tasks do."""


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


log = logging.getLogger(__name__)

POLL_SECONDS = 5.0
CONNECT_SECONDS = 2
AT_ONCE = 8
QUEUE = "jobs"


@celeryd_after_setup.connect
def begin(instance: Any = None, **others: object) -> None:
    """Start the thread in a worker that takes jobs; it ends with the process."""
    if QUEUE in instance.app.amqp.queues.consume_from:
        threading.Thread(target=watch, args=(threading.Event(),), daemon=True).start()


def watch(stop: threading.Event) -> None:
    """Look every few seconds until `stop` is set."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="poll") as pool:
        running: dict[tuple[str, int], Future[None]] = {}
        while not stop.wait(POLL_SECONDS):
            if is_broker_there():
                continue
            running = {due: each for due, each in running.items() if not each.done()}
            for task, row_id in _due():
                if (task, row_id) not in running:
                    log.info("%s%s begins without a message: the broker is away", task, (row_id,))
                    running[task, row_id] = pool.submit(_run, task, row_id)


def is_broker_there() -> bool:
    """Whether a connection can be made now."""
    try:
        with current_app.connection_for_write(connect_timeout=CONNECT_SECONDS) as connection:
            connection.connect()
    except (OperationalError, RedisError, OSError):
        return False
    return True


def _due() -> list[tuple[str, int]]:
    try:
        return all_due()
    except (DatabaseError, InterfaceError) as error:
        log.warning("the database cannot be asked for jobs: %s", error)
        return []
    finally:
        connections.close_all()


def _run(task: str, row_id: int) -> None:
    try:
        WORK[task](row_id)
    except Exception:
        # Nobody waits for this: what cannot even be claimed is tried again in some seconds.
        log.exception("%s%s", task, (row_id,))
    finally:
        connections.close_all()
