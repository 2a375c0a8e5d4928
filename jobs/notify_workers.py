"""Messages to workers. They are hints: losing, repeating or forging one is harmless, because the
reaper sends again what was lost and a claim decides who works."""

from __future__ import annotations

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

EXPIRES_SECONDS = 60
"""Without a worker, messages must not pile up for ever."""


def send(task: str, *args: int, queue: str | None = None) -> bool:
    """Publish now, at most once; False (and a line in the log) where the broker is away."""
    try:
        current_app.send_task(task, args=args, expires=EXPIRES_SECONDS, retry=False, queue=queue)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("%s%s was not announced, the reaper will: %s", task, args, error)
        return False
    return True


def job(job_id: int) -> None:
    """Tell a worker of a job once this transaction is committed."""
    _after_commit("jobs.tasks.run_job", job_id)


def bulk_change(change_id: int) -> None:
    """Tell a worker of a change for many volumes once this transaction is committed."""
    _after_commit("jobs.tasks.go_on_with_bulk_change", change_id)


def host(host_id: int) -> None:
    """Ask for a fresh hello and inventory once this transaction is committed."""
    _after_commit("jobs.tasks.refresh_host", host_id)


def check(check_id: int) -> None:
    """Have a worker begin a check of a disk or array once this transaction is committed."""
    _after_commit("jobs.tasks.begin_check", check_id)


def all_due() -> None:
    """Have whatever waits for a worker announced, once this transaction is committed."""
    _after_commit("jobs.tasks.sweep")


def _after_commit(task: str, *args: int) -> None:
    def announce() -> None:
        send(task, *args)

    # What was committed stays accepted, whatever becomes of its announcement.
    transaction.on_commit(announce, robust=True)
