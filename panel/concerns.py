"""What needs a person, as one list: worst first, equal troubles in one row. Pure."""

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
NEW: Final = Listing("hosts", "new", "Hosts being added")
CACHES: Final = Listing("volumes", "trouble", "Caches in trouble")
LOST: Final = Listing("volumes", "missing", "Missing volumes")
UNDECIDED: Final = Listing("jobs", "needs_attention", "Jobs that wait")
FAILED: Final = Listing("jobs", "failed", "Failed jobs")
JOBS: Final = Listing("jobs", "", "All jobs")


@dataclass(frozen=True, slots=True)
class Kind:
    """`many` is the sentence for several of a kind, `{count}` of them; `consequence` what follows
    from one; `listing` finds them. `at_risk`: data may be lost."""

    many: str
    consequence: str
    listing: Listing = WRONG
    at_risk: bool = False


NOT_REACHED: Final = "Its figures are old, and no job can begin there."
KINDS: Final = {
    # Data at risk
    "writeback_degraded": Kind(
        "{count} volumes use writeback on a degraded SSD mirror",
        "The only copy of new data is on one SSD.",
        at_risk=True,
    ),
    "writeback_single_ssd": Kind(
        "{count} volumes use writeback on an SSD without a mirror",
        "If that SSD dies, data that is not written back is lost.",
        at_risk=True,
    ),
    "cache_lost": Kind(
        "{count} bcache volumes lost their SSD while it held new data",
        "The newest data of the guest may be gone; the volume stays stopped.",
        CACHES,
        at_risk=True,
    ),
    "ssd_lost": Kind(
        "The SSD under the caches of {count} volumes is missing",
        "The guest sees I/O errors until the SSD is back or its cache is given up.",
        at_risk=True,
    ),
    "pv_missing": Kind(
        "{count} volume groups miss a disk",
        "What lay on that disk cannot be read, and nothing can be changed in the group.",
        at_risk=True,
    ),
    "inventory_shrank": Kind(
        "Most volumes of {count} hosts are missing",
        "A disk or a whole volume group may be gone.",
        LOST,
        at_risk=True,
    ),
    "array_degraded": Kind(
        "{count} arrays are degraded",
        "The next disk that fails may take everything on the array with it.",
        at_risk=True,
    ),
    # Caches and volumes
    "array_recovering": Kind(
        "{count} arrays are being rebuilt", "Until that ends they do not survive another disk."
    ),
    "cache_failed": Kind(
        "{count} caches have failed", "The guest stands still: no I/O is let through.", CACHES
    ),
    "cache_needs_check": Kind(
        "The metadata of {count} caches needs a check",
        "The cache cannot be started again before that.",
        CACHES,
    ),
    "cache_unregistered": Kind(
        "The SSD of {count} bcache volumes is not registered",
        "The volume is slow, or waits for its SSD.",
        CACHES,
    ),
    "volume_inactive": Kind(
        "{count} volumes are switched off",
        "Their guests cannot start.",
    ),
    "orphan_device": Kind(
        "{count} devices without a volume are left in the kernel",
        "Their blocks may be another volume's by now: what opens one could overwrite it.",
    ),
    "drift": Kind(
        "{count} volumes are not as recorded",
        "A change by hand is not in the books: the next job may be refused, or undo it.",
    ),
    "unfinished": Kind(
        "{count} new volumes are not finished",
        "Old data of others may show in them.",
    ),
    "volumes_missing": Kind(
        "Volumes of {count} hosts are missing",
        "Customers may pay for what is not there any more.",
        LOST,
    ),
    # Jobs
    "job_undecided": Kind(
        "{count} jobs wait for a decision",
        "The volume stays locked until a person decides.",
        UNDECIDED,
    ),
    "job_failed": Kind(
        "{count} jobs failed", "What was asked for is not done; nothing tries it again.", FAILED
    ),
    "halt": Kind("All jobs are stopped", "Nothing begins on any host until jobs may go on.", JOBS),
    # Hosts
    "quarantined": Kind(
        "{count} hosts show another SSH key than the one accepted",
        "Nothing is sent there: no figures come, and no job can begin.",
        AWAY,
    ),
    "twins": Kind(
        "{count} hosts claim a machine or disks that another one claims too",
        "Nothing is sent there: what one did, the other would undo or destroy.",
        AWAY,
    ),
    "machine_changed": Kind(
        "{count} hosts say another machine id than the one accepted",
        "Nothing is sent there: another machine may answer in the host's name.",
        AWAY,
    ),
    "unverified": Kind(
        "{count} hosts wait for somebody to accept their fingerprint",
        "Nothing is asked of a host before that.",
        NEW,
    ),
    "silent": Kind("{count} hosts are silent", NOT_REACHED, AWAY),
    "unsampled": Kind(
        "{count} hosts answer, but send no figures",
        "Charts and hit rates have a gap, and advice rests on old figures.",
    ),
    "unreachable": Kind("{count} hosts cannot be reached", NOT_REACHED, AWAY),
    "no_answer": Kind("{count} hosts do not answer in time", NOT_REACHED, AWAY),
    "auth_refused": Kind("{count} hosts refuse the panel's key", NOT_REACHED, AWAY),
    "sshd_totp": Kind("{count} hosts demand a one-time code", NOT_REACHED, AWAY),
    "sudo_tty": Kind("sudo wants a terminal on {count} hosts", NOT_REACHED, AWAY),
    "agent_missing": Kind("The agent does not start on {count} hosts", NOT_REACHED, AWAY),
    "bad_reply": Kind("{count} hosts give answers that cannot be used", NOT_REACHED, AWAY),
    "boot_incomplete": Kind(
        "{count} hosts did not come back whole from a restart",
        "Caches or their settings are missing since then.",
    ),
    "no_boot_unit": Kind(
        "The boot unit is missing on {count} hosts",
        "After a restart bcache volumes and settings do not come back by themselves.",
    ),
    "other_panel": Kind(
        "Another panel manages {count} hosts", "They refuse every change by this panel."
    ),
    "rival_panel": Kind(
        "Another panel tried to change {count} hosts",
        "It was refused; an old machine or a restored copy may be running.",
    ),
    "owner_broken": Kind(
        "{count} hosts do not know which panel is theirs", "They refuse every change."
    ),
    "clock_off": Kind(
        "The clocks of {count} hosts are wrong",
        "Nothing is retired there, and times in its journal and its logs mislead.",
    ),
    "stuck": Kind("Storage commands hang on {count} hosts", "No job gets on there until they end."),
    # Room
    "ssd_full": Kind(
        "{count} hosts are short of SSD", "Soon no cache can be sold or grown there.", HOSTS
    ),
    "hdd_full": Kind(
        "The slow disks of {count} hosts are nearly full",
        "Soon no volume can be made or grown there.",
        HOSTS,
    ),
}
UNKNOWN: Final = Kind("", "")


@dataclass(frozen=True, slots=True)
class Item:
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


def items(concerns: Iterable[Concern], pages: Mapping[str, str]) -> tuple[Item, ...]:
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


def _item(group: Sequence[Concern], pages: Mapping[str, str]) -> Item:
    group = sorted(group, key=lambda each: (each.since or SOMEDAY, each.subject.name))
    first, kind = group[0], KINDS.get(group[0].code, UNKNOWN)
    subjects = tuple(dict.fromkeys(each.subject for each in group))
    hosts = {each.host for each in group}
    # One thing, or several of one host: that page settles it. Else the list.
    place = subjects[0] if len(subjects) == 1 else first.host if len(hosts) == 1 else None
    return Item(
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


def _many(group: Sequence[Concern], kind: Kind) -> str:
    text = kind.many.format(count=len(group)) if kind.many else group[0].what.rstrip(".")
    return f"{text}: {group[0].sort}" if group[0].sort else f"{text}"
