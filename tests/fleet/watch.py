"""Alerts of the invented fleet, as half an hour of rounds makes them: open, acknowledged, silenced,
resolved; and their recipients."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobs.alerts import alert_actions, alert_judge
from jobs.models import Alert, AlertEvent, AlertEventKind
from panel.accounts.authentication.second_factor import seal
from panel.models import AlertDelivery, AlertRoute, User

ROUNDS = (25, 20, 15, 10, 5, 0)
HOOK = "https://ntfy.example.org/storage"


def watch(admin: User, now: datetime) -> None:
    """Judge what is wrong, and let the admin look after some of it."""
    for minutes in ROUNDS[:2]:
        alert_judge.judge(now - timedelta(minutes=minutes))
    alerts = list(Alert.objects.open().filter(cause=None).order_by("rank", "id"))
    if not alerts:
        return
    alert_actions.acknowledge(
        alerts[0], admin, "A new SSD is on its way, swap on Tuesday", now + timedelta(days=2)
    )
    if len(alerts) > 2:
        last = alerts[-1]
        alert_actions.silence(
            host=last.host,
            code=last.code,
            reason="Known, being moved this week",
            until=now + timedelta(days=3),
            author=admin,
        )
    _resolved(alerts[0], now)
    for minutes in ROUNDS[2:]:
        alert_judge.judge(now - timedelta(minutes=minutes))
    _routes(admin, now)


def _resolved(like: Alert, now: datetime) -> None:
    """One that was over the day before."""
    begun = now - timedelta(hours=30)
    ended = begun + timedelta(minutes=19)
    row = Alert.objects.create(
        fingerprint="0" * 32,
        family="contact",
        code="unreachable",
        severity="error",
        rank=1,
        worst_rank=1,
        host=like.host,
        message=f"{like.place} cannot be reached: timed out",
        first_seen_at=begun,
        present_since=begun,
        opened_at=begun,
        notified_at=begun,
        absent_since=begun + timedelta(minutes=17),
        resolved_at=ended,
    )
    for kind, at in ((AlertEventKind.OPENED, begun), (AlertEventKind.RESOLVED, ended)):
        AlertEvent.objects.create(
            alert=row, kind=kind, at=at, is_notified=True, rank=1, routed_at=at, text=row.message
        )


def _routes(admin: User, now: datetime) -> None:
    mine = AlertRoute.objects.create(name="Ada", kind="email", user=admin, digest_hour=8)
    AlertRoute.objects.create(
        name="On call",
        kind="ntfy",
        url=seal(HOOK),
        tier=2,
        most_rank=1,
        sites=["Helsinki"],
        zone="Europe/Helsinki",
        quiet_start="22:00",
        quiet_end="07:00",
    )
    events = list(AlertEvent.objects.unrouted())
    sent = AlertDelivery.objects.create(route=mine, attempts=1, delivered_at=now)
    sent.events.set(events)
    AlertDelivery.objects.create(
        route=mine,
        attempts=3,
        last_error="The mail server refused the connection.",
        next_at=now + timedelta(minutes=1),
    ).events.set(events[:1])
    AlertEvent.objects.filter(pk__in=[each.pk for each in events]).update(routed_at=now)
