"""What pages say of a job's window: when it begins, when it is done, and when its flush rests."""

from __future__ import annotations

from datetime import datetime

from jobs.models import Job, Step
from jobs.queue.window_estimate import MOST_WINDOWS, WindowEstimate
from storage.formatting import counted
from storage.planner.daily_window import opening_words
from storage.planner.fingerprint import FLUSHES
from storage.templatetags.units import stamp


def window_sentences(estimate: WindowEstimate | None, now: datetime) -> tuple[str, ...]:
    """When it starts, when it is done, and what happens at the end of the window; none without an
    estimate."""
    if estimate is None:
        return ()
    window = estimate.window
    begins = f"The window {window} is open: the job starts at once."
    if estimate.opens_at > now:
        begins = f"Starts {opening_words(estimate.opens_at, now, window.zone)} ({window})."
    return (begins, *_outlasting(estimate), _done(estimate))


def _outlasting(estimate: WindowEstimate) -> tuple[str, ...]:
    if not estimate.outlasts:
        return ()
    longer = "It may take longer than the window."
    if estimate.flush_rests:
        rest = "A flush that is not done when the window closes rests, and continues in the next."
        return (f"{longer} {rest}", "The steps after the flush are not interrupted.")
    return (f"{longer} What has begun is not interrupted.",)


def _done(estimate: WindowEstimate) -> str:
    if estimate.done_from is None:
        return f"It would not be done within {MOST_WINDOWS} windows. Choose a longer one, or none."
    if estimate.done_until is None:
        return (
            f"Done {stamp(estimate.done_from)} at the earliest; next to busy guests perhaps not "
            f"within {MOST_WINDOWS} windows."
        )
    windows = f", in up to {counted(estimate.window_count, 'window')}"
    return (
        f"Done between {stamp(estimate.done_from)} and {stamp(estimate.done_until)}"
        f"{windows if estimate.window_count > 1 else ''}."
    )


def rest_sentence(job: Job, running: Step | None, now: datetime) -> str:
    """When the flush that runs rests; "" where it does not."""
    window = job.window
    if window is None or running is None or running.verb not in FLUSHES or job.cancel_requested:
        return ""
    if not window.is_open(now):
        return "The window has closed. The flush stops and continues in the next window."
    return (
        f"The window closes at {stamp(window.closing(now))}. A flush that is not done by then "
        "continues in the next window."
    )
