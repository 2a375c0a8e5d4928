"""Runs due jobs in the slots of Celery's pool.

A message is a bare wake-up (`jobs.tasks.run_due_jobs`): its task takes one due job after the other
from PostgreSQL until none is left, so that a burst of jobs needs few messages. A claim decides
which slot of which worker runs a job: any number of tasks may look.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from celery import bootsteps, current_app
from celery.signals import worker_init, worker_shutdown, worker_shutting_down
from django.db import DatabaseError, InterfaceError, connections
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from jobs import life_signs, notify_workers
from jobs.engine import runner
from jobs.queue import bulk, reaper

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0
CONNECT_SECONDS = 2

_is_ending = threading.Event()


@worker_shutting_down.connect
@worker_shutdown.connect
def end(**others: object) -> None:
    """Begin no further job: the process ends once each slot has finished its current one."""
    _is_ending.set()


def run_due(site: str = "") -> None:
    """Run due jobs of a site's hosts until none is left, or this worker is to end; `site` as in
    `transitions.claim_next`. While PostgreSQL is away there is nothing to run: the reaper wakes a
    worker again."""
    for turn in itertools.count():
        if _is_ending.is_set():
            return
        try:
            if not runner.run_next(site, prefers_previews=turn % 2 == 0):
                return
        except (DatabaseError, InterfaceError) as error:
            log.warning("no job can be taken: %s", error)
            connections.close_all()
            return


class BrokerlessPoll(bootsteps.StartStopStep):
    """In a worker that serves jobs, a thread that looks every few seconds whether Redis is there.
    While it is away, the thread puts into the worker's own pool what messages would have begun."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:
        """Called once for each worker, before it starts."""
        served = worker.app.amqp.queues.consume_from
        self.sites = [
            site for site in notify_workers.sites() if notify_workers.queue_of(site) in served
        ]
        self.enabled = bool(self.sites)
        self.stopped = threading.Event()
        self.begun: list[Future[Any]] = []

    def start(self, worker: Any) -> None:
        """Start the thread."""
        _is_ending.clear()
        self.thread = threading.Thread(target=self.watch, args=(worker.pool,), daemon=True)
        self.thread.start()

    def stop(self, worker: Any) -> None:
        """Stop the thread."""
        self.stopped.set()
        self.thread.join()

    def watch(self, pool: Any) -> None:
        """Check until `stop`."""
        while not self.stopped.wait(POLL_SECONDS):
            if not is_broker_there():
                life_signs.turn()
                self.begin_due(pool)

    def begin_due(self, pool: Any) -> None:
        """As many slots as jobs are due look for them, and for changes for many volumes. No more
        than the pool has: what waits for one would still wait when Redis is back."""
        self.begun = [future for future in self.begun if not future.done()]
        try:
            looks: list[tuple[Callable[..., object], Any]] = [
                (run_due, site) for site in self.sites for _ in reaper.due(site)
            ]
            looks += [(bulk.go_on, change_id) for change_id in bulk.due_changes()]
        except (DatabaseError, InterfaceError) as error:
            log.warning("the database cannot be asked for jobs: %s", error)
            return
        finally:
            connections.close_all()
        for look, subject in looks[: pool.num_processes - len(self.begun)]:
            log.info("Redis is away: %s(%r) begins without a message", look.__name__, subject)
            self.begun.append(pool.apply_async(_look, (look, subject)).f)


@worker_init.connect
def add_poll(sender: Any, **others: object) -> None:
    """Before a worker makes its steps."""
    sender.app.steps["worker"].add(BrokerlessPoll)


def _look(look: Callable[..., object], subject: Any) -> None:
    """Celery's pool leaves an exception to the trace of a task, and this is none."""
    try:
        look(subject)
    except Exception:
        log.exception("%s(%r)", look.__name__, subject)
    finally:
        connections.close_all()


def is_broker_there() -> bool:
    """Whether a connection can be made now."""
    try:
        with current_app.connection_for_write(connect_timeout=CONNECT_SECONDS) as connection:
            connection.connect()
    except (OperationalError, RedisError, OSError):
        return False
    return True
