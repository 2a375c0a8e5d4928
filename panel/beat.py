"""Celery's clock without a file of its own: it fires everything at start and leaves a mark."""

import logging
from datetime import timedelta
from typing import Any

import redis
from celery import beat

from panel import broker

MARK = "tiercel:beat"
logger = logging.getLogger(__name__)
# Several of beat's wake-ups (CELERY_BEAT_MAX_LOOP_INTERVAL) long.
MARK_SECONDS = 30


class Scheduler(beat.Scheduler):
    """Keeps the schedule of the settings in memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Open the connection that carries the mark."""
        self.marks = broker.client()
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """Make each entry due now: a restart must not put off the hourly ones for an hour."""
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now() - timedelta(days=1)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due, leave the mark, say in how many seconds to wake again."""
        seconds: float = super().tick(*args, **kwargs)
        try:
            self.marks.set(MARK, "alive", ex=MARK_SECONDS)
        except redis.RedisError as error:
            logger.warning("beat left no mark in Redis: %s", error)
        return seconds
