"""What the words of a kind of problem are, and the lists that find several of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


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
    """`name` is what lists and subjects of mails call the kind; `many` the sentence for several of
    it, `{count}` of them; `consequence` what follows from one; `listing` finds them."""

    name: str
    many: str
    consequence: str
    listing: FilteredList = WRONG


UNKNOWN: Final = ConcernKind("", "", "")
