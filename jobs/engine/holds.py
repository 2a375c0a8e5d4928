"""Holds: the global stop, a host's maintenance and its change window keep steps from starting.

Holds never interrupt a running step. A change window says when jobs may begin: a job that has begun
finishes, or rolls back, even after the window closes, because the volume would otherwise stay
half-changed until the next day. The global stop and maintenance hold every step.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta

from django.db.models import Exists
from django.db.models.functions import Now

from jobs import notify_workers
from jobs.models import Halt, Job, JobQuerySet, State
from storage.database_clock import ClockNow
from storage.models import Host

RETRY_AFTER = timedelta(seconds=10)


class OnHold(Exception):
    """No step may begin now; `sentence` says why and until when, `again_at` when to look again."""

    def __init__(self, sentence: str, again_at: datetime) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.again_at = again_at


def check_not_held(host_id: int, *, begun: bool = False) -> datetime:
    """The database's time now; raises `OnHold` where no step may begin on the host. `begun`: of a
    job that has changed something there already."""
    # One query: it is asked before each step.
    fields = ("name", "maintenance_since", "maintenance_reason", "window_start", "window_end")
    host_row = Host.objects.values(*fields, now=ClockNow(), halted=Exists(Halt.objects.all()))
    host = host_row.get(pk=host_id)
    now: datetime = host["now"]
    halt = Halt.objects.active() if host["halted"] else None
    if halt is not None:
        raise OnHold(f"All jobs are paused{halt.cause}", now + RETRY_AFTER)
    name, start, end = host["name"], host["window_start"], host["window_end"]
    if host["maintenance_since"] is not None:
        why = f": {host['maintenance_reason']}" if host["maintenance_reason"] else ""
        raise OnHold(f"{name} is in maintenance{why}", now + RETRY_AFTER)
    if start is None or end is None or begun:
        return now
    opening = next_opening(start, end, now)
    if opening is not None:
        hours = f"{start:%H:%M} to {end:%H:%M} UTC"
        raise OnHold(f"Waiting for the change window of {name}, {hours}", opening)
    return now


def next_opening(start: time, end: time, now: datetime) -> datetime | None:
    """When the daily window from `start` to `end` (UTC, may span midnight) opens next; None while
    it is open. `now` is in UTC; a window from a time to the same time is always open."""
    at = now.time()
    is_open = start <= at < end if start < end else at >= start or at < end
    if is_open:
        return None
    opening = datetime.combine(now.date(), start, now.tzinfo)
    return opening if opening > now else opening + timedelta(days=1)


def begin_maintenance(host: Host, reason: str) -> None:
    """No step begins on the host from now on; repeated, only the reason changes."""
    Host.objects.filter(pk=host.pk, maintenance_since=None).update(maintenance_since=Now())
    Host.objects.filter(pk=host.pk).update(maintenance_reason=reason)


def end_maintenance(host: Host) -> None:
    """Its jobs are looked at again at once."""
    Host.objects.filter(pk=host.pk).update(maintenance_since=None, maintenance_reason="")
    _wake_waiting(Job.objects.filter(host=host))


def set_window(host: Host, start: time | None, end: time | None) -> None:
    """Both None for at any time; jobs that wait are looked at again at once."""
    Host.objects.filter(pk=host.pk).update(window_start=start, window_end=end)
    _wake_waiting(Job.objects.filter(host=host))


def stop_all(actor_id: int | None, reason: str) -> None:
    """The global stop; whoever stops first is named."""
    Halt.objects.get_or_create(pk=True, defaults={"reason": reason, "actor_id": actor_id})


def resume_all() -> None:
    """The end of the global stop: all that waits is looked at again."""
    Halt.objects.all().delete()
    _wake_waiting(Job.objects.all())


def _wake_waiting(jobs: JobQuerySet) -> None:
    jobs.filter(state=State.WAITING).update(not_before=None)
    notify_workers.all_due()
