"""What happened to a host, or to a volume and its former hosts: alerts, disks, jobs,
maintenance and changes, merged by time. Staff only, as each source says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from jobs.models import Alert, Job, MediaCheck
from storage.access import Person
from storage.models import Host, HostChange, Placement, Volume
from storage.models.event import Event, EventKind
from storage.models.host_change import HostChangeKind
from storage.problems.all_kinds import KINDS

Keys = QuerySet[Any, Any]
"""Source, moment and number of rows, to be joined with those of others."""
MAINTENANCE: Final = (EventKind.HOST_MAINTENANCE_BEGAN, EventKind.HOST_MAINTENANCE_ENDED)
OF_VOLUMES: Final = (
    EventKind.VOLUME_MOVED,
    EventKind.VOLUME_MISSING,
    EventKind.VOLUME_RETURNED,
    EventKind.VOLUME_ASSIGNED,
    EventKind.VOLUME_WITHDRAWN,
    EventKind.CACHE_TROUBLED,
    EventKind.CACHE_RECOVERED,
)
"""Kinds that no job reports."""
DISK_CHANGES: Final = (
    HostChangeKind.DISK_ADDED,
    HostChangeKind.DISK_GONE,
    HostChangeKind.DISK_CHANGED,
)
OF_DISKS: Final = tuple(
    code
    for code, kind in KINDS.items()
    if kind.about in ("disk", "array") and kind.judged_by != "disk_load"
)
"""Codes of alerts about an unhealthy disk or array."""


@dataclass(frozen=True, slots=True)
class TimelinePlace:
    """Whose time line it is: one of the two."""

    host: Host | None = None
    volume: Volume | None = None


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One thing that happened; `source` says which `record` it is."""

    at: datetime
    source: str
    number: int
    record: Any


def all_alerts(user: Person, place: TimelinePlace) -> Keys:
    """Of a volume also those of its host that are of no other volume."""
    visible = Alert.objects.visible_to(user)
    if place.volume is None:
        return keys_of(visible.filter(host=place.host), "alert", "opened_at")
    of_host = Q(Exists(_there(place.volume, "opened_at"))) & Q(volume=None, job=None)
    return keys_of(visible.filter(Q(volume=place.volume) | of_host), "alert", "opened_at")


def disk_alerts(user: Person, place: TimelinePlace) -> Keys:
    """Those of `all_alerts` that are of disks and arrays."""
    visible = Alert.objects.visible_to(user).filter(code__in=OF_DISKS)
    return keys_of(_on_host(visible, place, "opened_at"), "alert", "opened_at")


def disk_changes(user: Person, place: TimelinePlace) -> Keys:
    """Disks that were added, removed or changed."""
    changes = HostChange.objects.visible_to(user).filter(kind__in=DISK_CHANGES)
    return keys_of(_on_host(changes, place, "at"), "change", "at")


def host_changes(user: Person, place: TimelinePlace) -> Keys:
    """Restarts, other kernels and versions."""
    changes = HostChange.objects.visible_to(user).exclude(kind__in=DISK_CHANGES)
    return keys_of(_on_host(changes, place, "at"), "change", "at")


def checks(user: Person, place: TimelinePlace) -> Keys:
    """Self-tests of disks and comparisons of arrays."""
    begun = Coalesce("started_at", "created_at")
    visible = MediaCheck.objects.visible_to(user).annotate(begun=begun)
    return keys_of(_on_host(visible, place, "begun"), "check", "begun")


def jobs(user: Person, place: TimelinePlace) -> Keys:
    """No previews."""
    begun = Coalesce("started_at", "created_at")
    visible = Job.objects.visible_to(user).filter(dry_run=False).annotate(begun=begun)
    if place.volume is None:
        return keys_of(visible.filter(host=place.host), "job", "begun")
    return keys_of(visible.filter(volume=place.volume), "job", "begun")


def maintenance(user: Person, place: TimelinePlace) -> Keys:
    """Its beginnings and ends."""
    held = Event.objects.visible_to(user).filter(kind__in=MAINTENANCE)
    if place.host is not None:
        return keys_of(held.filter(host_key=place.host.key), "event", "at")
    there = _there(place.volume, "at", "host__key", "host_key")
    return keys_of(held.filter(Exists(there)), "event", "at")


