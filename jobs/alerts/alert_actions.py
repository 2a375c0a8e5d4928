"""What people do about alerts: acknowledge and silence them. An acknowledgement is an event of the
alert; a silence records its own author."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from jobs.models import Alert, AlertEvent, AlertEventKind, Silence
from storage.models import Host, Volume
from storage.templatetags.units import stamp


@transaction.atomic
def acknowledge(alert: Alert, actor: Any, reason: str, until: datetime | None) -> bool:
    """Take responsibility: no further messages until the alert is resolved or worsens, or `until`.
    False where it is already resolved."""
    taken = Alert.objects.open().filter(pk=alert.pk)
    done = taken.update(
        acknowledged_at=Now(),
        acknowledged_by=actor,
        acknowledged_reason=reason,
        acknowledged_until=until,
        acknowledged_count=0,
    )
    if done:
        end = f" Until {stamp(until)}." if until is not None else ""
        sentence = f"{reason.rstrip('.')}.{end}" if end else reason
        _note(alert, AlertEventKind.ACKNOWLEDGED, actor, sentence)
    return bool(done)


@transaction.atomic
def unacknowledge(alert: Alert, actor: Any) -> bool:
    """Make the alert unacknowledged again; False where it was not acknowledged, or is resolved."""
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
    """Mute alerts that match all given terms, from the next round on."""
    return Silence.objects.create(
        host=host, volume=volume, code=code, reason=reason, until=until, author=author
    )


def end_silence(quiet: Silence, actor: Any) -> bool:
    """What is still present notifies in the next round; False where the silence had ended."""
    ended = Silence.objects.active().filter(pk=quiet.pk)
    return bool(ended.update(until=Now(), ended_by=actor))


def _note(alert: Alert, kind: AlertEventKind, actor: Any, text: str) -> None:
    alert.refresh_from_db(fields=["rank", "tier"])
    AlertEvent.objects.create(
        alert=alert, kind=kind, actor=actor, text=text, rank=alert.rank, tier=alert.tier
    )
