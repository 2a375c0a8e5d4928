"""One trail of everything that people and programs did: operations on hosts, changes of records,
sign-in and access. Newest first, by pages; each source keeps its own rules of who may see it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.urls import reverse

from jobs.audit_trail import AuditedOperation, audited_operations
from jobs.models import AuditEntry, Phase
from jobs.timeline import keys_of
from panel.models import Mandate, SecurityEntry
from panel.staff.change_log import Edit, edit_of
from storage.access import Person, is_staff
from storage.models import CachePlan, Customer, Host, PhysicalDisk, TagLimit, Volume

PAGE_ROWS: Final = 50
KINDS: Final = {
    "operation": "Operations on hosts",
    "change": "Changes of records",
    "security": "Sign-in and access",
}
RECORDS: Final[Mapping[str, tuple[type[Any], str]]] = {
    "host": (Host, "host"),
    "volume": (Volume, "volume"),
    "customer": (Customer, "customer"),
    "plan": (CachePlan, "cache-plan"),
    "limit of tag": (TagLimit, ""),
    "disk": (PhysicalDisk, "host-disk"),
    "authorisation": (Mandate, ""),
}
"""The tracked records, each with the route of its page."""
NAMES: Final = ("identity", "name", "label", "tag")
"""The fields that name a record: the first that it has."""


@dataclass(frozen=True, slots=True)
class TrailRow:
    """One entry. Only one of the three last fields is set; `name` and `url` are those of the record
    that an edit is about, "" where it is gone; `is_gone` is that it was deleted by this edit."""

    at: datetime
    kind: str
    record: str = ""
    name: str = ""
    url: str = ""
    is_gone: bool = False
    operation: AuditedOperation | None = None
    edit: Edit | None = None
    security: SecurityEntry | None = None


@dataclass(frozen=True, slots=True)
class TrailFilter:
    """`who` is a part of an e-mail address, or the beginning of an IP address; `kind` one of
    `KINDS`, "" for all."""

    who: str = ""
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None


def trail(user: Person, asked: TrailFilter, number: str | None) -> Page[Any]:
    """A page whose objects are `TrailRow`s."""
    sources = list(_sources(user, asked))
    if not sources:
        return Paginator[TrailRow]([], PAGE_ROWS).get_page(1)
    entries = sources[0].union(*sources[1:], all=True) if len(sources) > 1 else sources[0]
    page = Paginator(entries.order_by("-moment", "-number"), PAGE_ROWS).get_page(number)
    page.object_list = _rows(list(page.object_list))
    return page


def _sources(user: Person, asked: TrailFilter) -> Iterator[QuerySet[Any, Any]]:
    if asked.kind in ("", "operation"):
        operations = AuditEntry.objects.all().visible_to(user).filter(phase=Phase.INTENT)
        about = operations.about(since=asked.since, until=asked.until)
        if asked.who:
            by = Q(actor__icontains=asked.who) | Q(address__startswith=asked.who)
            about = about.filter(by)
        yield keys_of(about, "operation", "at")
    if asked.kind in ("", "security"):
        entries = SecurityEntry.objects.visible_to(user)
        about_access = entries.about(who=asked.who, since=asked.since, until=asked.until)
        yield keys_of(about_access, "security", "at")
    if asked.kind in ("", "change") and is_staff(user):
        for name in RECORDS:
            yield keys_of(_edited(name, asked), name, "pgh_created_at", "pgh_id")


def _edited(name: str, asked: TrailFilter) -> QuerySet[Any]:
    """What people changed; what jobs and hosts' reports change by themselves is with the record."""
    events = _events(name).objects.filter(pgh_context__actor__gt="")
    if asked.who:
        by = Q(pgh_context__actor__icontains=asked.who)
        events = events.filter(by | Q(pgh_context__address__startswith=asked.who))
    if asked.since is not None:
        events = events.filter(pgh_created_at__gte=asked.since)
    if asked.until is not None:
        events = events.filter(pgh_created_at__lt=asked.until)
    rows: QuerySet[Any] = events.filter(Q(pgh_context__job__isnull=True) | Q(pgh_context__job=""))
    return rows


def _events(name: str) -> Any:
    return RECORDS[name][0].pgh_event_model


def _rows(keys: list[tuple[str, datetime, int]]) -> list[TrailRow]:
    numbers = defaultdict[str, list[int]](list)
    for source, _, number in keys:
        numbers[source].append(number)
    rows: dict[tuple[str, int], TrailRow] = {}
    intents = AuditEntry.objects.filter(pk__in=numbers["operation"])
    for operation in audited_operations(intents):
        at, pk = operation.intent.at, operation.intent.pk
        rows["operation", pk] = TrailRow(at, "operation", operation=operation)
    for entry in SecurityEntry.objects.filter(pk__in=numbers["security"]):
        rows["security", entry.pk] = TrailRow(entry.at, "security", security=entry)
    for name in RECORDS:
        rows |= {(name, number): row for number, row in _edits(name, numbers[name])}
    return [rows[source, number] for source, _, number in keys]


def _edits(name: str, numbers: list[int]) -> Iterator[tuple[int, TrailRow]]:
    """What each event changed is known from the next event of its record, or the record."""
    if not numbers:
        return
    model, route = RECORDS[name]
    events = {event.pgh_id: event for event in _events(name).objects.filter(pgh_id__in=numbers)}
    records = {event.pgh_obj_id for event in events.values()}
    following = _events(name).objects.filter(pgh_obj_id__in=records, pgh_id__gt=min(numbers))
    rows = model.objects.select_related("host") if name == "disk" else model.objects
    present: dict[int, Any] = rows.in_bulk(records)
    chains = defaultdict[int, list[Any]](list)
    for event in following.order_by("pgh_id"):
        chains[event.pgh_obj_id].append(event)
    customers = _customers(events.values()) if name == "authorisation" else {}
    for number, event in events.items():
        record = present.get(event.pgh_obj_id)
        later = next((each for each in chains[event.pgh_obj_id] if each.pgh_id > number), record)
        title, url = customers.get(number) or _named(event, record, route)
        edit = edit_of(event, later or event)
        is_gone = event.pgh_label == "delete"
        row = TrailRow(event.pgh_created_at, "change", name, title, url, is_gone, edit=edit)
        yield number, row


def _named(event: Any, record: Any, route: str) -> tuple[str, str]:
    """The name of a record and its page; a deleted record has no page."""
    title = next(
        (str(getattr(event, each, "") or "") for each in NAMES if hasattr(event, each)), ""
    )
    if record is None or not route:
        return title, ""
    host = [record.host.key] if route == "host-disk" else []
    return title, reverse(route, args=[*host, record.key])


def _customers(events: Iterable[Any]) -> dict[int, tuple[str, str]]:
    """Of each event's customer the name and the page; of one that was deleted the last name."""
    of = {event.pgh_id: event.customer_id for event in events}
    present = Customer.objects.in_bulk(of.values())
    last = _events("customer").objects.filter(pgh_obj_id__in=of.values()).order_by("pgh_id")
    gone = dict(last.values_list("pgh_obj_id", "name"))
    return {
        number: _named(present[pk], present[pk], "customer")
        if pk in present
        else (gone.get(pk, "a deleted customer"), "")
        for number, pk in of.items()
    }
