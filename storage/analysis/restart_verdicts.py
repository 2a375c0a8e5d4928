"""Restarts into other kernels that are judged by the days around them, so that a loss becomes a
problem of the host. It is over once a later restart made I/O faster, or a person accepts it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from storage.analysis.restart_comparison import RestartComparison, compare_restart, next_hour
from storage.models import Host, HostChange, HostChangeKind, RestartEffect
from storage.planner.draft import Refused

REASON_LIMIT: Final = 200
DAY: Final = timedelta(days=1)
DAYS_JUDGED: Final = 7
SETTLED: Final = timedelta(minutes=15)
"""How long after an hour its last samples may still arrive."""


def judge_restarts(now: datetime) -> int:
    """Judge again each restart into another kernel that has one more whole day behind it, up to a
    week; how many there were. Five queries for each."""
    since = now - (DAYS_JUDGED + 1) * DAY
    kernels = HostChange.objects.filter(kind=HostChangeKind.KERNEL, host__in=Host.objects.active())
    due = [
        change
        for change in (kernels.filter(at__gt=since) | kernels.filter(judged_at=None))
        .select_related("host")
        .order_by("pk")
        if _is_due(change, now)
    ]
    for change in due:
        _judge(change, now)
    return len(due)


def _is_due(change: HostChange, now: datetime) -> bool:
    if change.judged_at is None:
        return True
    return _days_since(change, change.judged_at) < _days_since(change, now)


def _days_since(change: HostChange, at: datetime) -> int:
    """The whole days after it that can be compared then."""
    return min(DAYS_JUDGED, (at - SETTLED - next_hour(change.at)) // DAY)


def _judge(change: HostChange, now: datetime) -> None:
    """What is not known any more stays as it was known."""
    compared = compare_restart(change, now)
    values: dict[str, Any] = {"judged_at": now}
    if compared.times is not None:
        values |= {"effect": compared.effect, "figures": _figures(compared)}
    HostChange.objects.filter(pk=change.pk).update(**values)


def _figures(compared: RestartComparison) -> dict[str, Any]:
    sides = [side for side in (compared.before, compared.after) if side is not None]
    return {
        "times": compared.times,
        "days": compared.days,
        "hours": compared.hours,
        "average_ms": [side.average_ms for side in sides],
        "p95_ms": [side.p95_ms for side in sides],
    }


def standing_loss(host: Host) -> HostChange | None:
    """The loss that no later restart made up for, also where it is accepted."""
    judged = HostChange.objects.filter(host=host).exclude(effect="")
    last = judged.select_related("host").order_by("-at", "-pk").first()
    return last if last is not None and last.effect == RestartEffect.LOSS else None


def accept_loss(change: HostChange, who: str, reason: str, now: datetime) -> None:
    """The loss is a problem no more. Raises `Refused` where the restart is known to have brought
    none."""
    losses = HostChange.objects.filter(pk=change.pk, effect=RestartEffect.LOSS)
    kept = {"at": now.isoformat(), "by": who, "reason": reason[:REASON_LIMIT]}
    if not losses.update(acceptance=kept):
        raise Refused(
            "not_found",
            "This restart is not known to have made I/O slower.",
            "Open History on the host's page.",
        )


def revoke_loss_acceptance(change: HostChange) -> None:
    """The loss is a problem again. Raises `Refused` where it is not accepted."""
    accepted = HostChange.objects.filter(pk=change.pk).exclude(acceptance={})
    if not accepted.update(acceptance={}):
        raise Refused("not_found", "This loss is not accepted.", "Reload the host's page.")
