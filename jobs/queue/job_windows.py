"""Windows of jobs: the window of a new job, and changes for a waiting one."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from django.db import transaction

from jobs import notify_workers
from jobs.engine import steps
from jobs.models import WINDOWED, Job, State
from jobs.requester import Requester, requester_fields
from storage.database_clock import database_now
from storage.models import Host
from storage.planner import Refused
from storage.planner.daily_window import DailyWindow

HOSTS: Final = "host"
Chosen = DailyWindow | Literal["host"] | None
"""A person's choice: a window, none, or the host's (`HOSTS`)."""
MOST_LOOKS: Final = 16


def window_for(chosen: Chosen, kind: str, host: Host) -> DailyWindow | None:
    """The window of a new job; None for at once."""
    if chosen != HOSTS:
        return chosen
    return host.cache_window if kind in WINDOWED else None


def window_fields(window: DailyWindow | None) -> dict[str, Any]:
    """The window as columns of a job."""
    if window is None:
        return {"window_start": None, "window_end": None, "window_zone": ""}
    return {"window_start": window.start, "window_end": window.end, "window_zone": window.zone}


def set_cache_window(host: Host, window: DailyWindow | None) -> None:
    """The window of new jobs on a host; None for at once. Raises `Refused` (`never_open`)."""
    if window is not None:
        begins_at(host, window)
    fields = {f"cache_{name}": value for name, value in window_fields(window).items()}
    Host.objects.filter(pk=host.pk).update(**fields)


def begins_at(
    host: Host, window: DailyWindow, not_before: datetime | None = None
) -> datetime | None:
    """When a job of the window begins, None for now; raises `Refused` (`never_open`) where the
    change window of its host is never open at the same time."""
    now = database_now()
    at = now if not_before is None else max(now, not_before)
    windows = [window]
    if host.window_start is not None and host.window_end is not None:
        windows.append(DailyWindow(host.window_start, host.window_end))
    for _ in range(MOST_LOOKS):
        openings = [opening for each in windows if (opening := each.next_opening(at)) is not None]
        if not openings:
            return at if at > now else None
        at = max(openings)
    raise Refused(
        "never_open",
        f"The window {window} and the change window of {host} are never open at the same time.",
        "Choose another window, or none.",
    )


@transaction.atomic
def change_window(job: Job, window: DailyWindow | None, requester: Requester) -> None:
    """Give a preview or an unfinished job another window, or (None) let it begin now. Raises
    `Refused` for a job that is over (`not_now`) or would never begin (`never_open`)."""
    locked = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    if locked.is_over and not (locked.dry_run and locked.state == State.SUCCEEDED):
        raise Refused("not_now", f"{job} has ended.", "Request the change again.")
    if window is None and locked.window is None:
        return
    fields = window_fields(window)
    # A time that a person chose stays; that of the former window does not.
    not_before = locked.not_before if locked.window is None else None
    begins = begins_at(job.host, window, not_before) if window is not None else None
    if not locked.dry_run:
        fields |= requester_fields(requester)
        text = f"Window set to {window}" if window is not None else "Window removed"
        steps.add_lines(locked, [f"{text} by {requester.name}."])
    if locked.state in (State.QUEUED, State.WAITING) and not locked.dry_run:
        fields["not_before"] = begins
    Job.objects.filter(pk=job.pk).update(**fields)
    job.refresh_from_db()
    if not job.dry_run:
        notify_workers.job(job.pk)
