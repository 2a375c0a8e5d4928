"""What happened to a host and on it, as one list by time: restarts and disks that changed, alerts,
jobs and maintenance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.dateparse import parse_datetime

from jobs.models import Alert, Job
from panel.deliveries.alerts.alert_texts import name_of, state_of_alert
from panel.staff.trail import keys_of
from panel.templatetags.chips import Chip, chip_of_job
from storage.access import Person
from storage.models import Host, HostChange
from storage.models.event import Event, EventKind
from storage.templatetags.units import stamp

MAINTENANCE: Final = {
    EventKind.HOST_MAINTENANCE_BEGAN: "Maintenance",
    EventKind.HOST_MAINTENANCE_ENDED: "Maintenance ended",
}


@dataclass(frozen=True, slots=True)
class HostEventRow:
    """One thing that happened. `what` is its kind, `state` what became of it; `text` says more, and
    `url` leads to its page. `change` is the change of the host itself, where it is one."""

    at: datetime
    what: str
    text: str = ""
    url: str = ""
    state: Chip | None = None
    change: HostChange | None = None


def host_events(user: Person, host: Host) -> QuerySet[Any, Any]:
    """What `event_rows` reads, newest first; to be cut into pages."""
    alerts = Alert.objects.visible_to(user).filter(host=host)
    jobs = Job.objects.visible_to(user).filter(host=host, dry_run=False)
    begun = jobs.annotate(begun=Coalesce("started_at", "created_at"))
    held = Event.objects.visible_to(user).filter(host_key=host.key, kind__in=list(MAINTENANCE))
    sources = (
        keys_of(alerts, "alert", "opened_at", "pk"),
        keys_of(begun, "job", "begun", "pk"),
        keys_of(held, "maintenance", "at", "pk"),
    )
    changes = HostChange.objects.visible_to(user).filter(host=host)
    union = keys_of(changes, "change", "at", "pk").union(*sources, all=True)
    return union.order_by("-moment", "-number")


def event_rows(keys: Iterable[tuple[str, datetime, int]]) -> list[HostEventRow]:
    """In their order. Four queries at most."""
    keys = list(keys)
    numbers = defaultdict[str, list[int]](list)
    for source, _, number in keys:
        numbers[source].append(number)
    rows = {each: row for source in numbers for each, row in _rows(source, numbers[source])}
    return [rows[source, number] for source, _, number in keys if (source, number) in rows]


def _rows(source: str, numbers: list[int]) -> Iterator[tuple[tuple[str, int], HostEventRow]]:
    if source == "alert":
        for alert in Alert.objects.with_names().filter(pk__in=numbers):
            yield (source, alert.pk), _of_alert(alert)
    elif source == "job":
        for job in Job.objects.with_names().filter(pk__in=numbers):
            yield (source, job.pk), _of_job(job)
    elif source == "maintenance":
        for event in Event.objects.filter(pk__in=numbers):
            until = parse_datetime(event.internal.get("until") or "")
            text = f"until {stamp(until)}" if until is not None else ""
            yield (
                (source, event.pk),
                HostEventRow(event.at, MAINTENANCE[EventKind(event.kind)], text),
            )
    else:
        for change in HostChange.objects.filter(pk__in=numbers):
            what = change.get_kind_display()
            yield (source, change.pk), HostEventRow(change.at, what, change=change)


def _of_alert(alert: Alert) -> HostEventRow:
    return HostEventRow(
        alert.opened_at or alert.first_seen_at,
        f"Alert: {name_of(alert.title_code)}",
        alert.told_message,
        reverse("alert", args=[alert.key]),
        state_of_alert(alert),
    )


def _of_job(job: Job) -> HostEventRow:
    return HostEventRow(
        job.started_at or job.created_at,
        f"Job: {job.get_kind_display()}",
        job.label,
        reverse("job", args=[job.key]),
        chip_of_job(job),
    )
