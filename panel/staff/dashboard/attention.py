"""What needs attention, as one list: worst first, equal problems in one row. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from django.urls import reverse

from jobs.alerts.alert_rules import fingerprint_of
from jobs.models import Halt
from jobs.problems import AT_RISK, Problem, ProblemGroup
from panel.staff.hosts.problem_rows import WAYS

SHOWN_SUBJECTS: Final = 4
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


@dataclass(frozen=True, slots=True)
class FilteredList:
    """A list of several of a kind: the page by its URL's name, the filter that finds them (""
    where the page has none), and what the button there is called."""

    page: Literal["hosts", "volumes", "jobs"]
    state: str
    text: str

    def url(self, pages: Mapping[str, str]) -> str:
        """`pages` are the addresses by the name of the page."""
        return f"{pages[self.page]}?state={self.state}" if self.state else pages[self.page]


WRONG: Final = FilteredList("hosts", "problems", "Hosts with problems")
AWAY: Final = FilteredList("hosts", "trouble", "Hosts not answering")
NEW: Final = FilteredList("hosts", "new", "Enrolling hosts")
CACHES: Final = FilteredList("volumes", "trouble", "Cache problems")
LOST: Final = FilteredList("volumes", "missing", "Missing volumes")
UNDECIDED: Final = FilteredList("jobs", "needs_attention", "Jobs that need a decision")
FAILED: Final = FilteredList("jobs", "failed", "Failed jobs")
JOBS: Final = FilteredList("jobs", "", "All jobs")


@dataclass(frozen=True, slots=True)
class ConcernKind:
    """`many` is the sentence for several of a kind, `{count}` of them; `consequence` what follows
    from one; `listing` finds them."""

    many: str
    consequence: str
    listing: FilteredList = WRONG


NOT_REACHED: Final = "Data of the host is out of date, and no job can start there."
KINDS: Final = {
    # Data at risk
    "writeback_degraded": ConcernKind(
        "{count} volumes use writeback on a degraded SSD mirror",
        "The only copy of new data is on one SSD.",
    ),
    "writeback_single_ssd": ConcernKind(
        "{count} volumes use writeback on an SSD without a mirror",
        "If that SSD fails, dirty data is lost.",
    ),
    "cache_lost": ConcernKind(
        "{count} bcache volumes lost their SSD while it held new data",
        "The guest's newest data may be lost. The volume stays stopped.",
        CACHES,
    ),
    "ssd_lost": ConcernKind(
        "The SSD under the caches of {count} volumes is missing",
        "The guest sees I/O errors until the SSD is back or the lost cache is dropped.",
    ),
    "pv_missing": ConcernKind(
        "{count} volume groups have a missing disk",
        "Data on that disk cannot be read, and the group cannot be changed.",
    ),
    "inventory_shrank": ConcernKind(
        "Most volumes of {count} hosts are missing",
        "A disk or a whole volume group may be gone.",
        LOST,
    ),
    "array_degraded": ConcernKind(
        "{count} arrays are degraded",
        "A second disk failure can destroy all data on this array.",
    ),
    "disk_failing": ConcernKind(
        "{count} disks say that they are failing", "The disk may lose data or stop at any time."
    ),
    "attribute_failed": ConcernKind(
        "{count} disks are below a limit of their maker",
        "The disk may lose data or stop at any time.",
    ),
    "spare_low": ConcernKind(
        "{count} SSDs have hardly any spare blocks left",
        "Without spare blocks an SSD stops accepting writes.",
    ),
    "self_test_failed": ConcernKind(
        "{count} disks failed their last self-test", "Some of the disk cannot be read any more."
    ),
    # Disks
    "disk_hung": ConcernKind(
        "{count} disks do not answer", "Programs that use the disk wait for it."
    ),
    "disk_unread": ConcernKind(
        "The health of {count} disks cannot be read",
        "Nobody will be told if such a disk begins to fail.",
    ),
    "uncorrectable_rose": ConcernKind(
        "{count} disks have new uncorrectable errors", "Some of the disk's data is lost."
    ),
    "reported_rose": ConcernKind(
        "{count} disks reported read errors", "Some of the disk's data could not be read."
    ),
    "pending_rose": ConcernKind(
        "{count} disks have new pending sectors",
        "These sectors cannot be read now. An array reads them from its other disks.",
    ),
    "reallocated_rose": ConcernKind(
        "{count} disks replaced sectors", "A disk that replaces more and more sectors will fail."
    ),
    "crc_rose": ConcernKind(
        "{count} disks had new transfer errors",
        "The host repeats such transfers: the disk is slower, and may drop out.",
    ),
    "worn": ConcernKind("{count} SSDs are worn", "A worn SSD may stop accepting writes."),
    "wears_out_soon": ConcernKind(
        "{count} SSDs are worn out soon", "A worn SSD may stop accepting writes."
    ),
    "disk_hot": ConcernKind("{count} disks are too hot", "Heat shortens the life of a disk."),
    # Caches and volumes
    "array_recovering": ConcernKind(
        "{count} arrays are being rebuilt",
        ("Until the rebuild ends, another disk failure can destroy all data."),
    ),
    "cache_failed": ConcernKind(
        "{count} caches have failed", "The guest hangs: the cache blocks all I/O.", CACHES
    ),
    "cache_needs_check": ConcernKind(
        "The metadata of {count} caches needs a check",
        "The cache cannot be activated before the check.",
        CACHES,
    ),
    "cache_unregistered": ConcernKind(
        "The SSD of {count} bcache volumes is not registered",
        "The volume is slow, or is stopped until its SSD is registered.",
        CACHES,
    ),
    "volume_inactive": ConcernKind(
        "{count} volumes are inactive",
        "Their guests cannot start.",
    ),
    "orphan_device": ConcernKind(
        "{count} devices without a volume are left in the kernel",
        "Their blocks may belong to another volume now. A program that opens such a device could "
        "overwrite that volume.",
    ),
    "drift": ConcernKind(
        "{count} volumes differ from the record",
        "A manual change is not recorded: the next job may fail or undo it.",
    ),
    "unfinished": ConcernKind(
        "{count} new volumes are not finished",
        "They may contain old data of other customers.",
    ),
    "volumes_missing": ConcernKind(
        "Volumes of {count} hosts are missing",
        "Customers may pay for volumes that no longer exist.",
        LOST,
    ),
    # Jobs
    "job_undecided": ConcernKind(
        "{count} jobs need a decision",
        "The volume stays locked until a person decides.",
        UNDECIDED,
    ),
    "job_failed": ConcernKind(
        "{count} jobs failed", "The job failed and will not be retried.", FAILED
    ),
    "halt": ConcernKind(
        "All jobs are paused", ("No new step starts on any host until an admin resumes jobs."), JOBS
    ),
    # Hosts
    "quarantined": ConcernKind(
        "{count} hosts show a different SSH key from the accepted one",
        "Nothing is sent there: no samples arrive, and no job can start.",
        AWAY,
    ),
    "twins": ConcernKind(
        "{count} hosts report the same machine ID or volume group as another host",
        "Nothing is sent there: a change by one host could be undone or destroyed by the other.",
        AWAY,
    ),
    "machine_changed": ConcernKind(
        "{count} hosts report a different machine id from the accepted one",
        "Nothing is sent there: another machine may be answering in place of the host.",
        AWAY,
    ),
    "unverified": ConcernKind(
        "{count} new hosts are waiting for you to approve their SSH key",
        "The panel does not read a host before you accept its key.",
        NEW,
    ),
    "silent": ConcernKind("{count} hosts are silent", NOT_REACHED, AWAY),
    "unsampled": ConcernKind(
        "{count} hosts answer, but send no samples",
        "Charts and hit rates have a gap, and advice is based on old data.",
    ),
    "unreachable": ConcernKind("{count} hosts cannot be reached", NOT_REACHED, AWAY),
    "no_answer": ConcernKind("{count} hosts do not answer in time", NOT_REACHED, AWAY),
    "auth_refused": ConcernKind("{count} hosts refuse the panel's key", NOT_REACHED, AWAY),
    "sshd_totp": ConcernKind("{count} hosts require a one-time code", NOT_REACHED, AWAY),
    "sudo_tty": ConcernKind("sudo requires a terminal on {count} hosts", NOT_REACHED, AWAY),
    "agent_missing": ConcernKind("The agent does not start on {count} hosts", NOT_REACHED, AWAY),
    "bad_reply": ConcernKind("{count} hosts send invalid answers", NOT_REACHED, AWAY),
    "boot_incomplete": ConcernKind(
        "{count} hosts did not recover completely after a restart",
        "Caches or their settings have been missing since then.",
    ),
    "no_boot_unit": ConcernKind(
        "The boot unit is missing on {count} hosts",
        "After a restart, bcache volumes and settings are not restored automatically.",
    ),
    "other_panel": ConcernKind(
        "Another panel manages {count} hosts", "These hosts refuse every change from this panel."
    ),
    "rival_panel": ConcernKind(
        "Another panel tried to change {count} hosts",
        "The change was refused. An old panel or a restored copy may be running.",
    ),
    "owner_broken": ConcernKind(
        "{count} hosts do not know which panel manages them", "These hosts refuse every change."
    ),
    "clock_off": ConcernKind(
        "The clocks of {count} hosts are wrong",
        "Volumes cannot be retired there, and times in the host's journal and logs are wrong.",
    ),
    "stuck": ConcernKind(
        "Storage commands hang on {count} hosts",
        ("Jobs on these hosts cannot continue until the commands finish."),
    ),
}
UNKNOWN: Final = ConcernKind("", "")


LINKS: Final[Mapping[str, tuple[str, str, str]]] = {
    "keys": ("host", "#trust", "Compare keys"),
    "enrol": ("host-enrol", "", "Continue enrolment"),
    "missing": ("host-volumes", "#missing", "Show volumes"),
    "disks": ("host-disks", "", "Show disks"),
}
"""Where what concerns one host is mended, by `problem_rows.WAYS`: page, place there, and button."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What mends it, or the page where that is done. `to_writethrough` are the volumes that one
    previewed change would make safe, `refresh_url` tries to reach the host again; both are for
    operators, all others get the link."""

    url: str
    text: str
    to_writethrough: tuple[str, ...] = ()
    refresh_url: str = ""


@dataclass(frozen=True, slots=True)
class AlertMark:
    """What became of an alert, "" where it waits for somebody, and its page."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class AttentionRow:
    """A row of the list. `at_risk`: data may be lost. `since` is when the oldest of its `count`
    troubles began; `more` subjects are not named; `alert` is what became of its alerts, if any."""

    severity: str
    at_risk: bool
    what: str
    count: int
    since: datetime | None
    consequence: str
    next_step: str
    action: Remedy
    subjects: tuple[Subject, ...]
    more: int
    alert: AlertMark | None = None


