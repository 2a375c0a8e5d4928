"""What each kind of problem means for alerts: what makes two problems the same one, how long each
must last before anybody is told, and which follow from which. Pure.

Nothing here says whether something is wrong: `jobs.problems` alone does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from jobs.problems import FAILED_LATELY, NEW_KERNEL, Problem
from storage.health.cache_condition import (
    DISK_CODES,
    LASTING_CODES,
    RECENT_CODES,
    SLOW_CODES,
    STATE_CODES,
)

TRUST: Final = frozenset({"quarantined", "twins", "machine_changed"})
"""Nothing is sent to the host."""
CONTACT: Final = frozenset(
    {
        "silent",
        "unreachable",
        "no_answer",
        "auth_refused",
        "sshd_totp",
        "sudo_tty",
        "agent_missing",
        "bad_reply",
        "transport",
        "not_active",
        "key_sealed",
        "host_key_changed",
    }
)
"""The host does not answer, whatever the reason: one problem, whose words change."""
FAMILIES: Final = {
    **dict.fromkeys(TRUST, "trust"),
    **dict.fromkeys(CONTACT, "contact"),
    **dict.fromkeys(("array_failed", "array_inactive", "array_degraded"), "array"),
    "array_weakened": "array",
    "array_recovering": "array",
    "volumes_missing": "missing",
    "inventory_shrank": "missing",
    "job_failed": "job",
    "job_undecided": "job",
    "jobs_untaken": "worker",
    "worker_silent": "worker",
    "workers_busy": "worker",
}
"""Codes that are one problem in several states, so that a change from one to the other is no new
alert; any other code is a family of its own."""
NO_NEWS: Final = ("trust", "contact")
"""While a host has one of these, nothing new is known of it."""

HOLD_SECONDS: Final = {
    # The collector asks every minute: one answer that fails is none yet.
    **dict.fromkeys(CONTACT, 90),
    **dict.fromkeys(("drift", "unfinished", "volume_inactive", "volumes_missing"), 120),
    **dict.fromkeys(("unsampled", "clock_off", "stuck", "orphan_device"), 120),
    # A host that is back after a day is read within the hour.
    "smart_stale": 3600,
    # Jobs are paused on purpose: told is only that they stay so.
    "halt": 1800,
    # Many jobs at once are no fault; that they wait for long is.
    "workers_busy": 600,
    # It lasted for two samples before, and is well for minutes once it is gone.
    **dict.fromkeys(SLOW_CODES, 0),
    # They lasted for a minute before they were a problem.
    **dict.fromkeys(("jobs_untaken", "worker_silent", "housekeeping_silent", "slot_stuck"), 0),
    **dict.fromkeys(("collector_silent", "beat_silent"), 30),
    **dict.fromkeys(("job_failed", "job_undecided"), 0),
    **dict.fromkeys(("unverified", "quarantined", "twins", "machine_changed"), 0),
}
"""How long a problem must be there before it is an alert, by its code."""
USUAL_HOLD_SECONDS: Final = 30
AT_RISK_RANK: Final = 0
WARNING_RANK: Final = 2
RESOLVE_SECONDS: Final = {
    **dict.fromkeys(("job", "unverified", "halt"), 0),
    **dict.fromkeys(("worker", "housekeeping_silent", "slot_stuck"), 60),
    **dict.fromkeys(("collector_silent", "beat_silent"), 60),
    "contact": 120,
    **dict.fromkeys(SLOW_CODES, 0),
    # They are judged every five minutes: twice it must be well.
    **dict.fromkeys(RECENT_CODES | LASTING_CODES | DISK_CODES, 660),
}
"""How long it must be gone before the alert is over, by its family."""
USUAL_RESOLVE_SECONDS: Final = 180
LAPSES: Final = {
    "job_failed": (
        FAILED_LATELY,
        "It failed 2 days ago and is no longer reported. No later job has mended it.",
    ),
    "kernel_changed": (
        NEW_KERNEL,
        "Another kernel is reported for 5 minutes only. Nothing was changed back.",
    ),
}
"""What is listed only for so long after it began, and what is true once it is not."""
SIBLINGS_WITHIN: Final = timedelta(minutes=15)
"""Volumes of one host that have the same problem within so long have it for one reason."""

CODE_LIMIT: Final = 64
SUBJECT_LIMIT: Final = 255

OF_CACHE: Final = RECENT_CODES | LASTING_CODES | STATE_CODES
"""What the figures of a cache show; each of them follows from a broken one."""
OF_GROUP: Final = OF_CACHE | frozenset(
    {
        "ssd_lost",
        "cache_lost",
        "cache_failed",
        "cache_needs_check",
        "cache_unregistered",
        "volume_inactive",
        "drift",
        "unfinished",
        "writeback_degraded",
    }
)
OF_DISK: Final = (
    "disk_vanished",
    "disk_failing",
    "attribute_failed",
    "self_test_failed",
    "spare_low",
    "uncorrectable_rose",
    "reported_rose",
    "pending_rose",
    "reallocated_rose",
    "worn",
    "wears_out_soon",
    "crc_rose",
    "disk_hung",
    "disk_unread",
    "disk_hot",
    "ssd_saturated",
    "hdd_saturated",
)
"""What one disk can say of itself: each may be there because of one before it."""
OF_VOLUME: Final = {
    "ssd_lost": OF_GROUP,
    "cache_lost": OF_GROUP - {"ssd_lost"},
    "cache_failed": OF_CACHE | {"volume_inactive", "drift", "cache_needs_check"},
    "cache_needs_check": OF_CACHE,
    "cache_unregistered": OF_CACHE,
    "cache_thrash": frozenset({"cache_useless", "hit_rate_fell", "cache_slower"}),
    "cache_bypassed": frozenset({"hit_rate_fell", "cache_slower", "cache_useless"}),
    "cache_dirty_stuck": frozenset({"cache_dirty_high"}),
    "volume_inactive": frozenset({"drift"}),
}
"""What else the same volume has because of it."""
LATE_EFFECTS: Final = frozenset(
    {
        ("cache_dirty_stuck", "cache_dirty_high"),
        # Disks are read much more seldom than arrays and groups.
        ("array_degraded", "disk_vanished"),
        ("array_weakened", "disk_vanished"),
        ("pv_missing", "disk_vanished"),
    }
)
"""A cause and what it takes its time to bring about: also long after it, that has no other
reason. A disk has one if it is gone later than the next reading of disks tells."""
DISKS_READ_WITHIN: Final = timedelta(hours=1)
LACKS_A_DISK: Final = ("array", "pv_missing")
"""Each stands for one lost disk: with the next one more data is at risk, and people are told."""


@dataclass(frozen=True, slots=True)
class SeenProblem:
    """A problem as one round saw it; equal ones of the same thing are one, `count` of them.
    `fingerprint` is the same as long as it is the same problem. `job_error` is the code of what
    went wrong where the problem is a job."""

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
    """The same as long as it is the same problem, whatever its words."""
    thing = problem.job_key or problem.volume_key or problem.identity or problem.subject
    if not problem.code:
        thing = re.sub(r"[0-9]+", "#", problem.message)
    identity = json.dumps([problem.host_key, _family_of(problem), thing])
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def _family_of(problem: Problem) -> str:
    return FAMILIES.get(problem.code, problem.code)


def _seen(problem: Problem) -> SeenProblem:
    return SeenProblem(
        fingerprint=fingerprint_of(problem),
        family=_family_of(problem)[:CODE_LIMIT],
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
    """How long it must be there before anybody is told; data at risk never waits long."""
    if seen.rank == AT_RISK_RANK:
        return timedelta(0)
    return timedelta(seconds=HOLD_SECONDS.get(seen.code, USUAL_HOLD_SECONDS))


def resolve_after(seen: SeenProblem) -> timedelta:
    """How long it must be gone before it is over."""
    return timedelta(seconds=RESOLVE_SECONDS.get(seen.family, USUAL_RESOLVE_SECONDS))


def lapse(code: str, since: datetime | None, gone_at: datetime | None) -> str:
    """Why the problem is listed no longer though nobody mended it; "" where it was mended."""
    if code not in LAPSES or since is None or gone_at is None:
        return ""
    listed_for, words = LAPSES[code]
    return words if gone_at - since >= listed_for else ""


def is_news_of_the_host(seen: SeenProblem) -> bool:
    """Whether only the host itself can say that it is over: while the host does not answer, that
    the problem is not listed means nothing."""
    return seen.family not in (*NO_NEWS, "job", "unverified")


def follows(effect: SeenProblem, cause: SeenProblem) -> bool:
    """Whether one problem is there because of another one of the same host."""
    if cause.family in NO_NEWS and effect.rank == AT_RISK_RANK:
        # The host said so before it fell silent: it is no consequence, and cannot wait.
        return False
    if cause.family == "trust":
        return effect.family not in ("trust", "job")
    if effect.code == "kernel_changed":
        # It is the reason why the host did not answer.
        return False
    if cause.family == "contact":
        return is_news_of_the_host(effect) or effect.job_error in CONTACT
    if cause.code == "ssd_saturated":
        return effect.code == "cache_slower"
    if cause.code == "volume_slow":
        # It names the disk, and who uses it.
        return effect.code == "hdd_saturated"
    if cause.family == "array":
        return effect.code in ("writeback_degraded", "disk_vanished")
    if cause.code == "pv_missing":
        in_group = effect.subject.startswith(f"{cause.subject}/")
        of_host = effect.family in ("missing", "disk_vanished")
        return of_host or (in_group and effect.code in OF_GROUP)
    if cause.code in OF_DISK:
        same_disk = bool(effect.subject) and effect.subject == cause.subject
        return same_disk and effect.code in OF_DISK[OF_DISK.index(cause.code) + 1 :]
    same_volume = bool(effect.volume_key) and effect.volume_key == cause.volume_key
    return same_volume and effect.code in OF_VOLUME.get(cause.code, ())


def comes_late(effect: SeenProblem, cause: SeenProblem) -> bool:
    """Whether the one follows from the other however much later it was seen."""
    if cause.family in NO_NEWS:
        # Nothing is known of a host that does not answer.
        return True
    if (cause.code, effect.code) not in LATE_EFFECTS:
        return False
    if effect.code != "disk_vanished":
        return True
    if effect.since is None or cause.since is None:
        return False
    return abs(effect.since - cause.since) <= DISKS_READ_WITHIN


def are_siblings(one: SeenProblem, other: SeenProblem) -> bool:
    """Whether two volumes of a host have the same trouble, or one round missed two of its disks: a
    controller or a shelf takes all of its disks along."""
    of_volumes = bool(one.volume_key and other.volume_key)
    of_round = one.code == "disk_vanished" and one.since is not None and one.since == other.since
    same = (one.code, one.job_error) == (other.code, other.job_error)
    return (of_volumes or of_round) and same and one.fingerprint != other.fingerprint
