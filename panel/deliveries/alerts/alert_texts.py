"""Alerts in words: names, states and events. Pure."""

from __future__ import annotations

from typing import Final

from jobs.alerts.alert_rules import lapse
from jobs.models import Alert, AlertEvent, AlertEventKind
from panel.templatetags.chips import Chip
from storage.problems.all_kinds import kind_of
from storage.problems.kinds_of_arrays import ARRAY_KINDS
from storage.problems.kinds_of_caches import CACHE_KINDS
from storage.problems.kinds_of_disks import DISK_KINDS
from storage.problems.kinds_of_hosts import HOST_KINDS
from storage.problems.kinds_of_jobs import JOB_KINDS
from storage.problems.kinds_of_volumes import VOLUME_KINDS

ABOUT: Final = {
    "Disks and arrays": (*DISK_KINDS, *ARRAY_KINDS),
    "Caches": CACHE_KINDS,
    "Volumes": VOLUME_KINDS,
    "Panel and jobs": JOB_KINDS,
    "Hosts": HOST_KINDS,
}
KINDS_BY_SUBJECT: Final = tuple(
    (about, sorted(((kind.code, kind.name) for kind in kinds), key=lambda each: each[1].lower()))
    for about, kinds in ABOUT.items()
)
"""Choices of a kind, grouped by subject."""
SEVERITY_CHIPS: Final = {
    0: Chip("error", "error", "data at risk"),
    1: Chip("error", "error", "error"),
    2: Chip("warning", "warning", "warning"),
}
EVENT_WORDS: Final = {
    AlertEventKind.OPENED: "Opened",
    AlertEventKind.REMAINS: "Still there",
    AlertEventKind.WORSENED: "Became worse",
    AlertEventKind.FLAPPING: "Flaps",
    AlertEventKind.ESCALATED: "Escalated",
    AlertEventKind.ACKNOWLEDGED: "Acknowledged",
    AlertEventKind.UNACKNOWLEDGED: "Acknowledgement ended",
    AlertEventKind.SILENCED: "Silenced",
    AlertEventKind.RESOLVED: "Resolved",
}

LAPSED: Final = "No longer reported"
"""Of an alert that ended without its problem being resolved."""


def name_of(code: str) -> str:
    """The name of the kind; an unknown code of a newer agent is shown as it is."""
    return kind_of(code).name or code.replace("_", " ").capitalize() or "Problem"


def headline_of(alert: Alert) -> str:
    """Such as "Array degraded on stor-hel-03: md0"; the row came with its host and volume."""
    thing = alert.volume.label if alert.volume is not None else alert.subject
    return f"{name_of(alert.title_code)} on {alert.place}" + (f": {thing}" if thing else "")


def consequence_of(code: str) -> str:
    """What a problem of this kind leads to; "" where that is unknown."""
    return kind_of(code).consequence


def state_of_alert(alert: Alert) -> Chip:
    """The most informative state."""
    if alert.resolved_at is not None:
        if lapse(alert.code, alert.since, alert.absent_since):
            return Chip("quiet", "wait", LAPSED.lower())
        return Chip("ok", "ok", "resolved")
    if alert.acknowledged_at is not None:
        return Chip("quiet", "person", "acknowledged")
    if alert.muted_by:
        return Chip("quiet", "wait", alert.get_muted_by_display())
    if alert.cause is not None:
        is_sibling = alert.cause.code == alert.code
        return Chip("quiet", "info", f"{'listed with' if is_sibling else 'follows from'} another")
    if alert.is_flapping:
        return Chip("warning", "warning", "flapping")
    if alert.absent_since is not None:
        return Chip("quiet", "wait", "gone, about to resolve")
    return Chip("error" if alert.rank < 2 else "warning", "warning", "open")


def event_words(event: AlertEvent) -> str:
    """What happened, in a word or two."""
    if event.kind == AlertEventKind.RESOLVED and event.text:
        return LAPSED
    return EVENT_WORDS[AlertEventKind(event.kind)]


def event_text(event: AlertEvent) -> str:
    """More about the event. The stored text of an old escalation claims that the tier was notified,
    also where it is empty."""
    if event.kind == AlertEventKind.ESCALATED:
        return f"Not acknowledged: escalated to tier {event.tier}."
    return event.text


def who_did(event: AlertEvent) -> str:
    """The person who did it, else "Tiercel"."""
    return str(event.actor) if event.actor is not None else "Tiercel"