def items(
    groups: Iterable[ProblemGroup],
    pages: Mapping[str, str],
    alerts: Mapping[str, AlertMark] | None = None,
) -> tuple[AttentionRow, ...]:
    """A row for each group, in their order. `pages` are the addresses of the lists by their names
    (`FilteredList.page`), `alerts` the open alerts by their fingerprints."""
    marks = alerts or {}
    return tuple(replace(_item(group, pages), alert=_mark(group, pages, marks)) for group in groups)


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


def of_halt(halt: Halt, pages: Mapping[str, str]) -> AttentionRow:
    """The row of the global stop."""
    return AttentionRow(
        severity="warning",
        at_risk=False,
        what=f"All jobs are paused{halt.cause}{'' if halt.reason else '.'}",
        count=1,
        since=halt.since,
        consequence=KINDS["halt"].consequence,
        next_step="",
        action=Remedy(pages["jobs"], "Resume jobs"),
        subjects=(),
        more=0,
    )


def _item(group: ProblemGroup, pages: Mapping[str, str]) -> AttentionRow:
    first, kind = group.problems[0], KINDS.get(group.problems[0].code, UNKNOWN)
    subjects = tuple(dict.fromkeys(map(subject_of, group.problems)))
    at_risk = first.code in AT_RISK
    return AttentionRow(
        severity="error" if at_risk else first.severity,
        at_risk=at_risk,
        what=first.message if group.count == 1 else _many(group, kind),
        count=group.count,
        since=first.since,
        consequence=kind.consequence,
        next_step=first.correction if group.is_one_correction else "",
        action=_action(group, kind, pages),
        subjects=subjects[:SHOWN_SUBJECTS],
        more=max(0, group.thing_count - SHOWN_SUBJECTS),
    )


