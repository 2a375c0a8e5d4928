"""The first page of staff: what needs attention, the fleet and its hosts over time, and the first
of its hosts and volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Case, F, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce, NullIf
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Halt, Job, JobQuerySet, State
from jobs.problems import ProblemTally, grouped, problems_of_all_hosts, tallies, total
from panel.charts.chart_context import fleet_chart_context
from panel.deliveries.alerts.alert_routing import hosts_without_other_recipient
from panel.staff.alerts.alert_list import marks_of
from panel.staff.dashboard.attention import (
    LOOKED_AT,
    SHOWN_SUBJECTS,
    AttentionRow,
    at_once,
    items,
    of_all_hosts,
)
from panel.staff.dashboard.event_lane import MAINTAINED, event_lane
from panel.staff.dashboard.fleet_summary import (
    FleetLatency,
    FleetState,
    HitRate,
    RecordedVolume,
    TopColumn,
    TopVolume,
    fleet_state,
    hit_rate,
    latency,
    promised_bytes,
    top_volumes,
)
from panel.staff.dashboard.get_started import get_started
from panel.staff.dashboard.heat_map import JUDGED, LAST_DAY, LATENCY, MEASURED, SCALES, heat_map
from panel.staff.hosts.fleet import (
    FIELDS,
    NO_PROBLEMS,
    HitRateTrend,
    HostSummaryRow,
    hit_rate_trends,
    line_of,
)
from storage.access import Person, is_staff, staff_view
from storage.formatting import counted
from storage.health.shortage import Shortage, shortages
from storage.models import Host, HostOutline, Placement, Volume
from storage.models.host import silent_seconds
from storage.planner.wish import Wish
from storage.problems.all_kinds import KINDS

SHOWN_GROUPS: Final = 20
TOP_SHOWN: Final = 10
SHOWN_HOSTS: Final = 12
RECENT_JOBS: Final = 10
KEPT_PARAMETERS: Final = ("range", "from", "to", "heat")
OPEN_CHARTS: Final = ("operations", "hits")
HOSTS: Final = "hosts"
JOB_WORDS: Final = (
    (State.RUNNING, ("running", "running")),
    (State.QUEUED, ("queued", "queued")),
    (State.WAITING, ("waiting", "waiting")),
    (State.NEEDS_ATTENTION, ("needs a decision", "need a decision")),
)
"""What is said of one job in a state, and of several."""
VIEWS: Final = {
    HOSTS: "Hosts",
    "io": "Most I/O",
    "reads": "Slowest reads",
    "jobs": "Recent activity",
}
SORTS: Final = {
    "trouble": "problems",
    "busy": "busiest",
    "io": "IOPS",
    "ssd": "least free SSD",
    "name": "name",
}


@dataclass(frozen=True, slots=True)
class OverviewHost:
    """A host of the table."""

    line: HostSummaryRow
    hit_rate_trend: HitRateTrend
    busiest: Volume | None

    @property
    def is_troubled(self) -> bool:
        """True where the host answers and something is wrong with it all the same."""
        return self.line.is_up and self.line.tally.total > 0


@dataclass(frozen=True, slots=True)
class Overview:
    """What a person on call needs first. `attention` are the first rows of what is wrong,
    `more_groups` the kinds of problems that are left out, `problem_count` how many problems there
    are; `shortages` is scarce space. `slowest` is the volume with the slowest reads of the last
    samples. `no_recipient_count` hosts have no recipient in tier 1. `jobs` are those that have not
    ended, by their state."""

    attention: tuple[AttentionRow, ...]
    more_groups: int
    problem_count: int
    shortages: tuple[Shortage, ...]
    fleet: FleetState
    hit_rate: HitRate
    latency: FleetLatency
    slowest: TopVolume | None
    jobs: Mapping[str, int]
    halt: Halt | None
    no_recipient_count: int

    @property
    def urgent(self) -> tuple[AttentionRow, ...]:
        """What is shown at once."""
        return at_once(self.attention)

    @property
    def others(self) -> tuple[AttentionRow, ...]:
        """What a person unfolds."""
        return self.attention[len(self.urgent) :]

    @property
    def problem_words(self) -> str:
        """How many problems there are, and of how many kinds."""
        kinds = len(self.attention) + self.more_groups
        words = counted(self.problem_count, "problem")
        return words if kinds == self.problem_count else f"{words} of {counted(kinds, 'kind')}"

    @property
    def is_slow(self) -> bool:
        """Whether reads of the slowest volume are slow."""
        return self.slowest is not None and self.slowest.is_slow

    @property
    def hosts_up(self) -> str:
        """How many hosts are up."""
        up, count = self.fleet.up_count, self.fleet.host_count
        return "All hosts up" if up == count else f"{up:,} of {count:,} hosts up"

    @property
    def hosts_note(self) -> str:
        """A note about the hosts that are not up."""
        notes = [f"{self.fleet.down_count} unreachable"] if self.fleet.down_count else []
        notes += [f"{self.fleet.new_count} awaiting approval"] if self.fleet.new_count else []
        return ", ".join(notes)

    @property
    def jobs_note(self) -> str:
        """The jobs that have not ended, "1 job running, 2 queued"; "" without any."""
        there = [(self.jobs[state], words) for state, words in JOB_WORDS if self.jobs.get(state)]
        notes = [f"{count:,} {words[count > 1]}" for count, words in there]
        if there:
            count, words = there[0]
            notes[0] = f"{counted(count, 'job')} {words[count > 1]}"
        return ", ".join(notes)


@dataclass(frozen=True, slots=True)
class FleetTables:
    """The first of the fleet, of the requested kind (`show`, of `VIEWS`): hosts by `sort`, volumes
    by what they do, or the latest jobs. The others are empty."""

    show: str
    sort: str
    rows: tuple[OverviewHost, ...] = ()
    host_count: int = 0
    top: tuple[TopVolume, ...] = ()
    recent: Sequence[Job] = ()

    @property
    def query(self) -> str:
        """What the address says of it."""
        return f"sort={self.sort}" if self.show == HOSTS else f"show={self.show}"

    @property
    def unit(self) -> str:
        """Of the figure of a volume."""
        return "ms" if self.show == "reads" else "IOPS"

    @property
    def views(self) -> tuple[tuple[str, str], ...]:
        """What can be listed: the word of the address, and that for people."""
        return tuple(VIEWS.items())

    @property
    def sorts(self) -> tuple[tuple[str, str], ...]:
        """What the hosts can be ordered by: the word of the address, and that for people."""
        return tuple(SORTS.items())


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A job that has not ended: what it takes, and the volume that it holds."""

    host_id: int
    volume_key: str
    state: str
    wishes: tuple[Wish, ...]
    recorded: RecordedVolume


