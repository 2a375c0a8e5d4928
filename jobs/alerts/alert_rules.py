"""What problems mean for alerts: which are the same, how long each must last before it notifies,
and which follow from which. Each kind is described in `storage.problems`. Pure.

`jobs.problems` alone decides whether something is wrong.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from jobs.problems import Problem
from storage.problems.all_kinds import family_of, kind_of, may_follow

NO_NEWS: Final = ("trust", "contact")
"""While a host has one of these, its other problems are not up to date."""

AT_RISK_RANK: Final = 0
WARNING_RANK: Final = 2
SIBLINGS_WITHIN: Final = timedelta(minutes=15)
"""Volumes of one host with the same problem within this time share one cause."""

CODE_LIMIT: Final = 64
SUBJECT_LIMIT: Final = 255

DISKS_READ_WITHIN: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class SeenProblem:
    """A problem as one round saw it; `count` equal problems of one thing are merged. `fingerprint`
    stays the same as long as the problem does. `job_error` is the error code of a problem that is a
    job."""

    fingerprint: str
    family: str
    code: str
    severity: str
    rank: int
    host_id: int
    subject: str = ""
    volume_key: str = ""
    job_key: str = ""
    job_error: str = ""
    message: str = ""
    correction: str = ""
    since: datetime | None = None
    count: int = 1


def seen_problems(problems: Iterable[Problem]) -> dict[str, SeenProblem]:
    """The problems by their fingerprints."""
    seen: dict[str, SeenProblem] = {}
    for problem in problems:
        one = _seen(problem)
        other = seen.get(one.fingerprint)
        if other is not None:
            worst = min(other, one, key=lambda each: each.rank)
            one = replace(worst, count=other.count + 1)
        seen[one.fingerprint] = one
    return seen


def fingerprint_of(problem: Problem) -> str:
    """The same as long as the problem is the same, whatever its wording."""
    thing = problem.job_key or problem.volume_key or problem.identity or problem.subject
    if not problem.code:
        thing = re.sub(r"[0-9]+", "#", problem.message)
    identity = json.dumps([problem.host_key, family_of(problem.code), thing])
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def _seen(problem: Problem) -> SeenProblem:
    return SeenProblem(
        fingerprint=fingerprint_of(problem),
        family=family_of(problem.code)[:CODE_LIMIT],
        code=problem.code[:CODE_LIMIT],
        severity=problem.severity,
        rank=problem.rank,
        host_id=problem.host_id,
        subject=problem.subject[:SUBJECT_LIMIT],
        volume_key=problem.volume_key,
        job_key=problem.job_key,
        job_error=problem.job_error[:CODE_LIMIT],
        message=problem.message,
        correction=problem.correction,
        since=problem.since,
    )


def hold_seconds(seen: SeenProblem) -> timedelta:
    """How long a problem must be present before it notifies; data at risk does not wait."""
    if seen.rank == AT_RISK_RANK:
        return timedelta(0)
    return timedelta(seconds=kind_of(seen.code).hold_seconds)


def resolve_after(seen: SeenProblem) -> timedelta:
    """How long a problem must be absent before its alert is resolved."""
    return timedelta(seconds=kind_of(seen.code).resolve_seconds)


def lapse(code: str, since: datetime | None, gone_at: datetime | None) -> str:
    """Why an unresolved problem is no longer listed; "" where it was resolved."""
    kind = kind_of(code)
    if kind.listed_for is None or since is None or gone_at is None:
        return ""
    return kind.once_unlisted if gone_at - since >= kind.listed_for else ""


def is_news_of_the_host(seen: SeenProblem) -> bool:
    """Whether only the host itself can report the end of the problem: while the host does not
    answer, its absence from the list means nothing."""
    return seen.family not in (*NO_NEWS, "job", "unverified")


def follows(effect: SeenProblem, cause: SeenProblem) -> bool:
    """Whether one problem is a consequence of another one of the same host."""
    if cause.family in NO_NEWS and effect.rank == AT_RISK_RANK:
        # The host reported it before it fell silent: it is no consequence, and cannot wait.
        return False
    if cause.family == "trust":
        return effect.family not in ("trust", "job")
    if effect.code == "kernel_changed":
        # The reboot is why the host did not answer.
        return False
    if cause.family == "contact":
        return is_news_of_the_host(effect) or family_of(effect.job_error) == "contact"
    return may_follow(effect.code, cause.code) and _is_of_it(effect, cause)


def _is_of_it(effect: SeenProblem, cause: SeenProblem) -> bool:
    """Whether the effect concerns the same thing as the cause, or a part of it."""
    is_of_disk = kind_of(effect.code).about == "disk"
    match kind_of(cause.code).about:
        case "volume":
            is_same = bool(effect.volume_key) and effect.volume_key == cause.volume_key
            # A slow volume names its disk and the users of that disk.
            return is_same or is_of_disk
        case "group":
            is_in_it = effect.subject.startswith(f"{cause.subject}/")
            return is_in_it or kind_of(effect.code).about != "volume"
        case "disk":
            is_same = bool(effect.subject) and effect.subject == cause.subject
            return is_same or not is_of_disk
    return True


def comes_late(effect: SeenProblem, cause: SeenProblem) -> bool:
    """Whether the effect follows from the cause however much later it was seen."""
    if cause.family in NO_NEWS:
        # A host that does not answer reports nothing.
        return True
    if cause.code not in kind_of(effect.code).follows_late:
        return False
    if effect.code != "disk_vanished":
        return True
    if effect.since is None or cause.since is None:
        return False
    return abs(effect.since - cause.since) <= DISKS_READ_WITHIN


def are_siblings(one: SeenProblem, other: SeenProblem) -> bool:
    """Whether two volumes of a host have the same problem, or two of its disks vanished in one
    reading: a controller or a shelf takes all its disks with it."""
    of_volumes = bool(one.volume_key and other.volume_key)
    of_round = one.code == "disk_vanished" and one.since is not None and one.since == other.since
    same = (one.code, one.job_error) == (other.code, other.job_error)
    return (of_volumes or of_round) and same and one.fingerprint != other.fingerprint
