"""Celery beat without a state file: it runs every task at start and leaves a heartbeat."""

import logging
from datetime import timedelta
from typing import Any

import redis
from celery import beat

from panel.configuration import redis_client

MARK = "tiercel:beat"
logger = logging.getLogger(__name__)
# Several of beat's wake-ups (CELERY_BEAT_MAX_LOOP_INTERVAL) long.
MARK_SECONDS = 30
# Between two looks for Redis while it is away.
REST_SECONDS = 5.0


class Scheduler(beat.Scheduler):
    """Keeps the schedule of the settings in memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Open the connection that carries the mark."""
        self.marks = redis_client.client()
        self.is_away = False
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """Make each entry due now: a restart must not put off the hourly ones for an hour."""
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now() - timedelta(days=1)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Leave the mark, send what is due, say in how many seconds to wake again. While Redis is
        away nothing is sent: kombu would try each message several times at once, and lose a file
        descriptor with each connection that it gives up."""
        try:
            self.marks.set(MARK, "alive", ex=MARK_SECONDS)
        except redis.RedisError as error:
            if not self.is_away:
                logger.warning("Redis is away, beat sends nothing until it is back: %s", error)
            self.is_away = True
            return REST_SECONDS
        if self.is_away:
            logger.warning("Redis is back")
            self.is_away = False
            self._connect_anew()
        seconds: float = super().tick(*args, **kwargs)
        return seconds

    def _connect_anew(self) -> None:
        """What was made for the lost connection would be found broken by the first message."""
        for name in ("producer", "connection"):
            made = self.__dict__.pop(name, None)
            if made is not None:
                made.release()
