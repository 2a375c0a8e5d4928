"""Messages to workers. They are hints: losing, repeating or forging one is harmless, because the
reaper sends again what was lost and a claim decides who works.

A job has no message of its own. A wake-up makes a worker take whatever is due from PostgreSQL
(`jobs.queue.dispatch`), so that no more are sent while enough lie unread.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from celery import current_app
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from jobs.models import Job

log = logging.getLogger(__name__)

EXPIRES_SECONDS = 60
"""Without a worker, messages must not pile up for ever."""

RUN_DUE_JOBS: Final = "jobs.tasks.run_due_jobs"
BULK_CHANGE: Final = "jobs.tasks.go_on_with_bulk_change"
FOLLOW_BENCHMARK: Final = "jobs.tasks.follow_benchmark"
ENOUGH_UNREAD: Final = 16
"""As many wake-ups as a worker has slots: one that comes begins with all of them."""


def sites() -> list[str]:
    """The sites whose hosts have workers of their own, and "" for all other hosts."""
    return ["", *settings.TIERCEL_DEDICATED_SITES]


def queue_of(site: str) -> str:
    """The queue of the wake-ups for a site's hosts."""
    return f"jobs.{site}" if site else "jobs"


def send(task: str, *args: int | str, queue: str | None = None) -> bool:
    """Publish now, at most once; False (and a line in the log) where the broker is away.

    A wake-up goes to the queue of its site. It does not expire, and is not published while enough
    of them lie unread there.
    """
    try:
        with current_app.producer_or_acquire() as producer:
            options: dict[str, Any] = {"queue": queue, "expires": EXPIRES_SECONDS}
            if task == RUN_DUE_JOBS:
                (site,) = args
                options = {"queue": queue_of(str(site))}
                if producer.channel.client.llen(options["queue"]) >= ENOUGH_UNREAD:
                    return True
            current_app.send_task(task, args=args, producer=producer, retry=False, **options)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("%s%s was not announced, the reaper will: %s", task, args, error)
        return False
    return True


def job(job_id: int) -> None:
    """Have a worker look for a job, among others, once this transaction is committed."""
    site = ""
    if dedicated := settings.TIERCEL_DEDICATED_SITES:
        of_host = Job.objects.filter(pk=job_id).values_list("host__site", flat=True).first()
        site = of_host if of_host in dedicated else ""
    _after_commit(RUN_DUE_JOBS, site)


def bulk_change(change_id: int) -> None:
    """Have a worker begin a change for many volumes, once this transaction is committed."""
    _after_commit(BULK_CHANGE, change_id)


def host(host_id: int) -> None:
    """Ask for a fresh hello and inventory once this transaction is committed."""
    _after_commit("jobs.tasks.refresh_host", host_id)


def check(check_id: int) -> None:
    """Have a worker begin a check of a disk or array once this transaction is committed."""
    _after_commit("jobs.tasks.begin_check", check_id)


def trace(trace_id: int) -> None:
    """Have a worker begin a trace, or end it, once this transaction is committed."""
    _after_commit("jobs.tasks.follow_trace", trace_id)


def benchmark(benchmark_id: int) -> None:
    """Have a worker do what is due of a benchmark, once this transaction is committed."""
    _after_commit(FOLLOW_BENCHMARK, benchmark_id)


def all_due() -> None:
    """Announce everything that waits for a worker, once this transaction is committed."""
    _after_commit("jobs.tasks.sweep")


def _after_commit(task: str, *args: int | str) -> None:
    def announce() -> None:
        send(task, *args)

    # What was committed stays accepted, even if its message is lost.
    transaction.on_commit(announce, robust=True)
