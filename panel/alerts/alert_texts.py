"""Alerts in words: what they are called, their state, and what happened to them. Pure."""

from __future__ import annotations

from typing import Final

from jobs.models import Alert, AlertEvent, AlertEventKind
from panel.templatetags.chips import Chip

NAMES: Final = {
    "writeback_degraded": "Writeback on a degraded mirror",
    "writeback_single_ssd": "Writeback without a mirror",
    "cache_lost": "Cache lost with new data",
    "ssd_lost": "SSD of a cache missing",
    "pv_missing": "Disk of a volume group missing",
    "inventory_shrank": "Most volumes missing",
    "array_degraded": "Array degraded",
    "array_recovering": "Array being rebuilt",
    "cache_failed": "Cache failed",
    "cache_needs_check": "Cache metadata needs a check",
    "cache_unregistered": "Cache SSD not registered",
    "volume_inactive": "Volume inactive",
    "orphan_device": "Leftover device",
    "drift": "Volume differs from the record",
    "unfinished": "Volume not finished",
    "volumes_missing": "Volumes missing",
    "job_undecided": "Job needs a decision",
    "job_failed": "Job failed",
    "quarantined": "SSH key changed",
    "twins": "Two hosts with one identity",
    "machine_changed": "Machine changed",
    "unverified": "SSH key to accept",
    "silent": "Host silent",
    "unsampled": "No samples",
    "unreachable": "Host not reached",
    "no_answer": "Host does not answer in time",
    "auth_refused": "Key refused",
    "sshd_totp": "One-time code required",
    "sudo_tty": "sudo needs a terminal",
    "agent_missing": "Agent does not start",
    "bad_reply": "Invalid answer",
    "boot_incomplete": "Restart incomplete",
    "no_boot_unit": "Boot unit missing",
    "other_panel": "Managed by another panel",
    "rival_panel": "Another panel tried a change",
    "owner_broken": "Owner unreadable",
    "clock_off": "Clock wrong",
    "stuck": "Storage commands hang",
}
"""What a kind of problem is called in lists and subjects of mails."""
KNOWN_CODES: Final = tuple(sorted(NAMES.items(), key=lambda each: each[1]))
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


def name_of(code: str) -> str:
    """What the kind is called; a code that a newer agent reports is shown as it is."""
    return NAMES.get(code) or code.replace("_", " ").capitalize() or "Problem"


def state_of_alert(alert: Alert) -> Chip:
    """The one state that says most."""
    if alert.resolved_at is not None:
        return Chip("ok", "ok", "resolved")
    if alert.acknowledged_at is not None:
        return Chip("quiet", "person", "acknowledged")
    if alert.hushed_by:
        return Chip("quiet", "wait", alert.get_hushed_by_display())
    if alert.cause_id is not None:
        return Chip("quiet", "info", "follows from another")
    if alert.is_flapping:
        return Chip("warning", "warning", "flapping")
    if alert.absent_since is not None:
        return Chip("quiet", "wait", "gone, about to resolve")
    return Chip("error" if alert.rank < 2 else "warning", "warning", "open")


def event_words(event: AlertEvent) -> str:
    """What happened, in a word or two."""
    return EVENT_WORDS[AlertEventKind(event.kind)]


def who_did(event: AlertEvent) -> str:
    """Who did it; "Tiercel" where nobody did."""
    return str(event.actor) if event.actor is not None else "Tiercel"
