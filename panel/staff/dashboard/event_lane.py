"""What happened to hosts in a time, as one lane below their map: alerts, jobs, restarts and
maintenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.db.models import Q
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from jobs.models import Alert, Job, State
from panel.deliveries.alerts.alert_texts import name_of
from storage.models import Host, HostChange
from storage.models.event import Event, EventKind
from storage.models.host_change import HostChangeKind

MOST_EVENTS: Final = 60
"""Of each kind, the newest."""
LISTED: Final = 5
MAINTENANCE: Final = (EventKind.HOST_MAINTENANCE_BEGAN, EventKind.HOST_MAINTENANCE_ENDED)
MAINTAINED: Final = ("maintenance_since", "maintenance_until")
LONGEST: Final = timedelta(days=7)
"""A maintenance that began longer ago than this before the time is not looked for."""
LEAST_SHARE: Final = 0.004
"""What took a moment is seen too."""


class LaneKind(StrEnum):
    """In the order of its rows, from the top."""

    ALERT = "alert"
    JOB = "job"
    RESTART = "restart"
    MAINTENANCE = "maintenance"

    @property
    def label(self) -> str:
        """For people."""
        return self.value.capitalize()

    @property
    def row(self) -> str:
        """How far from the top its marks are, in per cent of the lane."""
        return f"{list(LaneKind).index(self) * 25 + 3}%"


@dataclass(frozen=True, slots=True)
class LaneEvent:
    """`until` is None while it lasts; `url` is its page, for staff."""

    kind: LaneKind
    at: datetime
    until: datetime | None
    words: str
    url: str

    @property
    def state(self) -> str:
        """What it is now, where its words do not say so."""
        if self.until is not None or self.kind is LaneKind.JOB:
            return ""
        return "open" if self.kind is LaneKind.ALERT else "now"

    @property
    def clock(self) -> str:
        """When it began, on the clock of the zone that is shown; with the day where it was another
        one."""
        at = timezone.localtime(self.at)
        return f"{at:%H:%M}" if at.date() == timezone.localdate() else f"{at:%-d %b %H:%M}"


@dataclass(frozen=True, slots=True)
class LaneMark:
    """An event with its place and width in per cent of the lane."""

    event: LaneEvent
    left: str
    width: str


@dataclass(frozen=True, slots=True)
class EventLane:
    """The events from `start` to `end`, oldest first."""

    start: datetime
    end: datetime
    events: Sequence[LaneEvent]

    @property
    def words(self) -> str:
        """How many of each kind, for those who do not see the marks."""
        counts = Counter(event.kind for event in self.events)
        return f"Events: {', '.join(f'{kind} {counts[kind]}' for kind in LaneKind)}."

    @property
    def marks(self) -> tuple[LaneMark, ...]:
        return tuple(self._mark(event) for event in self.events)

    @property
    def latest(self) -> tuple[LaneEvent, ...]:
        """Those that a list names, newest first."""
        return tuple(self.events[: -LISTED - 1 : -1])

    def _mark(self, event: LaneEvent) -> LaneMark:
        length = self.end - self.start
        left = max(0.0, (event.at - self.start) / length)
        right = min(1.0, ((event.until or self.end) - self.start) / length)
        width = max(LEAST_SHARE, right - left)
        return LaneMark(event, f"{min(left, 1 - width):.2%}", f"{width:.2%}")


def event_lane(
    start: datetime,
    end: datetime,
    hosts: Sequence[Host],
    *,
    with_general: bool = True,
    names_volumes: bool = True,
) -> EventLane:
    """What there was of the hosts from `start` to `end`, and `with_general` alerts that concern all
    hosts. `hosts` come with `MAINTAINED`. Without `names_volumes` it names hosts alone. Four
    queries."""
    of = Q(host__in=[host.pk for host in hosts])
    of_alerts = of | Q(host=None) if with_general else of
    events = [
        *_alerts(start, end, of_alerts, names_volumes=names_volumes),
        *_jobs(start, end, of, names_volumes=names_volumes),
        *_restarts(start, end, of),
        *_maintenances(start, end, hosts),
    ]
    return EventLane(start, end, sorted(events, key=lambda event: event.at))


def _alerts(start: datetime, end: datetime, of: Q, *, names_volumes: bool) -> Iterator[LaneEvent]:
    lasted = Q(resolved_at=None) | Q(resolved_at__gt=start)
    alerts = Alert.objects.filter(of, lasted, cause=None, opened_at__lte=end)
    newest = alerts.select_related("host").defer("host__facts").order_by("-opened_at")
    for alert in newest[:MOST_EVENTS]:
        words = alert.shown_message.removesuffix(".") if names_volumes else ""
        yield LaneEvent(
            LaneKind.ALERT,
            alert.opened_at or alert.first_seen_at,
            alert.resolved_at,
            f"{alert.place}: {words or name_of(alert.title_code)}",
            reverse("alert", args=[alert.key]),
        )


def _jobs(start: datetime, end: datetime, of: Q, *, names_volumes: bool) -> Iterator[LaneEvent]:
    jobs = Job.objects.filter(of, dry_run=False).annotate(
        began=Coalesce("started_at", "created_at")
    )
    lasted = Q(ended_at=None) | Q(ended_at__gt=start)
    for job in jobs.filter(lasted, began__lte=end).for_rows().order_by("-began")[:MOST_EVENTS]:
        volume = f" {job.volume}" if names_volumes and job.volume is not None else ""
        state = "" if job.state == State.SUCCEEDED else f" ({job.state.replace('_', ' ')})"
        yield LaneEvent(
            LaneKind.JOB,
            job.started_at or job.created_at,
            job.ended_at,
            f"{job.host}: {job.get_kind_display()}{volume}{state}",
            reverse("job", args=[job.key]),
        )


def _restarts(start: datetime, end: datetime, of: Q) -> Iterator[LaneEvent]:
    kinds = (HostChangeKind.BOOT, HostChangeKind.KERNEL)
    restarts = HostChange.objects.filter(of, kind__in=kinds, at__gt=start, at__lte=end)
    newest = restarts.select_related("host").defer("host__facts").order_by("-at")
    for change in newest[:MOST_EVENTS]:
        words = "new kernel" if change.kind == HostChangeKind.KERNEL else "restart"
        url = reverse("host-history", args=[change.host.key])
        yield LaneEvent(LaneKind.RESTART, change.at, change.at, f"{change.host}: {words}", url)


def _maintenances(start: datetime, end: datetime, hosts: Sequence[Host]) -> Iterator[LaneEvent]:
    """Those that lasted, from the events of their ends, and those that last, from their hosts. Of
    one that was repeated, the first beginning counts."""
    by_key = {host.key: host for host in hosts}
    happened = Event.objects.filter(
        host_key__in=list(by_key), kind__in=MAINTENANCE, at__gt=start - LONGEST, at__lte=end
    )
    began: dict[str, datetime] = {}
    spans: list[tuple[Host, datetime, datetime | None]] = []
    for event in happened.order_by("at", "pk"):
        if event.kind == EventKind.HOST_MAINTENANCE_BEGAN:
            began.setdefault(event.host_key, event.at)
        elif event.at > start and (since := began.pop(event.host_key, None)):
            spans.append((by_key[event.host_key], since, event.at))
    spans += [
        (host, host.maintenance_since, None)
        for host in hosts
        if host.maintenance_since is not None and host.is_in_maintenance(end)
    ]
    for host, since, until in spans:
        url = reverse("host", args=[host.key])
        yield LaneEvent(LaneKind.MAINTENANCE, since, until, f"{host}: maintenance", url)