def overview(user: Person, at: datetime, by_host: Mapping[int, ProblemTally]) -> Overview:
    """`by_host` are the tallies of all hosts. Neither the number of queries nor what they bring
    depends on the number of hosts, volumes and jobs; no inventory is read."""
    unfinished = _unfinished(Job.objects.visible_to(user).filter(dry_run=False))
    halt = Halt.objects.active()
    pages = {name: reverse(name) for name in ("alerts", "hosts", "volumes", "jobs")}
    groups, group_count = grouped(at, KINDS, SHOWN_GROUPS, LOOKED_AT)
    marks = marks_of(problem for group in groups for problem in group.problems)
    general = [of_all_hosts(each, pages) for each in problems_of_all_hosts()]
    slowest = top_volumes(user, at, "top_read_ms", 1)
    return Overview(
        attention=(*general, *items(groups, pages, marks)),
        more_groups=group_count - len(groups),
        problem_count=total(by_host.values()).total + len(general),
        shortages=shortages(SHOWN_SUBJECTS),
        fleet=fleet_state(user, at, _reserved_bytes(unfinished)),
        hit_rate=hit_rate(at),
        latency=latency(at),
        slowest=slowest[0] if slowest else None,
        jobs=Counter(job.state for job in unfinished),
        halt=halt,
        no_recipient_count=len(hosts_without_other_recipient()),
    )


