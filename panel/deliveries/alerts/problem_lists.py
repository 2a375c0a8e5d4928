"""The list pages that show all problems of a kind. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from storage.problems.problem_kind import Listing


@dataclass(frozen=True, slots=True)
class FilteredList:
    """The URL name of the page, its filter ("" for none), and the label of the button that leads
    there."""

    page: Literal["hosts", "volumes", "jobs"]
    state: str
    text: str

    def url(self, pages: Mapping[str, str]) -> str:
        """`pages` are the addresses by the name of the page."""
        return f"{pages[self.page]}?state={self.state}" if self.state else pages[self.page]


LISTS: Final[Mapping[Listing, FilteredList]] = {
    "problem_hosts": FilteredList("hosts", "problems", "Hosts with problems"),
    "unreached_hosts": FilteredList("hosts", "trouble", "Hosts not answering"),
    "new_hosts": FilteredList("hosts", "new", "Enrolling hosts"),
    "troubled_caches": FilteredList("volumes", "trouble", "Cache problems"),
    "missing_volumes": FilteredList("volumes", "missing", "Missing volumes"),
    "undecided_jobs": FilteredList("jobs", "needs_attention", "Jobs that need a decision"),
    "failed_jobs": FilteredList("jobs", "failed", "Failed jobs"),
    "all_jobs": FilteredList("jobs", "", "All jobs"),
}
