"""A volume before and after one of its jobs: what staff and customers read of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from jobs.models import CHANGING_SPEED, Job
from storage.metrics.compare import Compared, compared, is_enough
from storage.metrics.rates import FiguresWindow
from storage.metrics.rates.figures import MIN_ACCESSES
from storage.metrics.samples.window import window
from storage.volumes.ownership import owned_since

HOUR: Final = timedelta(hours=1)
SOON: Final = timedelta(minutes=10)
"""So much of the time after a change says nothing yet to a customer."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The two times; `after` is None while the job runs, or where nothing came after it yet."""

    before: tuple[datetime, datetime]
    after: tuple[datetime, datetime] | None


@dataclass(frozen=True, slots=True)
class JobComparison:
    """`rows` is empty, and `lacks` says why, where a side has too few figures. `cut` says which
    other jobs made a side shorter, "" where none did."""

    ends: Ends
    before: FiguresWindow | None
    after: FiguresWindow | None
    rows: list[Compared]
    lacks: str
    cut: str


@dataclass(frozen=True, slots=True)
class JobsAround:
    """When the job before this one ended, and when the one after it began; None where there is
    none. They changed how fast the volume is, too: no side of the comparison reaches over them."""

    ended: datetime | None = None
    began: datetime | None = None


def ends_of(
    began: datetime,
    ended: datetime | None,
    length: timedelta,
    now: datetime,
    *,
    latest: bool,
    others: JobsAround,
) -> Ends:
    """The `length` before the job began; and after it ended the same length, or the last such
    length; both cut at the neighbours, the second at `now` too."""
    before = (max(began - length, others.ended or began - length), began)
    if ended is None or ended >= now:
        return Ends(before, None)
    last = min(now, others.began or now)
    if latest:
        return Ends(before, (max(ended, last - length), last))
    return Ends(before, (ended, min(ended + length, last)))


def jobs_around(job: Job) -> JobsAround:
    """The jobs that changed how fast the same volume is just before and just after. Two queries."""
    others = Job.objects.filter(volume=job.volume, dry_run=False, kind__in=CHANGING_SPEED)
    others = others.exclude(pk=job.pk)
    worked = others.filter(step__op_id__isnull=False).distinct()
    began = job.started_at or job.created_at
    before = worked.filter(ended_at__lte=began).order_by("-ended_at").first()
    after = worked.filter(started_at__gte=job.ended_at or began).order_by("started_at").first()
    return JobsAround(
        ended=before.ended_at if before is not None else None,
        began=after.started_at if after is not None else None,
    )


def cut_of(ends: Ends, others: JobsAround) -> str:
    """Which side another job made shorter, in words."""
    is_before = others.ended is not None and ends.before[0] == others.ended
    is_after = others.began is not None and ends.after is not None and ends.after[1] == others.began
    if is_before and is_after:
        return "Both periods are shorter: other jobs changed the volume just before and after."
    if is_before:
        return "The period before is shorter because another job ran just before it."
    if is_after:
        return "The period after is shorter: another job changed the volume just after."
    return ""


def compare_job(job: Job, length: timedelta, now: datetime, *, latest: bool) -> JobComparison:
    """What the volume did for `length` before and after the job; `latest`: until now instead of
    right after the job. Four queries."""
    others = jobs_around(job)
    ends = ends_of(
        job.started_at or job.created_at,
        job.ended_at,
        length,
        now,
        latest=latest,
        others=others,
    )
    before, cut = _window(job, ends.before), cut_of(ends, others)
    after = _window(job, ends.after) if ends.after is not None else None
    if ends.after is None:
        lacks = "The job is still running, so there is no data after it yet."
    elif before is None or not is_enough(before):
        lacks = "There is not enough data from before the job."
        lacks += "" if cut else " Try a longer period."
    elif after is None or not is_enough(after):
        lacks = "There is not enough data from after the job."
        lacks += "" if cut else " Wait for the next samples."
    else:
        return JobComparison(ends, before, after, compared(before, after), "", cut)
    return JobComparison(ends, before, after, [], lacks, cut)


def _window(job: Job, ends: tuple[datetime, datetime]) -> FiguresWindow | None:
    """None for a time without length."""
    return window(job.its_volume, *ends) if ends[0] < ends[1] else None


def last_change(done: Job | None, now: datetime) -> JobComparison | None:
    """For a customer: the hour before the change `done`, and the last one, or (`cut`) the last one
    before the next change. None where a side was hardly measured or hardly read from, so soon after
    the change that nothing can be said, where another change left less than that hour of a side,
    and where the hour before was in part another customer's. Five queries."""
    if done is None or done.started_at is None or done.ended_at is None:
        return None
    since = owned_since(done.its_volume)
    if now - done.ended_at < SOON or (since is not None and since > done.started_at - HOUR):
        return None
    comparison = compare_job(done, HOUR, now, latest=True)
    sides = (comparison.before, comparison.after)
    is_read = all(side is not None and _reads(side) >= MIN_ACCESSES for side in sides)
    return comparison if comparison.rows and _is_whole(comparison, now) and is_read else None


def _is_whole(comparison: JobComparison, now: datetime) -> bool:
    """Whether no other change left less than an hour of a side."""
    (start, end), after = comparison.ends.before, comparison.ends.after
    is_uncut = after is not None and after[1] == now
    return end - start == HOUR and (is_uncut or (after is not None and after[1] - after[0] == HOUR))


def _reads(side: FiguresWindow) -> float:
    return (side.read_iops or 0) * side.seconds
