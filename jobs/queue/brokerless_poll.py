"""Workers poll the database while the broker is down.

Messages are hints. As long as the broker answers, messages and the reaper wake the workers. While
it does not, a thread of each worker of the queue `jobs` does what the reaper would have announced.
A claim decides which worker runs a job, so any number of them may poll at once.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from celery import current_app
from celery.signals import celeryd_after_setup
from django.db import DatabaseError, InterfaceError, connections
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from jobs.engine import runner
from jobs.queue import reaper

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
        running: dict[int, Future[None]] = {}
        while not stop.wait(POLL_SECONDS):
            if is_broker_there():
                continue
            running = {job_id: each for job_id, each in running.items() if not each.done()}
            for job_id in _due():
                if job_id not in running:
                    log.info("job %s is taken without a message: the broker is away", job_id)
                    running[job_id] = pool.submit(_run, job_id)


def is_broker_there() -> bool:
    """Whether a connection can be made now."""
    try:
        with current_app.connection_for_write(connect_timeout=CONNECT_SECONDS) as connection:
            connection.connect()
    except (OperationalError, RedisError, OSError):
        return False
    return True


def _due() -> list[int]:
    try:
        return reaper.due()
    except (DatabaseError, InterfaceError) as error:
        log.warning("the database cannot be asked for jobs: %s", error)
        return []
    finally:
        connections.close_all()


def _run(job_id: int) -> None:
    try:
        runner.run(job_id)
    except Exception:
        # Nobody waits for this: what cannot even be claimed is tried again in some seconds.
        log.exception("job %s", job_id)
    finally:
        connections.close_all()
