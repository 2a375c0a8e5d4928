"""Celery beat without a state file: it runs every task at start and leaves signs of life."""

import logging
import socket
import time
from datetime import datetime, timedelta
from typing import Any

import redis
from celery import beat
from celery.signals import beat_init

from jobs.life_signs import Signer
from panel.configuration import redis_client

logger = logging.getLogger(__name__)
# Between two looks for Redis while it is away.
REST_SECONDS = 5.0
# By how much the wall clock may fall behind the monotonic one between two wake-ups.
SLEW_SECONDS = 1.0


class Scheduler(beat.Scheduler):
    """Keeps the schedule of the settings in memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Open a connection that shows whether Redis answers."""
        self.redis = redis_client.client()
        self.is_away = False
        self.wall_offset = _wall_offset()
        self.signer = Signer("beat", f"beat@{socket.gethostname()}", slots=1, queues=())
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """Make each entry due now: a restart must not put off the hourly ones for an hour."""
        super().setup_schedule()
        self._make_due()

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due, say in how many seconds to wake again. While Redis is away nothing is
        sent: kombu would try each message several times at once, and lose a file descriptor with
        each connection that it gives up. Celery goes by the wall clock: one that is set back by
        hours would put every task off for as long."""
        offset = _wall_offset()
        if offset < self.wall_offset - SLEW_SECONDS:
            logger.warning("The clock was set back: every task is due now")
            self._make_due()
        self.wall_offset = offset
        try:
            self.redis.ping()
        except redis.RedisError as error:
            if not self.is_away:
                logger.warning(
                    "Redis is unavailable; beat sends nothing until it answers: %s", error
                )
            self.is_away = True
            return REST_SECONDS
        if self.is_away:
            logger.warning("Redis is back")
            self.is_away = False
            self._connect_anew()
        seconds: float = super().tick(*args, **kwargs)
        self.signer.turn()
        return seconds

    def close(self) -> None:
        """Beat ends as it was asked to."""
        super().close()
        self.signer.stop()

    def reserve(self, entry: Any) -> Any:
        """Note that the task is sent now. One that is late puts off none of those after it."""
        due = due_at(entry.last_run_at, entry.default_now(), entry.schedule.run_every)
        self.schedule[entry.name] = reserved = entry.next(due)
        return reserved

    def _when(self, entry: Any, next_time_to_run: float, **kwargs: Any) -> float:
        """When Celery looks at an entry again: it would count from now."""
        if next_time_to_run:
            is_due, seconds = entry.is_due()
            next_time_to_run = 0 if is_due else seconds
        when: float = super()._when(entry, next_time_to_run, **kwargs)  # type: ignore[misc]
        return when

    def _make_due(self) -> None:
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now() - timedelta(days=1)
        # Celery orders its heap by the moments that were next.
        self._heap = None

    def _connect_anew(self) -> None:
        """What was made for the lost connection would be found broken by the first message."""
        for name in ("producer", "connection"):
            made = self.__dict__.pop(name, None)
            if made is not None:
                made.release()


@beat_init.connect
def sign(sender: Any, **given: object) -> None:
    """Leave signs of life from now on. `sender` is beat's service."""
    sender.scheduler.signer.start()


def due_at(last: datetime, now: datetime, every: timedelta) -> datetime:
    """When a task that was due before and is sent now was due: the next one comes so long after
    that. A task that is late by a whole interval or more starts a new schedule."""
    due = last + every
    return due if due <= now < due + every else now


def _wall_offset() -> float:
    return time.time() - time.monotonic()
