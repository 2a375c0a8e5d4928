"""The threads of a worker that run jobs.

As long as Redis answers, each takes the oldest job of which workers were told. While it does not,
one of them polls the database for what the reaper would have announced. A claim decides which
worker runs a job, so any number of them may look.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from celery import current_app
from celery.signals import celeryd_after_setup, worker_shutdown, worker_shutting_down
from django.db import DatabaseError, InterfaceError, close_old_connections, connections
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from jobs import life_signs, notify_workers
from jobs.engine import runner
from jobs.notify_workers import RUN_JOB
from jobs.queue import bulk, reaper

log = logging.getLogger(__name__)

QUEUE = "jobs"
FRESH_SECONDS = 1.0
"""A connection to the database that was used so lately is not asked whether it still works."""

POLL_SECONDS = 5.0
CONNECT_SECONDS = 2
AT_ONCE = 8

_stop = threading.Event()


@celeryd_after_setup.connect
def begin(instance: Any = None, **others: object) -> None:
    """Start them in a worker that serves the queue `jobs`, as many as it has threads for tasks. The
    process ends once each has let its job go."""
    if QUEUE not in instance.app.amqp.queues.consume_from:
        return
    _stop.clear()
    for number in range(instance.concurrency):
        name = f"jobs-{number}"
        threading.Thread(target=take_jobs, args=(_stop,), name=name).start()
    threading.Thread(target=watch, args=(_stop,), daemon=True).start()


@worker_shutting_down.connect
@worker_shutdown.connect
def end(**others: object) -> None:
    """Begin no further job."""
    _stop.set()


def take_jobs(stop: threading.Event) -> None:
    """Run one job after the other until `stop` is set."""
    used = 0.0
    while not stop.is_set():
        try:
            job_id = notify_workers.take()
        except (RedisError, OSError):
            stop.wait(CONNECT_SECONDS)
            continue
        if job_id is None:
            # A thread without work gives its connection back once it is old.
            close_old_connections()
            continue
        if stop.is_set():
            # Another worker may have it at once.
            notify_workers.send(RUN_JOB, job_id)
            break
        if time.monotonic() - used > FRESH_SECONDS:
            close_old_connections()
        _run(RUN_JOB, job_id)
        used = time.monotonic()
    connections.close_all()


WORK: Final[Mapping[str, Callable[[int], object]]] = {
    RUN_JOB: runner.run,
    "jobs.tasks.go_on_with_bulk_change": bulk.go_on,
}
"""What these tasks do."""


def watch(stop: threading.Event) -> None:
    """Look every few seconds until `stop` is set."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="poll") as pool:
        running: dict[tuple[str, int], Future[None]] = {}
        while not stop.wait(POLL_SECONDS):
            if is_broker_there():
                continue
            life_signs.turn()
            running = {due: each for due, each in running.items() if not each.done()}
            for task, row_id in _due():
                if (task, row_id) not in running:
                    log.info("%s%s begins without a message: the broker is away", task, (row_id,))
                    running[task, row_id] = pool.submit(_run_once, task, row_id)


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
        return reaper.all_due()
    except (DatabaseError, InterfaceError) as error:
        log.warning("the database cannot be asked for jobs: %s", error)
        return []
    finally:
        connections.close_all()


def _run_once(task: str, row_id: int) -> None:
    _run(task, row_id)
    connections.close_all()


def _run(task: str, row_id: int) -> None:
    try:
        WORK[task](row_id)
    except Exception:
        # Nobody waits for this: what cannot even be claimed is announced again in some seconds.
        log.exception("%s%s", task, (row_id,))
        connections.close_all()