def volume_events(user: Person, place: TimelinePlace) -> Keys:
    """Volumes that moved, were missing or changed hands, and caches with trouble."""
    events = Event.objects.visible_to(user).filter(kind__in=OF_VOLUMES)
    if place.host is not None:
        return keys_of(events.filter(host_key=place.host.key), "event", "at")
    return keys_of(
        events.filter(volume_key=place.volume.key if place.volume else ""), "event", "at"
    )


def _on_host(rows: Any, place: TimelinePlace, at: str) -> Any:
    """Those of the host, or of where the volume lay then."""
    if place.volume is None:
        return rows.filter(host=place.host)
    return rows.filter(Exists(_there(place.volume, at)))


def _there(
    volume: Volume | None, at: str, host: str = "host", of: str = "host"
) -> QuerySet[Placement]:
    """The volume's host at the moment of a row."""
    lasting = Q(until=None) | Q(until__gte=OuterRef(at))
    return Placement.objects.filter(
        lasting, volume=volume, since__lte=OuterRef(at), **{host: OuterRef(of)}
    )


TimelineSource = Callable[[Person, TimelinePlace], Keys]
SOURCES: Final[Mapping[str, tuple[TimelineSource, ...]]] = {
    "alerts": (all_alerts,),
    "disks": (disk_alerts, disk_changes, checks),
    "jobs": (jobs,),
    "maintenance": (maintenance,),
    "host": (host_changes,),
    "volumes": (volume_events,),
}
"""By what a list of them is filtered by."""
ALL: Final = (all_alerts, disk_changes, checks, jobs, maintenance, host_changes, volume_events)


def keys_of(rows: Any, source: str, at: str, number: str = "pk") -> Keys:
    """Of each row the source, the moment and the number, to be joined with those of others."""
    named = rows.order_by().annotate(source=Value(source, CharField()), moment=F(at))
    keys: Keys = named.annotate(number=F(number))
    return keys.values_list("source", "moment", "number")


def merged(keys: Sequence[Keys]) -> Keys:
    """All of them as one list, newest first; to be cut into pages. At least one source."""
    first, *others = keys
    whole = first.union(*others, all=True) if others else first
    return whole.order_by("-moment", "-source", "-number")


def _with_host(rows: Any, *joined: str) -> Any:
    """With these in the same query, but not the host's inventory."""
    return rows.select_related(*joined).defer("host__facts", "host__hello")


Reader = Callable[[Sequence[int]], Iterable[Any]]
READERS: Final[Mapping[str, Reader]] = {
    "alert": lambda numbers: Alert.objects.with_names().filter(pk__in=numbers),
    "job": lambda numbers: Job.objects.with_names().filter(pk__in=numbers),
    "change": lambda numbers: _with_host(HostChange.objects, "host").filter(pk__in=numbers),
    "check": lambda numbers: _with_host(MediaCheck.objects, "host", "disk").filter(pk__in=numbers),
    "event": lambda numbers: Event.objects.filter(pk__in=numbers),
}


def entries_of(
    keys: Iterable[tuple[str, datetime, int]], readers: Mapping[str, Reader] = READERS
) -> list[TimelineEntry]:
    """The entries in the order of their keys. One query for each source that there is."""
    keys = list(keys)
    numbers = defaultdict[str, list[int]](list)
    for source, _, number in keys:
        numbers[source].append(number)
    rows = {
        (source, record.pk): record
        for source, known in numbers.items()
        for record in readers[source](known)
    }
    return [
        TimelineEntry(at, source, number, rows[source, number])
        for source, at, number in keys
        if (source, number) in rows
    ]


def summary_of(entry: TimelineEntry) -> str:
    """What happened, in a few words."""
    record = entry.record
    match entry.source:
        case "alert":
            return str(record.shown_message)
        case "event":
            return EventKind(record.kind).label
        case "change":
            changed = " → ".join(each for each in (record.before, record.after) if each)
            what = f"{record.get_kind_display()} {record.subject}".strip()
            return f"{what}: {changed}" if changed else what
    return str(record)