def _action(group: ProblemGroup, kind: ConcernKind, pages: Mapping[str, str]) -> Remedy:
    first, way = group.problems[0], WAYS.get(group.problems[0].code, "")
    link = _link(group, kind, pages)
    if way == "bulk" and group.count == len(group.problems):
        keys = tuple(each.volume_key for each in group.problems if each.volume_key)
        return replace(link, to_writethrough=keys)
    if way == "refresh" and group.is_one_host:
        return replace(link, refresh_url=reverse("host-refresh", args=[first.host_key]))
    return link


def _link(group: ProblemGroup, kind: ConcernKind, pages: Mapping[str, str]) -> Remedy:
    """One thing, or several of one host, are mended on its page; others are found by the list."""
    first = group.problems[0]
    subject = subject_of(first)
    if group.thing_count == 1 and subject.page != "host":
        undecided = first.code == "job_undecided"
        return Remedy(subject.url, "Decide" if undecided else f"Open {subject.page}")
    if not group.is_one_host:
        return Remedy(kind.listing.url(pages), kind.listing.text)
    if first.volume_key and not first.job_key:
        return Remedy(reverse("host-volumes", args=[first.host_key]), "Show volumes")
    page, place, text = LINKS.get(WAYS.get(first.code, ""), ("host", "", "Open host"))
    return Remedy(f"{reverse(page, args=[first.host_key])}{place}", text)


def _many(group: ProblemGroup, kind: ConcernKind) -> str:
    first = group.problems[0]
    text = kind.many.format(count=group.count) if kind.many else first.message.rstrip(".")
    return f"{text}: {first.job_kind}, {first.job_error}" if first.job_key else text
