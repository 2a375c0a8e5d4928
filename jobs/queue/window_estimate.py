"""When a job with a window begins, and between when and when it is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from jobs.engine.remaining_steps import remaining_steps
from jobs.models import Job, State
from jobs.queue.cost_estimate import cost_of
from storage.models import Placement
from storage.planner import PlannedStep, Refused
from storage.planner.cost import Cost
from storage.planner.daily_window import DailyWindow
from storage.planner.fingerprint import FLUSHES
from storage.stored_inventory import inventory_of

MOST_WINDOWS: Final = 60
"""A flush that takes more of them has no end that could be forecast."""


@dataclass(frozen=True, slots=True)
class WindowEstimate:
    """`opens_at` is when it begins, `closes_at` the end of that window. It is done between
    `done_from` and `done_until` (None: not in two months). `outlasts`: it may take longer than the
    window; `flush_rests`: it then rests, and is done in up to `window_count` windows."""

    window: DailyWindow
    opens_at: datetime
    closes_at: datetime
    done_from: datetime | None
    done_until: datetime | None
    flush_rests: bool
    window_count: int

    @property
    def outlasts(self) -> bool:
        return self.done_until is None or self.done_until > self.closes_at


@dataclass(frozen=True, slots=True)
class WindowPart:
    """A part of a job: how long it takes, and whether it rests outside the window."""

    seconds: float
    rests: bool


def estimate_in_window(job: Job, now: datetime) -> WindowEstimate | None:
    """Of a preview, or of a job that has not begun, as of the last inventory; None without a
    window, and where no estimate is possible."""
    window = job.window
    if window is None or job.volume_id is None or (job.is_over and not job.dry_run):
        return None
    facts = inventory_of(job.host)
    placement = Placement.objects.filter(volume=job.volume_id, host=job.host_id, until=None).first()
    if facts is None or placement is None:
        return None
    try:
        planned = remaining_steps(job, facts, placement)
    except Refused:
        return None
    cost = cost_of(job.host, facts, placement.target, planned)
    begins = now
    if not job.dry_run and job.state == State.QUEUED and job.not_before is not None:
        begins = max(now, job.not_before)
    return within(window, begins, planned, cost) if cost is not None else None


def within(
    window: DailyWindow, now: datetime, steps: Sequence[PlannedStep], cost: Cost
) -> WindowEstimate:
    """The estimate of steps whose cost is known. Pure."""
    opens_at = window.next_opening(now) or now
    usual = [WindowPart(cost.between_seconds, rests=False)]
    slow = [WindowPart(max(cost.between_seconds, cost.slowest_between_seconds), rests=False)]
    for step, step_cost in zip(steps, cost.steps, strict=True):
        rests = step.verb in FLUSHES
        usual.append(WindowPart(step_cost.seconds, rests))
        slow.append(WindowPart(max(step_cost.seconds, step_cost.slowest_seconds), rests))
    done_from, _ = finish(window, opens_at, usual)
    done_until, count = finish(window, opens_at, slow)
    return WindowEstimate(
        window=window,
        opens_at=opens_at,
        closes_at=window.closing(opens_at),
        done_from=done_from,
        done_until=done_until,
        flush_rests=any(work.rests for work in slow),
        window_count=count,
    )


def finish(
    window: DailyWindow, begins: datetime, works: Iterable[WindowPart]
) -> tuple[datetime | None, int]:
    """When work that begins in the window is done, and in how many windows: what rests outside the
    window continues in the next one, anything else to its end. None where it takes too many."""
    at, count = begins, 1
    for work in works:
        left = timedelta(seconds=work.seconds)
        while work.rests and left:
            opening = window.next_opening(at)
            if opening is not None:
                at, count = opening, count + 1
            if count > MOST_WINDOWS:
                return None, count
            done = min(left, window.closing(at) - at)
            at, left = at + done, left - done
        at += left
    return at, count
