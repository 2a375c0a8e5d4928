"""The problems of a host as its page shows them: volumes by their names, those of one kind together
with the button that mends them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal
from urllib.parse import urlencode

from django.urls import reverse

from jobs.alerts.alert_rules import fingerprint_of
from jobs.problems import Problem
from storage.formatting import counted
from storage.health.cache_condition import DISK_CODES
from storage.health.smart_findings import CODES
from storage.volumes.snapshot import BlockingJob

TOGETHER: Final = {
    "writeback_degraded": "{} in writeback mode on a degraded SSD mirror; dirty at last inventory:",
    "drift": "{} not as recorded",
    "unfinished": "{} not finished",
    "volume_inactive": "{} not active",
    "ssd_lost": "{} with a missing cache SSD",
    "volume_frozen": "{} suspended",
    "cache_dirty_stuck": "{} with dirty data that is not written back",
    "cache_dirty_high": "{} with much dirty data",
    "cache_thrash": "{} with a cache that is too small",
    "cache_bypassed": "{} with a cache that is bypassed",
    "cache_useless": "{} with a cache that is full but useless",
    "hit_rate_fell": "{} with a lower hit rate than last week",
    "cache_slower": "{} slower with cache than without",
    "volume_slow": "{} slow",
}
"""What several volumes have in common, by the code of the finding."""
CORRECTIONS: Final = {
    "writeback_degraded": "Replace the failed SSD, or set the volumes to writethrough; where their "
    "group lacks a disk, LVM sets no mode before that.",
}
EACH_ON_ITS_PAGE: Final = "Open each volume's page for the next steps."
Way = Literal["", "bulk", "refresh", "keys", "enrol", "missing", "disks", "volume", "job"]
WAYS: Final[Mapping[str, Way]] = {
    "writeback_degraded": "bulk",
    "silent": "refresh",
    "unreachable": "refresh",
    "unsampled": "refresh",
    "quarantined": "keys",
    "twins": "keys",
    "machine_changed": "keys",
    "unverified": "keys",
    "pending": "enrol",
    "volumes_missing": "missing",
    "inventory_shrank": "missing",
    **dict.fromkeys(("array_failed", "array_inactive", "array_read_only"), "disks"),
    "array_unclear": "disks",
    "array_degraded": "disks",
    "array_weakened": "disks",
    "array_recovering": "disks",
    "array_mismatch": "disks",
    "lv_raid_failed": "disks",
    "lv_raid_degraded": "disks",
    "lv_raid_unknown": "disks",
    "pv_duplicate": "disks",
    "lv_raid_refresh": "disks",
    "lv_raid_mismatch": "disks",
    "pv_missing": "disks",
    "smart_stale": "disks",
    "no_smartctl": "disks",
    **dict.fromkeys((*CODES, *DISK_CODES), "disks"),
}
"""Where each kind is mended; that of a volume on its page, unless it is listed here."""


@dataclass(frozen=True, slots=True)
class AlertMark:
    """What became of an alert, "" where it waits for somebody, by whom, and its page."""

    url: str
    text: str
    who: str = ""


@dataclass(frozen=True, slots=True)
class TroubledVolume:
    """`name` is the volume's on the host (`group/name`); `text` what is wrong with this one,
    `blocking` the job that it waits for."""

    key: str
    label: str
    name: str
    text: str
    blocking: BlockingJob | None = None


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """One problem, or several volumes that share one. `way` says which button mends it; `at_risk`:
    data may be lost. `alert` is what became of its alerts, if any is open."""

    severity: Literal["error", "warning"]
    message: str
    correction: str
    way: Way
    since: datetime | None
    volumes: tuple[TroubledVolume, ...] = ()
    job_key: str = ""
    at_risk: bool = False
    alert: AlertMark | None = None

    @property
    def count(self) -> int:
        """Problems that the row stands for."""
        return max(1, len(self.volumes))

    @property
    def free(self) -> tuple[str, ...]:
        """The keys of the volumes that a job can change now."""
        return tuple(each.key for each in self.volumes if each.blocking is None)

    @property
    def held(self) -> tuple[BlockingJob, ...]:
        """The jobs that the other volumes wait for."""
        return tuple(each.blocking for each in self.volumes if each.blocking is not None)


def problem_rows(
    problems: Iterable[Problem], marks: Mapping[str, AlertMark] | None = None
) -> tuple[ProblemRow, ...]:
    """The worst first (`jobs.problems.problems_of`). `marks` are the open alerts by their
    fingerprints."""
    rows: dict[str, list[Problem]] = {}
    for n, each in enumerate(problems):
        is_of_volume = each.volume_key and not each.job_key
        rows.setdefault(each.code if is_of_volume else f"{n}", []).append(each)
    return tuple(replace(_row(those), alert=_mark(those, marks or {})) for those in rows.values())


def _mark(problems: Sequence[Problem], marks: Mapping[str, AlertMark]) -> AlertMark | None:
    """Of the one alert, or the list of all that the row stands for."""
    known = [mark for each in problems if (mark := marks.get(fingerprint_of(each))) is not None]
    if len(problems) == 1 or not known:
        return known[0] if known else None
    first = problems[0]
    asked = urlencode({"host": first.host_key, "code": first.code, "follows": "on"})
    same = len(known) == len(problems) and len(set(each.text for each in known)) == 1
    return AlertMark(f"{reverse('alerts')}?{asked}", known[0].text if same else "")


def _way(code: str) -> Way:
    return WAYS.get(code, "")


def _row(problems: Sequence[Problem]) -> ProblemRow:
    first, are_many = problems[0], len(problems) > 1
    if first.job_key or not first.volume_key:
        way: Way = "job" if first.job_key else _way(first.code)
        return ProblemRow(
            first.severity,
            first.message,
            first.correction,
            way,
            first.since,
            (),
            first.job_key,
            at_risk=first.rank == 0,
        )
    volumes = tuple(
        TroubledVolume(
            each.volume_key,
            each.subject_label,
            each.subject,
            _short(each) if are_many else own_text(each),
            each.blocking,
        )
        for each in problems
    )
    corrections = {each.correction for each in problems}
    shared = CORRECTIONS.get(first.code, EACH_ON_ITS_PAGE)
    dates = [each.since for each in problems if each.since is not None]
    what = TOGETHER.get(first.code, "{} with a problem")
    return ProblemRow(
        first.severity,
        what.format(counted(len(volumes), "volume")) if are_many else "",
        corrections.pop() if len(corrections) == 1 else shared,
        WAYS.get(first.code, "volume"),
        min(dates, default=None),
        volumes,
        at_risk=first.rank == 0,
    )


def _short(problem: Problem) -> str:
    """What its sentence says beside what the volumes have in common."""
    text = own_text(problem)
    own = text.partition(": ")[2] or text
    return own.partition(" was on one SSD")[0]


def own_text(problem: Problem) -> str:
    """Its sentence without the name that stands before it already."""
    rest = problem.message.removeprefix(f"{problem.subject} ")
    if rest != problem.message:
        return rest[:1].upper() + rest[1:]
    return problem.message.replace(f" of {problem.subject}", "")
