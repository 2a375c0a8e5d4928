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
from panel.deliveries.alerts.why_slow import why_slow_path
from storage.formatting import counted
from storage.problems.all_kinds import kind_of
from storage.problems.problem_kind import ProblemKind, Way
from storage.templatetags.units import stamp
from storage.volumes.snapshot import BlockingJob

EACH_ON_ITS_PAGE: Final = "Open each volume's page for the next steps."


@dataclass(frozen=True, slots=True)
class AlertMark:
    """The state of an alert ("" while it is not acknowledged), who changed it, and its page."""

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
    data may be lost. `alert` is the state of its alerts, if any is open. `why_slow_url` is the card
    that explains why it is slow, "" where it is not about speed. `until` is when all of it was
    over, None while it lasts."""

    severity: Literal["error", "warning"]
    message: str
    correction: str
    way: Way
    since: datetime | None
    volumes: tuple[TroubledVolume, ...] = ()
    job_key: str = ""
    at_risk: bool = False
    alert: AlertMark | None = None
    why_slow_url: str = ""
    until: datetime | None = None

    @property
    def count(self) -> int:
        """How many problems the row represents."""
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
    """Of the one alert, or the list of all that the row represents."""
    known = [mark for each in problems if (mark := marks.get(fingerprint_of(each))) is not None]
    if len(problems) == 1 or not known:
        return known[0] if known else None
    first = problems[0]
    asked = urlencode({"host": first.host_key, "code": first.code, "follows": "on"})
    same = len(known) == len(problems) and len(set(each.text for each in known)) == 1
    return AlertMark(f"{reverse('alerts')}?{asked}", known[0].text if same else "")


def _row(problems: Sequence[Problem]) -> ProblemRow:
    first, are_many = problems[0], len(problems) > 1
    kind = kind_of(first.code)
    why = why_slow_path(first.code, first.volume_key, first.host_key, first.subject)
    if first.job_key or not first.volume_key:
        way: Way = "job" if first.job_key else kind.way
        return ProblemRow(
            first.severity,
            first.message,
            first.correction,
            way,
            first.since,
            (),
            first.job_key,
            at_risk=first.rank == 0,
            why_slow_url=why,
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
    dates = [each.since for each in problems if each.since is not None]
    what = kind.several or "{} with a problem"
    ends = [each.until for each in problems if each.until is not None]
    over = over_words(kind, len(problems), len(ends), max(ends, default=None))
    return ProblemRow(
        first.severity,
        over or what.format(counted(len(volumes), "volume")) if are_many else "",
        corrections.pop() if len(corrections) == 1 else kind.several_correction or EACH_ON_ITS_PAGE,
        kind.way or "volume",
        min(dates, default=None),
        volumes,
        at_risk=first.rank == 0,
        why_slow_url="" if are_many else why,
        until=max(ends) if len(ends) == len(problems) else None,
    )


def over_words(kind: ProblemKind, count: int, over_count: int, until: datetime | None) -> str:
    """The sentence for `count` volumes with a problem of the kind, of which `over_count` have it no
    longer, the last one since `until`; "" where all have it."""
    if not over_count or until is None:
        return ""
    if over_count == count:
        when = stamp(until, "%H:%M %Z")
        return kind.many_over.format(volumes=counted(count, "volume"), until=when)
    return kind.many_partly.format(volumes=counted(count - over_count, "volume"), over=over_count)


def _short(problem: Problem) -> str:
    """What its sentence says beside what the volumes have in common."""
    text = own_text(problem)
    own = text.partition(": ")[2] or text
    return own.partition(". ")[0].partition(" was ")[0]


def own_text(problem: Problem) -> str:
    """Its sentence without the name that the row shows already."""
    rest = problem.message.removeprefix(f"{problem.subject} ")
    rest = rest.removeprefix(f"{problem.subject_label} ")
    if rest != problem.message:
        return rest[:1].upper() + rest[1:]
    without = problem.message.replace(f" of {problem.subject}", "")
    return without.replace(f" of {problem.subject_label}", "")
