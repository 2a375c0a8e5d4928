"""What needs attention, as one list: worst first, equal problems in one row. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.urls import reverse

from jobs.alerts.alert_rules import fingerprint_of
from jobs.models import Alert
from jobs.problems import OF_ALL_HOSTS, Problem, ProblemGroup
from panel.deliveries.alerts.problem_lists import LISTS
from panel.deliveries.alerts.why_slow import why_slow_path
from panel.staff.hosts.problem_rows import AlertMark, over_words
from storage.problems.all_kinds import kind_of
from storage.problems.problem_kind import ProblemKind, Way
from storage.volumes.snapshot import BlockingJob

SHOWN_SUBJECTS: Final = 4
OPEN_ROWS: Final = 5
DISKS: Final = ("array", "disk")
"""The message of what is about these names disks."""
WHY_SLOW: Final = "Why is it slow?"
LOOKED_AT: Final = 2 * SHOWN_SUBJECTS
"""Some problems of a group can be of one thing."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What has the trouble, and the page where it can be settled: the name of its URL, and the key
    there ("" for a page without one)."""

    name: str
    page: str
    key: str = ""

    @property
    def url(self) -> str:
        return reverse(self.page, args=[self.key] if self.key else None)


def subject_of(problem: Problem) -> Subject:
    """The volume, job or host with the problem, by the name that people know."""
    name = f"{problem.subject_label} on {problem.host_name}"
    if problem.job_key:
        return Subject(name, "job", problem.job_key)
    if problem.volume_key:
        return Subject(name, "volume", problem.volume_key)
    return Subject(name if problem.subject else problem.host_name, "host", problem.host_key)


LINKS: Final[Mapping[Way, tuple[str, str, str]]] = {
    "keys": ("host", "#trust", "Compare keys"),
    "enrol": ("host-enrol", "", "Continue enrolment"),
    "missing": ("host-volumes", "#missing", "Show volumes"),
    "disks": ("host-disks", "#disks", "Show disks"),
    "kernels": ("host-kernels", "", "Show gates"),
    "history": ("host-history", "#kernel-compared", "Compare kernels"),
}
"""Where what concerns one host is mended, by `ProblemKind.way`: page, place there, and button."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What mends it, or the page where that is done; `decides`: an operator decides there.
    `to_writethrough` are the volumes that one
    previewed change would make safe, `held` the jobs that others of them wait for, `refresh_url`
    tries to reach the host again; these are for operators, all others get the link."""

    url: str
    text: str
    to_writethrough: tuple[str, ...] = ()
    held: tuple[BlockingJob, ...] = ()
    refresh_url: str = ""
    decides: bool = False


@dataclass(frozen=True, slots=True)
class AttentionRow:
    """A row of the list. `at_risk`: data may be lost. `since` is when the oldest of its `count`
    troubles began; `more` subjects are not named; `alert` is the state of its alerts, if any.
    `sentences` says of each subject what is wrong, where that names the disk to replace, or the
    disk that volumes wait for. `until` is when all of it was over, None while it lasts."""

    severity: str
    at_risk: bool
    what: str
    count: int
    since: datetime | None
    until: datetime | None
    consequence: str
    next_step: str
    action: Remedy
    subjects: tuple[Subject, ...]
    more: int
    alert: AlertMark | None = None
    is_about_speed: bool = False
    sentences: tuple[tuple[Subject, str], ...] = ()

    @property
    def is_muted(self) -> bool:
        """Whether a person acknowledged or silenced all of it, or its hosts are in maintenance."""
        return self.alert is not None and bool(self.alert.text)


def items(
    groups: Iterable[ProblemGroup],
    pages: Mapping[str, str],
    alerts: Mapping[str, AlertMark] | None = None,
) -> tuple[AttentionRow, ...]:
    """A row for each group, in their order, but muted ones last (`_place`). `pages` are the
    addresses of the lists by their names (`panel.deliveries.alerts.problem_lists`), `alerts` the
    open alerts by their fingerprints."""
    marks = alerts or {}
    rows = [replace(_item(group, pages), alert=_mark(group, pages, marks)) for group in groups]
    return tuple(sorted(rows, key=_place))


def _place(row: AttentionRow) -> tuple[bool, bool, bool, bool]:
    """Before its neighbours of the same severity comes what slows guests now."""
    return row.is_muted, not row.at_risk, row.severity != "error", not row.is_about_speed


def _mark(
    group: ProblemGroup, pages: Mapping[str, str], alerts: Mapping[str, AlertMark]
) -> AlertMark | None:
    """The state that all of the group have, with the page of the one alert or of all."""
    marks = {each: alerts.get(each) for each in map(fingerprint_of, group.problems)}
    known = [each for each in marks.values() if each is not None]
    if not known:
        return None
    same = len(known) == len(marks) and len({each.text for each in known}) == 1
    text = known[0].text if same else ""
    if len(marks) == 1 and group.count == 1:
        return replace(known[0], text=text)
    return AlertMark(f"{pages['alerts']}?code={group.problems[0].code}&follows=on", text)


def at_once(rows: tuple[AttentionRow, ...]) -> tuple[AttentionRow, ...]:
    """What is always visible: all data at risk that is not muted, and the first of the rest."""
    at_risk = [n for n, row in enumerate(rows, 1) if row.at_risk and not row.is_muted]
    return rows[: max(OPEN_ROWS, *at_risk, 0)]


def of_all_hosts(problem: Problem, pages: Mapping[str, str]) -> AttentionRow:
    """The row of the global stop, or of a standstill in the panel itself."""
    return AttentionRow(
        severity=problem.severity,
        at_risk=False,
        what=problem.message,
        count=1,
        since=problem.since,
        until=None,
        consequence=kind_of(problem.code).consequence,
        # Its button says it.
        next_step="" if problem.code == "halt" else problem.correction,
        action=_way_of_all_hosts(problem.code, pages["jobs"]),
        subjects=(),
        more=0,
    )


def _way_of_all_hosts(code: str, jobs_url: str) -> Remedy:
    return Remedy(jobs_url, "Resume jobs" if code == "halt" else "All jobs")


def of_alert(alert: Alert, blocking: BlockingJob | None = None) -> tuple[Problem, Remedy]:
    """The problem as the alert saw it last, and the button that the overview has for it. `blocking`
    is the job that changes its volume now."""
    volume, job = alert.volume, alert.job
    problem = Problem(
        code=alert.code,
        severity="error" if alert.severity == "error" else "warning",
        rank=alert.rank,
        message=alert.message,
        correction=alert.correction,
        since=alert.since,
        host_id=alert.host_id or OF_ALL_HOSTS,
        host_key=alert.host.key if alert.host is not None else "",
        host_name=alert.place,
        subject=alert.subject,
        subject_label=volume.label if volume is not None else alert.subject,
        volume_key=volume.key if volume is not None else "",
        job_key=job.key if job is not None else "",
        job_kind=job.get_kind_display() if job is not None else "",
        job_error=alert.job_error,
        blocking=blocking,
    )
    if alert.host is None:
        return problem, _way_of_all_hosts(alert.code, reverse("jobs"))
    group = ProblemGroup((problem,), 1, 1, is_one_host=True, is_one_correction=True)
    return problem, _action(group, kind_of(alert.code), {})


def _item(group: ProblemGroup, pages: Mapping[str, str]) -> AttentionRow:
    first, kind = group.problems[0], kind_of(group.problems[0].code)
    subjects = tuple(dict.fromkeys(map(subject_of, group.problems)))
    is_over = group.over_count == group.count
    return AttentionRow(
        severity="error" if kind.is_data_at_risk else first.severity,
        at_risk=kind.is_data_at_risk,
        what=first.message if group.count == 1 else _many(group, kind),
        count=group.count,
        since=_since(group),
        until=group.until if is_over else None,
        consequence=kind.consequence_over if is_over else kind.consequence,
        next_step=first.correction if group.is_one_correction else "",
        action=_action(group, kind, pages),
        subjects=subjects[:SHOWN_SUBJECTS],
        more=max(0, group.thing_count - SHOWN_SUBJECTS),
        is_about_speed=kind.is_about_speed and not is_over,
        sentences=_sentences(group, kind),
    )


def _since(group: ProblemGroup) -> datetime | None:
    """When the oldest began that is not over, if any lasts."""
    first = group.problems[0]
    return next((each.since for each in group.problems if each.until is None), first.since)


def _sentences(group: ProblemGroup, kind: ProblemKind) -> tuple[tuple[Subject, str], ...]:
    """Of several: who is to replace a disk asks which, by its model and serial number. Of slow
    volumes, who uses each disk most."""
    if group.count == 1:
        return ()
    if kind.about in DISKS:
        return tuple((subject_of(each), each.message) for each in group.problems[:SHOWN_SUBJECTS])
    if any(each.waits_for for each in group.problems):
        return tuple(_of_disks(group.problems))[:SHOWN_SUBJECTS]
    return ()


def _of_disks(waiting: Iterable[Problem]) -> Iterator[tuple[Subject, str]]:
    """Of each disk the sentence of one volume, of its greatest user where that is slow too; then
    the other volumes that wait for it."""
    order = sorted(waiting, key=lambda each: not each.is_culprit)
    leads: dict[tuple[int, str], Problem] = {}
    for each in order:
        leads.setdefault((each.host_id, each.waits_for or each.subject), each)
    for lead in leads.values():
        yield subject_of(lead), lead.message
    for each in order:
        if each not in leads.values():
            verb = "Waits" if each.until is None else "Waited"
            yield subject_of(each), f"{verb} for {each.waits_for} too:"


def _disks_of(group: ProblemGroup) -> set[tuple[int, str]]:
    """The disks that all of the group wait for; none where one is not known."""
    disks = {(each.host_id, each.waits_for) for each in group.problems}
    is_known = group.count == len(group.problems) and all(name for _, name in disks)
    return disks if is_known else set()


def _action(group: ProblemGroup, kind: ProblemKind, pages: Mapping[str, str]) -> Remedy:
    first = group.problems[0]
    link = _link(group, kind, pages)
    if kind.way == "bulk" and group.count == len(group.problems):
        volumes = [each for each in group.problems if each.volume_key]
        keys = tuple(each.volume_key for each in volumes if each.blocking is None)
        held = tuple(each.blocking for each in volumes if each.blocking is not None)
        return replace(link, to_writethrough=keys, held=held)
    if kind.way == "refresh" and group.is_one_host:
        return replace(link, refresh_url=reverse("host-refresh", args=[first.host_key]))
    return link


def _link(group: ProblemGroup, kind: ProblemKind, pages: Mapping[str, str]) -> Remedy:
    """One thing, or several of one host, are mended on its page; others are found by the list."""
    first = group.problems[0]
    subject = subject_of(first)
    why = why_slow_path(first.code, first.volume_key, first.host_key, first.subject)
    if group.thing_count == 1 and why:
        return Remedy(why, WHY_SLOW)
    if why and len(_disks_of(group)) == 1:
        lead = next((each for each in group.problems if each.is_culprit), first)
        return Remedy(reverse("volume-slowness", args=[lead.volume_key]), WHY_SLOW)
    if group.thing_count == 1 and subject.page != "host":
        decides = first.code == "job_undecided"
        return Remedy(subject.url, f"Open {subject.page}", decides=decides)
    if not group.is_one_host:
        return Remedy(LISTS[kind.listing].url(pages), LISTS[kind.listing].text)
    if first.volume_key and not first.job_key:
        return Remedy(reverse("host-volumes", args=[first.host_key]), "Show volumes")
    page, place, text = LINKS.get(kind.way, ("host", "", "Open host"))
    return Remedy(f"{reverse(page, args=[first.host_key])}{place}", text)


def _many(group: ProblemGroup, kind: ProblemKind) -> str:
    first = group.problems[0]
    if over := over_words(kind, group.count, group.over_count, group.until):
        return over
    text = kind.many.format(count=group.count) if kind.many else first.message.rstrip(".")
    return f"{text}: {first.job_kind}, {first.job_error}" if first.job_key else text
