"""The problems of a host, worst first: the one list for the hosts, host and home pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.conf import settings

from storage.formatting import seconds
from storage.health.missing_volumes import MissingVolumes
from storage.models import Host
from storage.models.host import HostState

Severity = Literal["error", "warning", "info"]
ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}
SILENT_ROUNDS = 3
"""A host is silent after this many sample intervals without an answer."""


@dataclass(frozen=True, slots=True)
class HostProblem:
    """`code` says what kind of trouble, "" where nobody needs to know; `since` is when it was first
    seen, None where that is unknown."""

    severity: Severity
    message: str
    correction: str
    code: str = ""
    since: datetime | None = None


def silent_seconds() -> int:
    """After how many seconds figures count as old, and their host as silent."""
    return SILENT_ROUNDS * int(settings.TIERCEL_SAMPLE_SECONDS)


def is_silent(host: Host, now: datetime) -> bool:
    """True for an active host that has not answered for some rounds."""
    if host.state != HostState.ACTIVE:
        return False
    seen = host.last_seen_at
    return seen is None or (now - seen).total_seconds() > silent_seconds()


def owes_figures(host: Host, now: datetime, sampled_at: datetime | None) -> bool:
    """True for a host that answers, but whose last sample, taken at `sampled_at`, is old: once it
    has volumes, something is wrong (`unsampled_since`)."""
    if host.state != HostState.ACTIVE or host.error or is_silent(host, now):
        return False
    return sampled_at is None or (now - sampled_at).total_seconds() > silent_seconds()


def unsampled_since(
    host: Host, now: datetime, due: datetime | None, sampled_at: datetime | None
) -> datetime | None:
    """Since when a host that answers has sent no figures; None while it does, and where it does
    not answer anyway. `due` is since when it has had volumes to sample
    (`storage.metrics.samples.host_load.due_since`), `sampled_at` its last sample."""
    if due is None or not owes_figures(host, now, sampled_at):
        return None
    since = due if sampled_at is None else max(due, sampled_at)
    return since if (now - since).total_seconds() > silent_seconds() else None


def problems_of(
    host: Host,
    now: datetime,
    drift: MissingVolumes | None = None,
    unsampled: datetime | None = None,
) -> tuple[HostProblem, ...]:
    """State, last error, silence, figures that do not come since `unsampled`, volumes that are
    missing (`missing_volumes_of`), and the preflight problems that the agent reported."""
    problems = [
        *_of_state(host),
        *_of_contact(host, now),
        *_of_figures(unsampled, now),
        *_of_drift(drift),
        *reported_problems(host),
    ]
    return tuple(sorted(problems, key=lambda problem: ORDER[problem.severity]))


def _of_state(host: Host) -> list[HostProblem]:
    if host.state == HostState.QUARANTINED and host.error.get("code") == "twins":
        message = (
            f"{host.error['message']}. Nothing is sent to either host.",
            host.error["correction"],
        )
        return [HostProblem("error", *message, "twins", host.last_seen_at)]
    if host.state == HostState.QUARANTINED and host.error.get("code") == "machine_changed":
        message = f"{host.error['message']}. Nothing is sent to it.", host.error["correction"]
        return [HostProblem("error", *message, "machine_changed", host.last_seen_at)]
    if host.state == HostState.QUARANTINED:
        return [
            HostProblem(
                "error",
                "The host shows a different SSH key from the accepted one. Nothing is sent to it.",
                "Compare the fingerprints on the host page with the host's console.",
                "quarantined",
                host.last_seen_at,
            )
        ]
    if host.state == HostState.UNVERIFIED:
        return [
            HostProblem(
                "warning",
                "New host waiting for you to approve its SSH key.",
                "Compare the fingerprint on the host page and accept it.",
                "unverified",
                host.created_at,
            )
        ]
    if host.state == HostState.PENDING:
        return [
            HostProblem(
                "info",
                "The host has not reported yet.",
                "Run the enrolment command on it as root.",
                "pending",
                host.created_at,
            )
        ]
    return []


def _of_contact(host: Host, now: datetime) -> list[HostProblem]:
    problems = []
    if host.error:
        problems.append(
            HostProblem(
                "error",
                str(host.error.get("message", "The last contact failed.")),
                str(host.error.get("correction", "")),
                str(host.error.get("code", "unreachable")),
                host.last_seen_at,
            )
        )
    elif is_silent(host, now):
        seen = host.last_seen_at
        since = f"for {seconds((now - seen).total_seconds())}" if seen else "since it was accepted"
        problems.append(
            HostProblem(
                "error",
                f"Silent {since}.",
                "Check that the collector runs and that the host is up.",
                "silent",
                seen or host.created_at,
            )
        )
    return problems


def _of_figures(unsampled: datetime | None, now: datetime) -> list[HostProblem]:
    if unsampled is None:
        return []
    return [
        HostProblem(
            "warning",
            "The host answers, but has sent no samples for "
            f"{seconds((now - unsampled).total_seconds())}.",
            "Check that the collector runs: manage.py doctor",
            "unsampled",
            unsampled,
        )
    ]


def _of_drift(drift: MissingVolumes | None) -> list[HostProblem]:
    if drift is None:
        return []
    since = f"since {drift.since:%Y-%m-%d %H:%M} UTC"
    counts = f"{drift.missing_count} of {drift.total_count} volumes"
    if not drift.is_large:
        verb = "is" if drift.missing_count == 1 else "are"
        return [
            HostProblem(
                "warning",
                f"{counts} {verb} missing {since}. Nothing was deleted in the panel.",
                "Check the list on the host's page. The volumes may have been removed or moved on "
                "the host.",
                "volumes_missing",
                drift.since,
            )
        ]
    groups = f" (all of {', '.join(drift.empty_groups)})" if drift.empty_groups else ""
    return [
        HostProblem(
            "error",
            f"{counts} are missing {since}{groups}: the inventory shrank; nothing was deleted "
            "here.",
            "Check on the host that every disk is there: vgs; pvs; cat /proc/mdstat",
            "inventory_shrank",
            drift.since,
        )
    ]


def reported_problems(host: Host) -> list[HostProblem]:
    """The preflight problems that the agent reported, in its order."""
    problems = []
    for problem in host.problems:
        severity = problem.get("severity")
        problems.append(
            HostProblem(
                severity if severity in ORDER else "warning",
                str(problem.get("message", "")),
                str(problem.get("correction", "")),
                str(problem.get("code", "")),
                _moment(problem.get("since")),
            )
        )
    return problems


def _moment(value: object) -> datetime | None:
    """When a kept problem was first seen; those of an earlier version do not say."""
    return datetime.fromisoformat(value) if isinstance(value, str) else None
