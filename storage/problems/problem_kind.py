"""What is said of one kind of problem. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

JUDGED_TWICE_SECONDS: Final = 660
"""Figures are judged every five minutes: twice it must be well."""

About = Literal["host", "disk", "array", "group", "volume", "job", "panel"]
JudgedBy = Literal["", "smart", "sample", "hour", "days", "disk_load", "read_time"]
Way = Literal[
    "",
    "bulk",
    "refresh",
    "keys",
    "enrol",
    "missing",
    "disks",
    "history",
    "kernels",
    "volume",
    "job",
]
Listing = Literal[
    "problem_hosts",
    "unreached_hosts",
    "new_hosts",
    "troubled_caches",
    "missing_volumes",
    "undecided_jobs",
    "failed_jobs",
    "all_jobs",
]


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem; `code` never changes, and is what everything else is found by."""

    code: str
    name: str
    """What lists and subjects of mails call it."""
    many: str
    """The sentence for several of it: `{count}` of them."""
    consequence: str
    """What follows, in a sentence that is right for one and for several."""
    about: About = "host"
    """What has the trouble. A group is named by the problem's `subject`, what lies in it by
    `group/name`."""
    message: str = ""
    """The sentence for one that only the panel can judge: its gaps are filled by
    `storage.health.host_problems`. "" where the sentence is stored with the problem."""
    correction: str = ""
    """What to do, where `message` is given."""

    family: str = ""
    """Kinds of one family are one problem in several states: a change from one to the other is no
    new alert. "" for a kind that is alone."""
    is_data_at_risk: bool = False
    hold_seconds: int = 30
    """How long it must be there before its alert opens."""
    resolve_seconds: int = 180
    """How long it must be gone before its alert is over; the same for all of a family."""
    listed_for: timedelta | None = None
    """It is listed for so long after it began, whether it was fixed or not."""
    once_unlisted: str = ""
    """What is true then."""
    is_expected_during_jobs: bool = False
    """A job on the volume is about to end it."""
    is_also_reported: bool = False
    """The agent, or an older one, reports it too, and the inventory is younger."""
    judged_by: JudgedBy = ""
    """What shows it, where a rule of figures finds it: the last sample, the last hour, the last
    days, the load of a disk, the time that reads take, or SMART."""

    is_about_speed: bool = False
    """Something is slow or overloaded: a card explains why (`storage.analysis.slowness`)."""

    follows: tuple[str, ...] = ()
    """The codes of what it may be there because of, on the same thing (`may_follow`)."""
    follows_late: tuple[str, ...] = ()
    """Those of them that take their time to bring it about: also long after them, it has no other
    reason."""
    is_of_one_lost_disk: bool = False
    """It stands for one lost disk: with the next one more data is at risk."""

    several: str = ""
    """What several volumes of a host have in common; "{}" is "3 volumes"."""
    many_over: str = ""
    """The sentence for several that are over, the last at `{until}`; `{volumes}` is "3 volumes"."""
    many_partly: str = ""
    """That for several of which `{over}` are over; `{volumes}` are those that are not."""
    consequence_over: str = ""
    """What followed from one that is over."""
    several_correction: str = ""
    way: Way = ""
    """Where it is fixed; "" for a volume on its page, else on the host's."""
    listing: Listing = "problem_hosts"
    """The list that finds several of it."""
