"""The first page of staff: what needs attention, the state of the fleet, what is running."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.models import Halt, Job, JobQuerySet, State
from panel.staff.dashboard.attention import RANKS, AttentionRow, Concern, items, worst
from panel.staff.dashboard.attention_sources import labels_of, of_halt, of_host, of_jobs
from panel.staff.hosts import fleet
from panel.staff.hosts.fleet import Course, HitRate, HostSummaryRow, RecordedVolume, Space
from storage.access import Person, is_staff, staff_view
from storage.formatting import counted
from storage.models import Placement, Volume
from storage.models.host import HostState
from storage.planner.wish import Wish

SHOWN_HOSTS: Final = 12
RECENT_JOBS: Final = 6
NEW: Final = (HostState.PENDING, HostState.UNVERIFIED)
SORTS: Final = {"trouble": "trouble", "busy": "busiest", "io": "I/O", "name": "name"}


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host of the table. `concerns` is how many troubles it has, `rank` how bad the worst is."""

    line: HostSummaryRow
    course: Course
    concerns: int
    rank: int
    busiest: Volume | None

    @property
    def is_troubled(self) -> bool:
        """True where the host answers and something is wrong with it all the same."""
        return self.line.is_up and self.concerns > 0

    @property
    def tone(self) -> str:
        return "warning" if self.rank == RANKS["warning"] else "error"

    @property
    def words(self) -> str:
        return counted(self.concerns, "problem")


@dataclass(frozen=True, slots=True)
class Overview:
    """`new_count` hosts are not accepted yet; `rows` are the first hosts by `sort`."""

    attention: tuple[AttentionRow, ...]
    host_count: int
    up_count: int
    new_count: int
    space: Space
    hit_rate: HitRate
    running: int
    waiting: int
    read_iops: float | None
    write_iops: float | None
    rows: tuple[HostRow, ...]
    sort: str
    recent: Sequence[Job]
    halt: Halt | None

    @property
    def down_count(self) -> int:
        """Hosts that should answer and do not, or not as the one that was accepted."""
        return self.host_count - self.up_count - self.new_count

    @property
    def hosts_note(self) -> str:
        """What is to be said of the hosts that are not up."""
        notes = [f"{self.down_count} unreachable"] if self.down_count else []
        notes += [f"{self.new_count} not accepted yet"] if self.new_count else []
        return ", ".join(notes) or "all reachable"

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
    lying: RecordedVolume


def overview(user: Person, at: datetime, sort: str = "") -> Overview:
    """Everything the page shows. The number of queries does not depend on that of hosts, volumes
    and jobs; no inventory is read."""
    sort = sort if sort in SORTS else next(iter(SORTS))
    lines = fleet.lines_of(user, at)
    jobs = Job.objects.visible_to(user).filter(dry_run=False)
    unfinished = _unfinished(jobs)
    locked_volumes = {job.volume_key for job in unfinished}
    labels = labels_of(user, lines)
    by_host = {line.host.pk: tuple(of_host(line, locked_volumes, labels)) for line in lines}
    concerns = [each for host_concerns in by_host.values() for each in host_concerns]
    halt = Halt.objects.active()
    concerns += [*of_halt(halt), *of_jobs(jobs, at)]
    chosen = _sorted(lines, by_host, sort)[:SHOWN_HOSTS]
    fresh = [line.now for line in lines if line.now is not None and not line.is_stale]
    return Overview(
        attention=items(concerns, {name: reverse(name) for name in ("hosts", "volumes", "jobs")}),
        host_count=len(lines),
        up_count=sum(line.is_up for line in lines),
        new_count=sum(line.host.state in NEW for line in lines),
        space=fleet.space_of(lines, fleet.sold_bytes(), _reserved_bytes(unfinished, lines)),
        hit_rate=fleet.hit_rate(at),
        running=sum(job.state == State.RUNNING for job in unfinished),
        waiting=sum(job.state in (State.QUEUED, State.WAITING) for job in unfinished),
        read_iops=_sum(latest.read_iops for latest in fresh),
        write_iops=_sum(latest.write_iops for latest in fresh),
        rows=_rows(user, chosen, by_host, at),
        sort=sort,
        recent=_recent(jobs),
        halt=halt,
    )