def fleet_tables(
    user: Person,
    at: datetime,
    by_host: Mapping[int, ProblemTally],
    sort: str = "",
    show: str = "",
) -> FleetTables:
    """The same holds of these."""
    sort = sort if sort in SORTS else next(iter(SORTS))
    show = show if show in VIEWS else HOSTS
    if show == "jobs":
        recent = _recent(Job.objects.visible_to(user).filter(dry_run=False))
        return FleetTables(show, sort, recent=recent)
    if show != HOSTS:
        column: TopColumn = "top_iops" if show == "io" else "top_read_ms"
        return FleetTables(show, sort, top=top_volumes(user, at, column, TOP_SHOWN))
    return FleetTables(
        show,
        sort,
        rows=_rows(user, _lines(user, by_host, sort, at), at),
        host_count=Host.objects.visible_to(user).count(),
    )


def _recent(jobs: JobQuerySet) -> list[Job]:
    """The latest to have ended, started or been requested, among the youngest."""
    young = jobs.order_by("-pk").values("pk")[: RECENT_JOBS * 5]
    latest = Coalesce("ended_at", "started_at", "created_at").desc()
    return list(jobs.filter(pk__in=young).for_rows().order_by(latest)[:RECENT_JOBS])


def _unfinished(jobs: JobQuerySet) -> tuple[Unfinished, ...]:
    lies = Placement.objects.filter(volume=OuterRef("volume"), until=None, lv_uuid__isnull=False)
    rows = jobs.unfinished().values_list(
        "host_id",
        "volume__key",
        "state",
        "wish",
        "fallback",
        "is_irrevocable",
        "volume__size_bytes",
        Subquery(lies.values("lv_name")[:1]),
        Subquery(lies.values("cache_bytes")[:1]),
    )
    return tuple(
        Unfinished(
            host_id,
            key,
            state,
            # What its rollback would need counts too, while rollback is possible.
            tuple(Wish.from_json(each) for each in (wish, None if irrevocable else back) if each),
            RecordedVolume(lv_name or "", size_bytes, cache_bytes),
        )
        for host_id, key, state, wish, back, irrevocable, size_bytes, lv_name, cache_bytes in rows
    )


def _reserved_bytes(unfinished: Sequence[Unfinished]) -> int:
    if not unfinished:
        return 0
    outlines = HostOutline.objects.in_bulk({job.host_id for job in unfinished})
    return sum(
        max(promised_bytes(wish, job.recorded, outlines.get(job.host_id)) for wish in job.wishes)
        for job in unfinished
    )


def _lines(
    user: Person, by_host: Mapping[int, ProblemTally], sort: str, at: datetime
) -> list[HostSummaryRow]:
    """The first hosts of the order, by name within what is equal; unknown figures last, and so are
    old ones: the host's present load is unknown."""
    fresh = Q(activity__at__gte=at - timedelta(seconds=silent_seconds()))
    busy = Case(When(fresh, then=F("activity__busy")))
    io = Case(
        When(
            fresh, then=Coalesce("activity__read_iops", 0.0) + Coalesce("activity__write_iops", 0.0)
        )
    )
    hosts = Host.objects.visible_to(user).select_related("outline", "activity").only(*FIELDS)
    troubled = list(by_host)[:SHOWN_HOSTS]
    if sort == "trouble" and troubled:
        worst = Case(
            *(When(pk=host_id, then=Value(n)) for n, host_id in enumerate(troubled)),
            default=Value(len(troubled)),
        )
        hosts = hosts.order_by(worst, busy.desc(nulls_last=True), "name")
    elif sort == "ssd":
        left = F("outline__fast_free_bytes") * 1.0 / NullIf("outline__fast_total_bytes", Value(0))
        hosts = hosts.order_by(left.asc(nulls_last=True), "name")
    elif sort != "name":
        by = io if sort == "io" else busy
        hosts = hosts.order_by(by.desc(nulls_last=True), "name")
    return [line_of(host, by_host.get(host.pk, NO_PROBLEMS), at) for host in hosts[:SHOWN_HOSTS]]


