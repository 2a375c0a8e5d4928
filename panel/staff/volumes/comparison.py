"""The times before and after a job, and what its volume did in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone

from jobs.models import Job
from storage.metrics.compare import Compared, compared, is_enough
from storage.metrics.samples.window import FiguresWindow, window

LENGTHS: Final = {
    "5m": ("5 min", timedelta(minutes=5)),
    "15m": ("15 min", timedelta(minutes=15)),
    "1h": ("1 h", timedelta(hours=1)),
    "6h": ("6 h", timedelta(hours=6)),
}
DEFAULT_LENGTH: Final = "15m"
AFTERS: Final = {"right": "right after the job", "latest": "now"}
"""A cache is cold right after it came: what it gives in the end, the latest figures tell."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The two times; `after` is None while the job runs, or where nothing came after it yet."""

    before: tuple[datetime, datetime]
    after: tuple[datetime, datetime] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`rows` is empty, and `lacks` says why, where a side has too few figures."""

    ends: Ends
    before: FiguresWindow
    after: FiguresWindow | None
    rows: list[Compared]
    lacks: str


def ends_of(
    began: datetime, ended: datetime | None, length: timedelta, now: datetime, *, latest: bool
) -> Ends:
    """The `length` before the job began; and after it ended the same length, cut at `now`, or the
    last such length up to now."""
    before = (began - length, began)
    if ended is None or ended >= now:
        return Ends(before, None)
    if latest:
        return Ends(before, (max(ended, now - length), now))
    return Ends(before, (ended, min(ended + length, now)))


def compare(job: Job, length: str, *, latest: bool) -> Comparison:
    """What the volume did before and after the job. `length` is a key of `LENGTHS`."""
    ends = ends_of(
        job.started_at or job.created_at,
        job.ended_at,
        LENGTHS[length][1],
        timezone.now(),
        latest=latest,
    )
    before = window(job.its_volume, *ends.before)
    after = window(job.its_volume, *ends.after) if ends.after is not None else None
    if after is None:
        lacks = "The job is still running, so there is no data after it yet."
    elif not is_enough(before):
        lacks = "There is not enough data from before the job. Try a longer period."
    elif not is_enough(after):
        lacks = "There is not enough data from after the job yet. Wait for the next samples."
    else:
        return Comparison(ends, before, after, compared(before, after), "")
    return Comparison(ends, before, after, [], lacks)
