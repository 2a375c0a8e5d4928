"""The list of hosts: what they do, their space and what is wrong with them, without inventories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.problems import problems_of
from panel.staff.hosts import fleet
from panel.staff.hosts.fleet import HostSummaryRow
from storage.access import staff_view
from storage.models import Placement
from storage.models.host import HostState

PAGE_ROWS = 50
Test = Callable[[HostSummaryRow], bool]


@staff_view()
@require_safe
def hosts(request: HttpRequest) -> HttpResponse:
    """Hosts with what they do, their space and what is wrong with them; `q` is part of a name or
    address, `state` one of `pages.STATES`. No inventory is read."""
    now = timezone.now()
    text, state = request.GET.get("q", "")[:100], request.GET.get("state", "")
    every = fleet.lines_of(request.user, now)
    matching = named(every, text)
    page = Paginator(in_state(matching, state), PAGE_ROWS).get_page(request.GET.get("page"))
    counts = volume_counts([line.host.pk for line in page])
    courses = fleet.courses_of(list(page), now)
    problems = problems_of([line.host.pk for line in page], now)
    context = {
        "page": page,
        "rows": [
            {
                "line": line,
                "course": courses[line.host.pk],
                "wrongs": problems[line.host.pk],
                "volume_count": counts.get(line.host.pk, 0),
            }
            for line in page
        ],
        "q": text,
        "state": state,
        "filters": state_filters(matching),
        "found_count": len(matching),
        "is_empty": not every,
    }
    return render(request, "staff/hosts/hosts.html", context)


STATES: Final[Mapping[str, tuple[str, Test]]] = {
    "up": ("Up", lambda line: line.is_up),
    "trouble": ("Not answering", lambda line: not line.is_up and not _is_new(line)),
    "problems": ("With problems", lambda line: line.tally.total > 0),
    "ssd-short": ("Short of SSD", lambda line: line.is_short_of_ssd),
    "hdd-short": ("Short of HDD", lambda line: line.is_short_of_hdd),
    "new": ("Enrolling", lambda line: _is_new(line)),
    "maintenance": ("In maintenance", lambda line: line.host.in_maintenance),
}
"""Words of the address, with those for people."""


@dataclass(frozen=True, slots=True)
class StateFilter:
    """A filter by state, and how many hosts it would show."""

    name: str
    title: str
    count: int


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
