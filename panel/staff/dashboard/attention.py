"""What needs attention, as one list: worst first, equal problems in one row. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from django.urls import reverse

SHOWN_SUBJECTS: Final = 4
AT_RISK: Final = "risk"
RANKS: Final = {AT_RISK: 0, "error": 1, "warning": 2}
SOMEDAY: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Subject:
    """What has the trouble, and the page where it can be settled: the name of its URL, and the key
    there ("" for a page without one)."""

    name: str
    page: str
    key: str = ""

    @property
    def url(self) -> str:
        # Looked up only where it is shown: a large fleet has hundreds, its rows name a few.
        return reverse(self.page, args=[self.key] if self.key else None)


@dataclass(frozen=True, slots=True)
class Concern:
    """One trouble of one thing. `code` is one of `KINDS`, or any other word; `what` is a sentence,
    `next_step` what to do about it. `sort` tells apart what must not share a row although the code
    is the same; `host` is the one host concerned, None where that does not settle it."""

    code: str
    severity: Literal["error", "warning"]
    subject: Subject
    what: str
    since: datetime | None = None
    next_step: str = ""
    sort: str = ""
    host: Subject | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of several of a kind: the page by its URL's name, the filter that finds them (""
    where the page has none), and what the button there is called."""

    page: Literal["hosts", "volumes", "jobs"]
    state: str
    text: str

    def url(self, pages: Mapping[str, str]) -> str:
        """`pages` are the addresses by the name of the page."""
        return f"{pages[self.page]}?state={self.state}" if self.state else pages[self.page]


HOSTS: Final = Listing("hosts", "", "All hosts")
WRONG: Final = Listing("hosts", "problems", "Hosts with problems")
AWAY: Final = Listing("hosts", "trouble", "Hosts not answering")
NEW: Final = Listing("hosts", "new", "Enrolling hosts")
CACHES: Final = Listing("volumes", "trouble", "Cache problems")
LOST: Final = Listing("volumes", "missing", "Missing volumes")
UNDECIDED: Final = Listing("jobs", "needs_attention", "Jobs that need a decision")
FAILED: Final = Listing("jobs", "failed", "Failed jobs")
JOBS: Final = Listing("jobs", "", "All jobs")


@dataclass(frozen=True, slots=True)
class ConcernKind:
    """`many` is the sentence for several of a kind, `{count}` of them; `consequence` what follows
    from one; `listing` finds them. `at_risk`: data may be lost."""

    many: str
    consequence: str
    listing: Listing = WRONG
    at_risk: bool = False


NOT_REACHED: Final = "Data of the host is out of date, and no job can start there."
KINDS: Final = {
    # Data at risk
    "writeback_degraded": ConcernKind(
        "{count} volumes use writeback on a degraded SSD mirror",
        "The only copy of new data is on one SSD.",
        at_risk=True,
    ),
    "writeback_single_ssd": ConcernKind(
        "{count} volumes use writeback on an SSD without a mirror",
        "If that SSD fails, dirty data is lost.",
        at_risk=True,
    ),
    "cache_lost": ConcernKind(
        "{count} bcache volumes lost their SSD while it held new data",
        "The guest's newest data may be lost. The volume stays stopped.",
        CACHES,
        at_risk=True,
    ),
    "ssd_lost": ConcernKind(
        "The SSD under the caches of {count} volumes is missing",
        "The guest sees I/O errors until the SSD is back or the lost cache is dropped.",
        at_risk=True,
    ),
    "pv_missing": ConcernKind(
        "{count} volume groups have a missing disk",
        "Data on that disk cannot be read, and the group cannot be changed.",
        at_risk=True,
    ),
    "inventory_shrank": ConcernKind(
        "Most volumes of {count} hosts are missing",
        "A disk or a whole volume group may be gone.",
        LOST,
        at_risk=True,
    ),
    "array_degraded": ConcernKind(
        "{count} arrays are degraded",
        "A second disk failure can destroy all data on this array.",
        at_risk=True,
    ),
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
    # Room
    "ssd_full": ConcernKind(
        "{count} hosts are short of SSD", "Nearly out of SSD space for new or larger caches.", HOSTS
    ),
    "hdd_full": ConcernKind(
        "The slow disks of {count} hosts are nearly full",
        "Nearly out of space for new or larger volumes.",
        HOSTS,
    ),
}
UNKNOWN: Final = ConcernKind("", "")


@dataclass(frozen=True, slots=True)
class AttentionRow:
    """A row of the list. `at_risk`: data may be lost. `since` is when the oldest of its `count`
    troubles began; `more` subjects are not named; the action leads to where it can be settled, or
    to the list where there are several."""

    severity: str
    at_risk: bool
    what: str
    count: int
    since: datetime | None
    consequence: str
    next_step: str
    action_url: str
    action_text: str
    subjects: tuple[Subject, ...]
    more: int


def items(concerns: Iterable[Concern], pages: Mapping[str, str]) -> tuple[AttentionRow, ...]:
    """The rows: data at risk first, then by severity, the oldest of each first; those of unknown
    age last. `pages` are the addresses of the lists by their names (`Listing.page`)."""
    groups: dict[tuple[str, str, str], list[Concern]] = {}
    for concern in concerns:
        groups.setdefault(_group(concern), []).append(concern)
    rows = [(_rank(group[0]), _item(group, pages)) for group in groups.values()]
    rows.sort(key=lambda row: (row[0], row[1].since or SOMEDAY, row[1].what))
    return tuple(item for _, item in rows)


def worst(concerns: Iterable[Concern]) -> int:
    """The rank of the worst of them, 0 for data at risk; above all ranks where there is none."""
    return min(map(_rank, concerns), default=len(RANKS))


def _group(concern: Concern) -> tuple[str, str, str]:
    """What shares a row. Troubles of an unknown kind are told apart by their words, but for
    numbers."""
    words = concern.sort or ("" if concern.code in KINDS else re.sub(r"\d+", "#", concern.what))
    return (concern.severity, concern.code, words)


def _rank(concern: Concern) -> int:
    kind = KINDS.get(concern.code, UNKNOWN)
    return RANKS[AT_RISK if kind.at_risk else concern.severity]


def _item(group: Sequence[Concern], pages: Mapping[str, str]) -> AttentionRow:
    group = sorted(group, key=lambda each: (each.since or SOMEDAY, each.subject.name))
    first, kind = group[0], KINDS.get(group[0].code, UNKNOWN)
    subjects = tuple(dict.fromkeys(each.subject for each in group))
    hosts = {each.host for each in group}
    # One thing, or several of one host: that page settles it. Else the list.
    place = subjects[0] if len(subjects) == 1 else first.host if len(hosts) == 1 else None
    return AttentionRow(
        severity="error" if kind.at_risk else first.severity,
        at_risk=kind.at_risk,
        what=first.what if len(group) == 1 else _many(group, kind),
        count=len(group),
        since=first.since,
        consequence=kind.consequence,
        next_step=first.next_step if len({each.next_step for each in group}) == 1 else "",
        action_url=place.url if place is not None else kind.listing.url(pages),
        action_text="Open" if place is not None else kind.listing.text,
        subjects=subjects[:SHOWN_SUBJECTS],
        more=max(0, len(subjects) - SHOWN_SUBJECTS),
    )


def _many(group: Sequence[Concern], kind: ConcernKind) -> str:
    text = kind.many.format(count=len(group)) if kind.many else group[0].what.rstrip(".")
    return f"{text}: {group[0].sort}" if group[0].sort else f"{text}"
