"""Messages to workers. They are hints: losing, repeating or forging one is harmless, because the
reaper sends again what was lost and a claim decides who works.

Which jobs are due is told by a sorted set in Redis, from which the threads of workers take the
oldest one (`jobs.queue.job_threads`). A message of Celery's would cost more of the processor than
all that PostgreSQL does for a job that finds nothing to do. Whatever else workers do is a task of
Celery's.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any, Final

import redis
from celery import current_app
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

log = logging.getLogger(__name__)

EXPIRES_SECONDS = 60
"""Without a worker, messages must not pile up for ever."""

RUN_JOB: Final = "run job"
"""The one task that is not Celery's."""
DUE_JOBS = "due-jobs"
"""The sorted set in Redis: ids, by themselves. A job that is told of again is there once."""
WAIT_SECONDS = 2


def send(task: str, *args: int, queue: str | None = None) -> bool:
    """Publish now, at most once; False (and a line in the log) where the broker is away."""
    try:
        if task == RUN_JOB:
            _redis().zadd(DUE_JOBS, {str(job_id): job_id for job_id in args})
        else:
            current_app.send_task(
                task, args=args, expires=EXPIRES_SECONDS, retry=False, queue=queue
            )
    except (OperationalError, RedisError, OSError) as error:
        log.warning("%s%s was not announced, the reaper will: %s", task, args, error)
        return False
    return True


def take() -> int | None:
    """The id of the oldest job that is due, as soon as there is one; None where none comes for
    some seconds. Raises `RedisError`."""
    popped: Any = _redis().bzpopmin(DUE_JOBS, timeout=WAIT_SECONDS)
    return int(popped[1]) if popped and popped[1].isdigit() else None


@cache
def _redis() -> redis.Redis:
    """A connection that broke while it rested is made anew, once."""
    seconds = {"socket_timeout": 2.0 * WAIT_SECONDS, "socket_connect_timeout": 2.0 * WAIT_SECONDS}
    return redis.Redis.from_url(settings.REDIS_URL, retry=Retry(NoBackoff(), 1), **seconds)


def job(job_id: int) -> None:
    """Tell a worker of a job once this transaction is committed."""
    _after_commit(RUN_JOB, job_id)


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
