"""Holds: the global stop, a host's maintenance and its change window keep steps from starting.

Holds never interrupt a running step. A change window says when jobs may begin: a job that has begun
finishes, or rolls back, even after the window closes, because the volume would otherwise stay
half-changed until the next day. The global stop and maintenance hold every step.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any

from django.db.models import Case, Exists, F, Q, When
from django.db.models.functions import Now

from jobs import notify_workers
from jobs.models import Halt, Job, JobQuerySet, State
from storage.compiled_query import CompiledQuery
from storage.database_clock import ClockNow
from storage.models import Host
from storage.models.host import HostQuerySet
from storage.templatetags.units import stamp

RETRY_AFTER = timedelta(seconds=10)


class OnHold(Exception):
    """No step may begin now; `sentence` says why and until when, `again_at` when to look again."""

    def __init__(self, sentence: str, again_at: datetime) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.again_at = again_at


def _host(host_id: int) -> HostQuerySet:
    rows = Host.objects.annotate(now=ClockNow(), halted=Exists(Halt.objects.all()))
    return rows.defer("facts", "hello").filter(pk=host_id)


_HOST = CompiledQuery(Host, _host)


def read_host(host_id: int) -> Host:
    """The host without its reports, in one query with everything that `check_not_held` needs before
    each step."""
    return _HOST.get(host_id)


def check_not_held(host: Host, *, begun: bool = False) -> datetime:
    """The database's time when the host was read (`read_host`); raises `OnHold` where no step could
    begin on it then. `begun`: of a job that has changed something there already."""
    annotated: Any = host  # what is annotated, no type knows
    now: datetime = annotated.now
    halt = Halt.objects.active() if annotated.halted else None
    if halt is not None:
        raise OnHold(f"All jobs are paused{halt.cause}", now + RETRY_AFTER)
    name, start, end = host.name, host.window_start, host.window_end
    if host.is_in_maintenance(now):
        raise OnHold(f"{name} is in {maintenance_words(host)}", now + RETRY_AFTER)
    if start is None or end is None or begun:
        return now
    opening = next_opening(start, end, now)
    if opening is not None:
        hours = f"{start:%H:%M} to {end:%H:%M} UTC"
        raise OnHold(f"Waiting for the change window of {name}, {hours}", opening)
    return now


def check_window(job: Job, now: datetime) -> None:
    """Raises `OnHold` outside the window of the job (`jobs.engine.flush_rest`)."""
    window = job.window
    opening = window.next_opening(now) if window is not None else None
    if window is not None and opening is not None:
        raise OnHold(f"Waits for its window, {window}", opening)


def next_opening(start: time, end: time, now: datetime) -> datetime | None:
    """When the daily window from `start` to `end` (UTC, may span midnight) opens next; None while
    it is open. `now` is in UTC; a window from a time to the same time is always open."""
    at = now.time()
    is_open = start <= at < end if start < end else at >= start or at < end
    if is_open:
        return None
    opening = datetime.combine(now.date(), start, now.tzinfo)
    return opening if opening > now else opening + timedelta(days=1)


def maintenance_words(host: Host) -> str:
    """Until when and why, as "maintenance until 2026-11-23 14:00 UTC: new disks"."""
    until = host.maintenance_until
    when = f" until {stamp(until)}" if until is not None else ""
    why = f": {host.maintenance_reason}" if host.maintenance_reason else ""
    return f"maintenance{when}{why}"


def begin_maintenance(host: Host, reason: str, until: datetime) -> None:
    """No step begins on the host until `until`; a repetition changes only reason and end."""
    over = Q(maintenance_since=None) | Q(maintenance_until__lte=Now())
    Host.objects.filter(pk=host.pk).update(
        maintenance_since=Case(When(over, then=Now()), default=F("maintenance_since")),
        maintenance_reason=reason,
        maintenance_until=until,
    )


def end_maintenance(host: Host) -> None:
    """End the maintenance; waiting jobs of the host are checked at once."""
    _end_maintenances(Host.objects.filter(pk=host.pk))


def end_due_maintenances() -> None:
    """End the maintenances that are over, and check their waiting jobs."""
    _end_maintenances(Host.objects.filter(maintenance_until__lte=Now()))


def _end_maintenances(hosts: HostQuerySet) -> None:
    ended = list(hosts.values_list("pk", flat=True))
    if ended:
        Host.objects.filter(pk__in=ended).update(
            maintenance_since=None, maintenance_until=None, maintenance_reason=""
        )
        _wake_waiting(Job.objects.filter(host__in=ended))


def set_window(host: Host, start: time | None, end: time | None) -> None:
    """Both None: at any time. Waiting jobs are checked at once."""
    Host.objects.filter(pk=host.pk).update(window_start=start, window_end=end)
    _wake_waiting(Job.objects.filter(host=host))


def stop_all(actor_id: int | None, reason: str) -> None:
    """The global stop; it names the first person who stops."""
    Halt.objects.get_or_create(pk=True, defaults={"reason": reason, "actor_id": actor_id})


def resume_all() -> None:
    """End the global stop; all waiting jobs are checked at once."""
    Halt.objects.all().delete()
    _wake_waiting(Job.objects.all())


def _wake_waiting(jobs: JobQuerySet) -> None:
    jobs.filter(state=State.WAITING).update(not_before=None)
    notify_workers.all_due()