def _rows(user: Person, lines: Sequence[HostSummaryRow], at: datetime) -> tuple[OverviewHost, ...]:
    trends = hit_rate_trends(lines, at)
    busiest = {line.now.busiest_id for line in lines if line.now is not None}
    volumes = Volume.objects.visible_to(user).only("key", "label").in_bulk(busiest - {None})
    return tuple(
        OverviewHost(
            line,
            trends[line.host.pk],
            volumes.get(line.now.busiest_id or 0) if line.now is not None else None,
        )
        for line in lines
    )


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What needs a person now, and how the fleet is. Customers: their volumes."""
    if not is_staff(request.user):
        return redirect("my-volumes")
    at = timezone.now()
    by_host = tallies(at)
    shown = overview(request.user, at, by_host)
    # The frame of the page says a halt too (`panel.accounts.context_processors.halt`).
    context: dict[str, object] = {
        "overview": shown,
        "halt": shown.halt,
        "get_started": get_started(request.user),
    }
    if shown.fleet.host_count:
        context |= {
            **_tables(request, at, by_host),
            **_charts(request),
            **_heat(request, at),
        }
    return render(request, "staff/dashboard/home.html", context)


def _charts(request: HttpRequest) -> dict[str, Any]:
    """Those of load are open; the others show their titles until a person opens them."""
    context: dict[str, Any] = fleet_chart_context(request)
    panels = context["charts"]["panels"]
    context["charts"]["panels"] = [
        replace(panel, is_folded=panel.name not in OPEN_CHARTS) for panel in panels
    ]
    return context


@staff_view()
@require_safe
def fleet_fragment(request: HttpRequest) -> HttpResponse:
    """The parts of the first page that refresh: what needs attention, with `?part=heat` the map of
    hosts by time, and with `?part=tables` the tables below the charts."""
    at, part = timezone.now(), request.GET.get("part")
    if part == "heat":
        return render(request, "staff/dashboard/_heat_card.html", _heat(request, at))
    by_host = tallies(at)
    if part == "tables":
        return render(request, "staff/dashboard/_tables.html", _tables(request, at, by_host))
    shown = overview(request.user, at, by_host)
    return render(
        request, "staff/dashboard/_overview.html", {"overview": shown, "halt": shown.halt}
    )


def _heat(request: HttpRequest, at: datetime) -> dict[str, object]:
    """The last day of the hosts, coloured by what `heat` names, and what happened then."""
    measured = Host.objects.visible_to(request.user).filter(state__in=MEASURED)
    hosts = list(measured.only("key", "name", "name_order", *MAINTAINED, *JUDGED))
    scale = SCALES.get(request.GET.get("heat", ""), LATENCY)
    if not hosts:
        return {"heat": None}
    heat = heat_map(hosts, scale, LAST_DAY, at, SHOWN_HOSTS)
    return {"heat": heat, "lane": event_lane(heat.start, heat.end, hosts)}


def _tables(
    request: HttpRequest, at: datetime, by_host: Mapping[int, ProblemTally]
) -> dict[str, object]:
    """`kept` is what the order of hosts leaves as it is: the time of the charts, and what the map
    shows."""
    kept = {name: request.GET[name] for name in KEPT_PARAMETERS if name in request.GET}
    return {
        "tables": fleet_tables(
            request.user, at, by_host, request.GET.get("sort", ""), request.GET.get("show", "")
        ),
        "kept": f"&{urlencode(kept)}" if kept else "",
    }
