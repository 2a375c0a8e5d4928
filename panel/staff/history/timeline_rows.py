"""One time line of a host or of a volume: alerts, disks, jobs, maintenance, orders and changes, as
rows by day. What happened is in `jobs.timeline`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html

from jobs import timeline
from jobs.models import Alert, CheckState, Job, MediaCheck
from jobs.timeline import (
    Keys,
    Reader,
    TimelineEntry,
    TimelinePlace,
    TimelineSource,
    entries_of,
    keys_of,
    merged,
)
from panel.deliveries.alerts.alert_texts import name_of, state_of_alert
from panel.lists.listing import ListDefinition, list_page
from panel.models import Order, OrderState
from panel.templatetags.chips import Chip, Tone, chip_of_job
from storage.access import Person
from storage.models import HostChange, Placement, Volume
from storage.models.event import Event, EventKind
from storage.models.host_change import HostChangeKind
from storage.templatetags.units import stamp

KINDS: Final[Mapping[str, str]] = {
    "": "All",
    "alerts": "Alerts",
    "disks": "Disks",
    "jobs": "Jobs",
    "maintenance": "Maintenance",
    "orders": "Orders",
    "host": "Host",
    "volumes": "Volumes",
}
"""What the list is filtered by."""
EVENTS: Final[Mapping[str, str]] = {
    EventKind.HOST_MAINTENANCE_BEGAN: "Maintenance",
    EventKind.HOST_MAINTENANCE_ENDED: "Maintenance ended",
    EventKind.VOLUME_MOVED: "Volume moved",
    EventKind.VOLUME_MISSING: "Volume missing",
    EventKind.VOLUME_RETURNED: "Volume back",
    EventKind.VOLUME_ASSIGNED: "Volume assigned",
    EventKind.VOLUME_WITHDRAWN: "Volume unassigned",
    EventKind.CACHE_TROUBLED: "Cache problem",
    EventKind.CACHE_RECOVERED: "Cache problem over",
}
ORDER_TONES: Final[Mapping[str, tuple[Tone, str]]] = {
    OrderState.COMPLETED: ("ok", "ok"),
    OrderState.FAILED: ("error", "error"),
    OrderState.REFUSED: ("warning", "warning"),
    OrderState.CANCELLED: ("quiet", "cut"),
}
CHECK_TONES: Final[Mapping[str, tuple[Tone, str]]] = {
    CheckState.PASSED: ("ok", "ok"),
    CheckState.FAILED: ("error", "error"),
    CheckState.STOPPED: ("quiet", "cut"),
    CheckState.REFUSED: ("warning", "warning"),
}


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One thing that happened. `what` is its kind, `state` its outcome; `text` has details, and
    `url` leads to its page. `change` is the change of the host itself, where it is one. `related`
    are alerts that have this one as their cause."""

    at: datetime
    what: str
    text: str = ""
    url: str = ""
    state: Chip | None = None
    change: HostChange | None = None
    related: tuple[TimelineRow, ...] = ()


def orders(user: Person, place: TimelinePlace) -> Keys:
    """Changes of plan of the volume, or of the volumes that lay on the host when they were made."""
    visible = Order.objects.visible_to(user)
    if place.volume is not None:
        return keys_of(visible.filter(volume=place.volume), "order", "created_at")
    lasting = Q(until=None) | Q(until__gte=OuterRef("created_at"))
    there = Placement.objects.filter(
        lasting, host=place.host, volume=OuterRef("volume"), since__lte=OuterRef("created_at")
    )
    return keys_of(visible.filter(Exists(there)), "order", "created_at")


SOURCES: Final[Mapping[str, Sequence[TimelineSource]]] = {
    "": (*timeline.ALL, orders),
    **timeline.SOURCES,
    "orders": (orders,),
}
READERS: Final[Mapping[str, Reader]] = {
    **timeline.READERS,
    "order": lambda numbers: Order.objects.select_related(
        "volume", "customer", "from_plan", "to_plan"
    ).filter(pk__in=numbers),
}


def asked_kind(request: HttpRequest) -> str:
    """One of `KINDS`, by the address."""
    kind = request.GET.get("kind", "")
    return kind if kind in KINDS else ""


def timeline_context(
    request: HttpRequest, place: TimelinePlace, listing: ListDefinition
) -> dict[str, Any]:
    """The context of `staff/_timeline.html`. A query for the page, one to count, and one for each
    source on the page."""
    kind = asked_kind(request)
    keys = merged([source(request.user, place) for source in SOURCES[kind]])
    listed = list_page(request, listing, keys)
    rows = rows_of(entries_of(listed.page, READERS), place)
    return {
        "list": listed,
        "kinds": KINDS.items(),
        "kind": kind,
        "days": by_day(rows),
        "kernel_kind": HostChangeKind.KERNEL,
    }


