"""The list of hosts: its filters, and the contents of a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from django.db.models import Count

from panel.staff.hosts.fleet import HostSummaryRow
from storage.models import Placement
from storage.models.host import HostState

Test = Callable[[HostSummaryRow], bool]
STATES: Final[Mapping[str, tuple[str, Test]]] = {
    "up": ("Up", lambda line: line.is_up),
    "trouble": ("Not answering", lambda line: not line.is_up and not _is_new(line)),
    "problems": ("With problems", lambda line: line.is_up and bool(wrongs_of(line))),
    "new": ("Enrolling", lambda line: _is_new(line)),
    "maintenance": ("In maintenance", lambda line: line.host.maintenance_since is not None),
}
"""Words of the address, with those for people."""


@dataclass(frozen=True, slots=True)
class StateFilter:
    """A filter by state, and how many hosts it would show."""

    name: str
    title: str
    count: int


def wrongs_of(line: HostSummaryRow) -> tuple[str, ...]:
    """What is wrong with a host, one sentence each, the worst first: what only informs is left
    out."""
    problems = [problem.message for problem in line.problems if problem.severity != "info"]
    findings = [finding.message for finding in line.findings if finding.message not in problems]
    return (*problems, *findings)


def named(lines: Iterable[HostSummaryRow], text: str) -> list[HostSummaryRow]:
    """Those with the text in their name or address."""
    part = text.strip().casefold()
    return [
        line
        for line in lines
        if part in line.host.name.casefold() or part in line.host.address.casefold()
    ]


def in_state(lines: Iterable[HostSummaryRow], state: str) -> list[HostSummaryRow]:
    """Those in one of STATES; all for any other word."""
    chosen = STATES.get(state)
    return [line for line in lines if chosen is None or chosen[1](line)]


def state_filters(lines: Collection[HostSummaryRow]) -> tuple[StateFilter, ...]:
    """The filters that would show any host."""
    counts = Counter(name for line in lines for name, (_, test) in STATES.items() if test(line))
    return tuple(
        StateFilter(name, title, counts[name])
        for name, (title, _) in STATES.items()
        if counts[name]
    )


def volume_counts(host_ids: Collection[int]) -> dict[int, int]:
    """How many volumes lie on each host, by its primary key. One query."""
    placed = Placement.objects.filter(host__in=host_ids, until=None, volume__previewed_at=None)
    return dict(placed.values_list("host_id").annotate(count=Count("pk")))


def _is_new(line: HostSummaryRow) -> bool:
    return line.host.state in (HostState.PENDING, HostState.UNVERIFIED)
