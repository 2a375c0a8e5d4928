"""What a host's problems say, and when it counts as silent. Which problems there are, and how many,
`jobs.problems` tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from django.conf import settings

from storage.formatting import counted, seconds
from storage.models import Host
from storage.models.host import HostState
from storage.templatetags.units import stamp

Severity = Literal["error", "warning", "info"]
ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}
SILENT_ROUNDS = 3
"""A host is silent after this many sample intervals without an answer."""


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """What is wrong with a host, or with something of it. `code` is the rule's name, which does not
    change while the finding lasts, "" where nobody needs to know. `subject` is what has the trouble
    (an array, a group, a volume by `group/name`), "" where whoever keeps the finding knows;
    `volume` is the key of the volume concerned, "" for none. `since` is when it was first seen,
    None where that is unknown."""

    code: str
    severity: Severity
    message: str
    correction: str
    subject: str = ""
    volume: str = ""
    since: datetime | None = None

    def to_json(self, since: str) -> dict[str, str]:
        """As it is kept; `since` is ISO 8601."""
        return asdict(self) | {"since": since}


def silent_seconds() -> int:
    """After how many seconds figures count as old, and their host as silent."""
    return SILENT_ROUNDS * int(settings.TIERCEL_SAMPLE_SECONDS)


def is_silent(host: Host, now: datetime) -> bool:
    """True for an active host that has not answered for some rounds."""
    if host.state != HostState.ACTIVE:
        return False
    seen = host.last_seen_at
    return seen is None or (now - seen).total_seconds() > silent_seconds()


def problem_words(
    code: str,
    message: str,
    correction: str,
    since: datetime | None,
    details: Mapping[str, Any],
    now: datetime,
) -> tuple[str, str]:
    """What a problem of a host says, and what to do about it. `message` and `correction` are what
    is stored of it, "" for those that only the panel can tell."""
    lasted = seconds((now - since).total_seconds()) if since is not None else ""
    if code == "twins":
        return f"{message}. Nothing is sent to either host.", correction
    if code == "machine_changed":
        return f"{message}. Nothing is sent to it.", correction
    if code == "quarantined":
        return (
            "The host shows a different SSH key from the accepted one. Nothing is sent to it.",
            "Compare the fingerprints on the host page with the host's console.",
        )
    if code == "unverified":
        return (
            "New host waiting for you to approve its SSH key.",
            "Compare the fingerprint on the host page and accept it.",
        )
    if code == "silent":
        span = "since it was accepted" if details.get("never") else f"for {lasted}"
        return f"Silent {span}.", "Check that the collector runs and that the host is up."
    if code == "unsampled":
        return (
            f"The host answers, but has sent no samples for {lasted}.",
            "Check that the collector runs: manage.py doctor",
        )
    if code == "no_smartctl":
        return (
            "The host has no smartctl: nobody is told when one of its disks begins to fail.",
            "On the host: apt-get install smartmontools (or dnf install smartmontools)",
        )
    if code == "smart_stale":
        why = details["why"] or "smartctl finds no disk any more"
        return (
            f"Not all disks of the host were read for {lasted}: {why.rstrip('.')}.",
            "On the host: smartctl --scan; then smartctl -x for each disk that it lists.",
        )
    if code == "kernel_changed":
        return (
            f"Restarted into another kernel: {details['after']}, before that {details['before']}.",
            "If nobody restarted it, look at the end of the last boot: journalctl -b -1. History "
            "on the host's page compares the days before and after.",
        )
    if code in ("volumes_missing", "inventory_shrank") and since is not None:
        return _missing_words(code, since, details)
    if "disk" in details:
        model = f" ({details['model']})" if details["model"] else ""
        return f"Disk {details['disk']}{model}: {message}", correction
    return message, correction


def _missing_words(code: str, since: datetime, details: Mapping[str, Any]) -> tuple[str, str]:
    began = f"since {stamp(since)}"
    counts = f"{details['missing']} of {details['total']} volumes"
    if code == "volumes_missing":
        verb = "is" if details["missing"] == 1 else "are"
        return (
            f"{counted(details['missing'], 'volume')} {verb} missing {began}; nothing was deleted "
            "in the panel.",
            "Removed or moved on the host? See the list under Volumes.",
        )
    empty = details["empty_groups"]
    groups = f" (all of {', '.join(empty)})" if empty else ""
    return (
        f"{counts} are missing {began}{groups}: the inventory shrank; nothing was deleted here.",
        "Check on the host that every disk is there: vgs; pvs; mdadm --detail --scan",
    )


def reported_problems(host: Host) -> list[HealthFinding]:
    """The preflight problems that the agent reported, in its order."""
    problems = []
    for problem in host.problems:
        severity = problem.get("severity")
        problems.append(
            HealthFinding(
                str(problem.get("code", "")),
                severity if severity in ORDER else "warning",
                str(problem.get("message", "")),
                str(problem.get("correction", "")),
                since=_moment(problem.get("since")),
            )
        )
    return problems


def _moment(value: object) -> datetime | None:
    """When a kept problem was first seen; those of an earlier version do not say."""
    return datetime.fromisoformat(value) if isinstance(value, str) else None
