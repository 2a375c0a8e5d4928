"""What a host's problems say, and whether it is silent. `jobs.problems` lists them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from storage.formatting import counted, ms, seconds
from storage.models import Host
from storage.models.host import HostState, silent_seconds
from storage.problems.all_kinds import kind_of
from storage.templatetags.units import stamp

Severity = Literal["error", "warning", "info"]
ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """What is wrong with a host, or with something of it. `code` is the rule's name, which does not
    change while the finding lasts, "" where no rule needs a name. `subject` is what has the trouble
    (an array, a group, a volume by `group/name`), "" where the record of the finding says so;
    `volume` is the key of the volume concerned, "" for none. `since` is when it was first seen,
    None where that is unknown. `waits_for` is the disk that a slow volume waits for, "" for none;
    `is_culprit`: the volume itself uses that disk most. `until` is when it was over, where that has
    to last before it is forgotten, else None."""

    code: str
    severity: Severity
    message: str
    correction: str
    subject: str = ""
    volume: str = ""
    since: datetime | None = None
    waits_for: str = ""
    is_culprit: bool = False
    until: datetime | None = None

    def to_json(self, since: str) -> dict[str, Any]:
        """As it is kept; `since` is ISO 8601."""
        kept = asdict(self) | {"since": since, "until": self.until and self.until.isoformat()}
        if self.until is None:
            del kept["until"]
        if not self.waits_for:
            del kept["waits_for"], kept["is_culprit"]
        return kept


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
    is stored of it, "" for those that only the panel can judge."""
    kind = kind_of(code)
    # A host says in its own words what it reports, whatever it calls that.
    if kind.message and "is_reported" not in details:
        message = kind.message.format_map(_gaps(message, since, details, now))
        correction = kind.correction or correction
    if "disk" in details:
        model = f" ({details['model']})" if details["model"] else ""
        message = f"Disk {details['disk']}{model}: {message}"
    return message, correction


def _gaps(
    message: str, since: datetime | None, details: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """What the sentences of `ProblemKind.message` leave open."""
    gaps: dict[str, Any] = {"message": message, **details}
    if since is not None:
        gaps["lasted"] = seconds((now - since).total_seconds())
        gaps["began"] = stamp(since)
    if "never" in details:
        gaps["span"] = "since it was accepted" if details["never"] else f"for {gaps['lasted']}"
    if "times" in details:
        gaps["times"], gaps["least"], gaps["most"] = (f"{each:.2f}" for each in details["times"])
        gaps["ms_before"], gaps["ms_after"] = (ms(each) for each in details["average_ms"])
        gaps["pairs"] = counted(details["hours"], "hour")
    if "why" in details:
        gaps["why"] = (details["why"] or "smartctl finds no disk any more").rstrip(".")
    if "missing" in details:
        empty = details["empty_groups"]
        gaps["volumes"] = counted(details["missing"], "volume")
        gaps["verb"] = "is" if details["missing"] == 1 else "are"
        gaps["groups"] = f" (all of {', '.join(empty)})" if empty else ""
    return gaps


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