def by_day(rows: Iterable[TimelineRow]) -> list[tuple[date, list[TimelineRow]]]:
    """In their order, by days of the person's time zone."""
    return [
        (day, list(those))
        for day, those in groupby(rows, lambda row: timezone.localtime(row.at).date())
    ]


def rows_of(entries: Iterable[TimelineEntry], place: TimelinePlace) -> list[TimelineRow]:
    """In their order, but alerts stand with their cause, where it is among the entries. What is of
    the place itself does not name it. One query at most."""
    entries = list(entries)
    volumes = _volumes(each.record for each in entries if each.source == "event")
    causes = {each.number for each in entries if each.source == "alert"}
    rows, related = [], defaultdict[int, list[TimelineRow]](list)
    for entry in entries:
        row, cause = _row(entry, place, volumes), _cause_of(entry)
        if cause in causes:
            related[cause].append(row)
        else:
            rows.append((entry, row))
    return [
        replace(row, related=tuple(related[entry.number])) if entry.source == "alert" else row
        for entry, row in rows
    ]


def _cause_of(entry: TimelineEntry) -> int | None:
    """The number of the alert from which an alert follows."""
    return entry.record.cause_id if entry.source == "alert" else None


def _volumes(events: Iterable[Event]) -> dict[str, Volume]:
    wanted = {each.volume_key for each in events if each.volume_key}
    volumes = Volume.objects.filter(key__in=wanted) if wanted else ()
    return {volume.key: volume for volume in volumes}


def _row(entry: TimelineEntry, place: TimelinePlace, volumes: Mapping[str, Volume]) -> TimelineRow:
    record = entry.record
    match entry.source:
        case "alert":
            return _of_alert(entry.at, record)
        case "job":
            return _of_job(entry.at, record)
        case "order":
            return _of_order(entry.at, record, place)
        case "check":
            return _of_check(entry.at, record)
        case "change":
            return _of_change(entry.at, record)
    return _of_event(entry.at, record, volumes.get(record.volume_key))


def _of_alert(at: datetime, alert: Alert) -> TimelineRow:
    url = reverse("alert", args=[alert.key])
    what = f"Alert: {name_of(alert.title_code)}"
    return TimelineRow(at, what, _message_of(alert), url, state_of_alert(alert))


def _message_of(alert: Alert) -> str:
    """With a volume by its label, which leads to its page, where LVM's name of it stands."""
    before, named, after = alert.shown_message.partition(alert.subject or "\n")
    if alert.volume is None or not named:
        return alert.shown_message
    url = reverse("volume", args=[alert.volume.key])
    return format_html(
        '{}<a class="text" href="{}">{}</a>{}', before, url, alert.volume.label, after
    )


def _of_job(at: datetime, job: Job) -> TimelineRow:
    url = reverse("job", args=[job.key])
    return TimelineRow(at, f"Job: {job.get_kind_display()}", job.label, url, chip_of_job(job))


def _of_order(at: datetime, order: Order, place: TimelinePlace) -> TimelineRow:
    tone, icon = ORDER_TONES.get(order.state, ("busy", "run"))
    plans = [plan.name if plan else "no cache" for plan in (order.from_plan, order.to_plan)]
    text = f"{plans[0]} → {plans[1]}"
    if place.volume is None:
        text = f"{order.volume.label}: {text}"
    return TimelineRow(
        at,
        f"Order: {order.purpose}",
        text,
        reverse("customer", args=[order.customer.key]),
        Chip(tone, icon, order.get_state_display()),
    )


def _of_check(at: datetime, check: MediaCheck) -> TimelineRow:
    tone, icon = CHECK_TONES.get(check.state, ("busy", "run"))
    url = reverse("host-disks", args=[check.host.key])
    what, text = check.get_kind_display(), check.array
    if check.disk is not None:
        url = reverse("host-disk", args=[check.host.key, check.disk.key])
        text = check.disk.name or check.disk.device
    text = f"{text}: {check.message}" if check.message else text
    return TimelineRow(at, what, text, url, Chip(tone, icon, check.get_state_display()))


def _of_change(at: datetime, change: HostChange) -> TimelineRow:
    is_disk = change.kind in timeline.DISK_CHANGES
    url = reverse("host-disks" if is_disk else "host-history", args=[change.host.key])
    if change.kind == HostChangeKind.KERNEL:
        url += f"?compare={change.pk}#kernel-compared"
    return TimelineRow(at, change.get_kind_display(), url=url, change=change)


def _of_event(at: datetime, event: Event, volume: Volume | None) -> TimelineRow:
    text = volume.label if volume is not None else ""
    until = parse_datetime(event.internal.get("until") or "")
    if until is not None:
        text = f"until {stamp(until)}"
    url = reverse("host-settings", args=[event.host_key]) if event.host_key else ""
    if volume is not None:
        url = reverse("volume", args=[volume.key])
    return TimelineRow(at, EVENTS[event.kind], text, url)
