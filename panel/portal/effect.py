"""The measured effect of a change: the hour before it against the last hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils.translation import gettext

from jobs.models import Job
from storage.language import figure
from storage.metrics.compare import CLOSE
from storage.metrics.rates import Figures
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.metrics.samples import FiguresWindow, window
from storage.models import Volume
from storage.volumes.ownership import theirs_since

HOUR: Final = timedelta(hours=1)
SOON: Final = timedelta(minutes=10)
"""So much of the time after a change says nothing yet."""
LEAST_COVERAGE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Effect:
    """`before` and `after` are as long as the volume was watched in their hours; `since` is when
    the change was done."""

    before: Figures
    after: Figures
    since: datetime

    @property
    def times_faster(self) -> float | None:
        """How many times shorter a read is now; below 1 it takes longer. None = not known."""
        before, after = self.before.read_ms, self.after.read_ms
        return before / after if before and after else None

    @property
    def says(self) -> str:
        """The same in a sentence, "" where nothing is known; a small difference is none."""
        times = self.times_faster
        if times is None:
            return ""
        if times >= CLOSE:
            return gettext("A read is {n} times as fast as before.").format(
                n=figure(f"{times:.1f}")
            )
        if times <= 1 / CLOSE:
            longer = figure(f"{1 / times:.1f}")
            return gettext("A read takes {n} times as long as before.").format(n=longer)
        return gettext("Reads are about as fast as before.")


def effect(volume: Volume, done: Job | None, now: datetime) -> Effect | None:
    """What the change `done`, the last one that succeeded, did to the volume; None where one of
    the two hours was hardly measured or hardly used, and so soon after it that nothing can be
    said, or where the hour before was in part another customer's. Three queries."""
    if done is None or done.started_at is None or done.ended_at is None:
        return None
    if now - done.ended_at < SOON:
        return None
    start, since = done.started_at - HOUR, theirs_since(volume)
    if since is not None and since > start:
        return None
    before = window(volume, start, done.started_at)
    after = window(volume, max(done.ended_at, now - HOUR), now)
    if not (_says_something(before) and _says_something(after)):
        return None
    return Effect(before, after, done.ended_at)


def _says_something(hour: FiguresWindow) -> bool:
    reads = (hour.read_iops or 0) * hour.seconds
    return hour.coverage >= LEAST_COVERAGE and reads >= MIN_ACCESSES
