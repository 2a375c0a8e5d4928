"""The second check of a retired volume's undo window, by the clock of the panel's database.

The host measures the window by its own clocks. A wrong wall clock at the retirement would make the
tag on the volume wrong forever, and after a restart of the host the tag is the only record.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from jobs.hosts import contact
from jobs.hosts.read_inventory import placement_of
from jobs.models import Job
from jobs.transport.errors import AgentFailed
from jobs.transport.replies import Reply
from storage.database_clock import database_now
from storage.models import Host
from storage.models.host import undo_hours
from storage.planner import PlannedStep, Refused

LIMIT_SECONDS = 5.0


def demand_sound_clock(job: Job, planned: PlannedStep) -> None:
    """Raises `Refused` where a retirement would be marked by a wrong clock, or a destruction comes
    too early by the panel's; `TransportError` where the host does not answer."""
    if planned.verb not in ("volume.retire", "volume.destroy"):
        return
    before = database_now()
    reply = contact.ask(job.host, "hello")
    if reply.error is not None:
        raise AgentFailed(job.host.name, reply.error)
    if planned.verb == "volume.retire":
        _demand_right_clock(job.host, reply, before)
    else:
        _demand_window_over(job, undo_hours(reply.data))


def seconds_off(wall_ns: Any, before: datetime, after: datetime) -> float:
    """Seconds by which the host's clock is outside the time between question and answer."""
    if not isinstance(wall_ns, int):
        return 0.0
    wall_seconds = wall_ns / 1e9
    if wall_seconds > after.timestamp():
        return wall_seconds - after.timestamp()
    return min(0.0, wall_seconds - before.timestamp())


def _demand_right_clock(host: Host, reply: Reply, before: datetime) -> None:
    off_seconds = seconds_off(reply.stamp.get("wall_ns"), before, database_now())
    if abs(off_seconds) > LIMIT_SECONDS or not isinstance(reply.stamp.get("wall_ns"), int):
        raise Refused(
            "clock_off",
            f"The clock of {host.name} is {abs(off_seconds):.0f} s "
            f"{'ahead of' if off_seconds > 0 else 'behind'} the panel's database: the undo window "
            "would end at a wrong time.",
            "Synchronise the host's clock (timedatectl set-ntp true), then try again.",
        )


def _demand_window_over(job: Job, hours: int) -> None:
    placement, now = placement_of(job), database_now()
    seen = placement.retired_seen_at or now
    until = seen + timedelta(hours=hours)
    if now < until:
        raise Refused(
            "too_early",
            f"The panel saw the volume retired at {seen:%Y-%m-%d %H:%M} UTC, and its host keeps "
            f"retired volumes for {hours} h.",
            f"Try again after {until:%Y-%m-%d %H:%M} UTC, or restore the volume.",
            not_before=until,
        )
