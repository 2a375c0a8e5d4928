"""What people do about alerts: acknowledge them, and silence what they know of. An acknowledgement
is an event of the alert, with its person; a silence keeps its own."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from jobs.models import Alert, AlertEvent, AlertEventKind, Silence
from storage.models import Host, Volume


@transaction.atomic
def acknowledge(alert: Alert, actor: Any, reason: str, until: datetime | None) -> bool:
    """Somebody looks after it: nobody else is told, until it is over, becomes worse, or `until` has
    come. False where it is over."""
    taken = Alert.objects.open().filter(pk=alert.pk)
    done = taken.update(
        acknowledged_at=Now(),
        acknowledged_by=actor,
        acknowledged_reason=reason,
        acknowledged_until=until,
        acknowledged_count=0,
    )
    if done:
        end = f" Until {until:%Y-%m-%d %H:%M} UTC." if until is not None else ""
        sentence = f"{reason.rstrip('.')}.{end}" if end else reason
        _note(alert, AlertEventKind.ACKNOWLEDGED, actor, sentence)
    return bool(done)


@transaction.atomic
def unacknowledge(alert: Alert, actor: Any) -> bool:
    """It waits for somebody again; False where nobody had acknowledged it, or it is over."""
    mine = Alert.objects.open().filter(pk=alert.pk, acknowledged_at__isnull=False)
    done = mine.update(
        acknowledged_at=None,
        acknowledged_by=None,
        acknowledged_reason="",
        acknowledged_until=None,
        acknowledged_count=0,
        tier_at=Now(),
    )
    if done:
        _note(alert, AlertEventKind.UNACKNOWLEDGED, actor, "")
    return bool(done)


def silence(
    *,
    host: Host | None = None,
    volume: Volume | None = None,
    code: str = "",
    reason: str,
    until: datetime,
    author: Any,
) -> Silence:
    """Nobody is told of what agrees with all that is given, from the next round on."""
    return Silence.objects.create(
        host=host, volume=volume, code=code, reason=reason, until=until, author=author
    )


def end_silence(quiet: Silence, actor: Any) -> bool:
    """What is still there is told in the next round; False where it was over."""
    ended = Silence.objects.active().filter(pk=quiet.pk)
    return bool(ended.update(until=Now(), ended_by=actor))


def _note(alert: Alert, kind: AlertEventKind, actor: Any, text: str) -> None:
    alert.refresh_from_db(fields=["rank", "tier"])
    AlertEvent.objects.create(
        alert=alert, kind=kind, actor=actor, text=text, rank=alert.rank, tier=alert.tier
    )