def _recent(jobs: JobQuerySet) -> list[Job]:
    """The latest to have ended, begun or been asked for, among the youngest."""
    young = jobs.order_by("-pk").values("pk")[: RECENT_JOBS * 5]
    latest = Coalesce("ended_at", "started_at", "created_at").desc()
    return list(jobs.filter(pk__in=young).told().order_by(latest)[:RECENT_JOBS])


def _unfinished(jobs: JobQuerySet) -> tuple[Unfinished, ...]:
    lies = Placement.objects.filter(volume=OuterRef("volume"), until=None, lv_uuid__isnull=False)
    rows = jobs.unfinished().values_list(
        *("host_id", "volume__key", "state", "wish", "fallback", "turned", "volume__size_bytes"),
        Subquery(lies.values("lv_name")[:1]),
        Subquery(lies.values("cache_bytes")[:1]),
    )
    return tuple(
        Unfinished(
            host_id,
            key,
            state,
            # What it needs to go back counts too, as long as it may.
            tuple(Wish.from_json(each) for each in (wish, None if turned else back) if each),
            RecordedVolume(lv_name or "", size_bytes, cache_bytes),
        )
        for host_id, key, state, wish, back, turned, size_bytes, lv_name, cache_bytes in rows
    )


def _reserved_bytes(unfinished: Iterable[Unfinished], lines: Iterable[HostSummaryRow]) -> int:
    outlines = {line.host.pk: line.outline for line in lines}
    return sum(
        max(fleet.promised_bytes(wish, job.lying, outlines.get(job.host_id)) for wish in job.wishes)
        for job in unfinished
    )


def _sorted(
    lines: Iterable[HostSummaryRow], concerns: Mapping[int, Sequence[Concern]], sort: str
) -> list[HostSummaryRow]:
    """By name within what is equal; unknown figures last, and so are old ones: nobody knows what
    that host does now."""

    def io(line: HostSummaryRow) -> float:
        if line.now is None or line.is_stale:
            return -1
        return _sum((line.now.read_iops, line.now.write_iops)) or 0

    def busy(line: HostSummaryRow) -> float:
        return -1 if line.now is None or line.is_stale else line.now.busy or 0

    by_name = sorted(lines, key=lambda line: line.host.name)
    if sort == "io":
        return sorted(by_name, key=io, reverse=True)
    if sort == "busy":
        return sorted(by_name, key=busy, reverse=True)
    if sort == "trouble":
        return sorted(by_name, key=lambda line: (worst(concerns[line.host.pk]), -busy(line)))
    return by_name


def _rows(
    user: Person,
    lines: Sequence[HostSummaryRow],
    concerns: Mapping[int, Sequence[Concern]],
    at: datetime,
) -> tuple[HostRow, ...]:
    courses = fleet.courses_of(lines, at)
    busiest = {line.now.busiest_id for line in lines if line.now is not None}
    volumes = Volume.objects.visible_to(user).only("key", "label").in_bulk(busiest)
    return tuple(
        HostRow(
            line,
            courses[line.host.pk],
            len(concerns[line.host.pk]),
            worst(concerns[line.host.pk]),
            volumes.get(line.now.busiest_id) if line.now is not None else None,
        )
        for line in lines
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """None where nothing is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


log = logging.getLogger(__name__)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What needs a person now, and how the fleet is. Customers: their volumes."""
    if not is_staff(request.user):
        return redirect("my-volumes")
    return render(request, "staff/dashboard/home.html", _overview(request))


@staff_view()
@require_safe
def fleet_fragment(request: HttpRequest) -> HttpResponse:
    """The part of the first page that renews itself."""
    return render(request, "staff/dashboard/_overview.html", _overview(request))


def _overview(request: HttpRequest) -> dict[str, Overview | Halt | None]:
    shown = overview(request.user, timezone.now(), request.GET.get("sort", ""))
    # The frame of the page says it too (`panel.context_processors.halt`).
    return {"overview": shown, "halt": shown.halt}
