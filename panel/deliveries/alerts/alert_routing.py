"""Which message goes to which recipient, and when: from events to rows that are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from django.db import transaction
from django.db.models import Q

from jobs import notify_workers
from jobs.failpoints import durable
from jobs.models import Alert, AlertEvent, AlertEventKind
from panel.models import AlertDelivery, AlertRoute
from storage.database_clock import database_now
from storage.models import Host

TASK: Final = "panel.tasks.send_alerts"
KEPT: Final = timedelta(days=90)
AT_ONCE: Final = 500


@durable("route")
def route_events(at: datetime | None = None) -> int:
    """Write the messages of all events that have none yet: one for each route, however many events
    there are. During a route's quiet hours they gather in one message that waits for their end.
    `at` replaces the database's time in tests."""
    now = at or database_now()
    events = list(
        AlertEvent.objects.unrouted()
        .select_for_update(skip_locked=True, of=("self",))
        .select_related("alert__host")
        .defer("alert__host__facts")[:AT_ONCE]
    )
    if not events:
        return 0
    notified_before = _notified_before(events)
    for route in AlertRoute.objects.in_use().prefetch_related("hosts"):
        relevant = [each for each in events if is_notified_of(route, each, notified_before)]
        _write(route, relevant, now)
    AlertEvent.objects.filter(pk__in=[each.pk for each in events]).update(routed_at=now)
    transaction.on_commit(announce_alerts, robust=True)
    return len(events)


def announce_alerts() -> None:
    """Have due messages sent; the sweep does so, too."""
    notify_workers.send(TASK)


def is_notified_of(
    route: AlertRoute, event: AlertEvent, notified_before: set[tuple[int, int]]
) -> bool:
    """Whether the route receives the event. The end of an alert goes to those who were notified of
    it; that it flaps, to all tiers that it has reached."""
    if event.kind == AlertEventKind.RESOLVED:
        return (route.pk, event.alert_id) in notified_before
    is_turn = event.tier == route.tier
    if event.kind == AlertEventKind.FLAPPING:
        is_turn = route.tier <= event.tier
    return is_turn and event.rank <= route.most_rank and is_about(route, event.alert.host)


@dataclass(frozen=True, slots=True)
class HostWithoutRecipient:
    """A host whose errors do not all reach tier 1: `unnotified_of` is "anything", or "errors" where
    data at risk does."""

    host: Host
    unnotified_of: Literal["anything", "errors"]


def hosts_without_recipient() -> tuple[HostWithoutRecipient, ...]:
    """Hosts in use whose errors have no recipient in tier 1. At most four queries, mostly one."""
    first = AlertRoute.objects.in_use().filter(tier=1, most_rank__gte=0)
    if first.filter(most_rank__gte=1, sites=[], tags=[], hosts=None).exists():
        return ()
    routes = list(first.prefetch_related("hosts"))
    gaps = []
    for host in Host.objects.active().only("key", "name", "site", "tags").order_by("name_order"):
        ranks = [route.most_rank for route in routes if is_about(route, host)]
        if max(ranks, default=-1) < 1:
            gaps.append(HostWithoutRecipient(host, "errors" if ranks else "anything"))
    return tuple(gaps)


def hosts_without_other_recipient() -> tuple[HostWithoutRecipient, ...]:
    """The same, but none where there are no recipients at all: the panel reports that once."""
    return hosts_without_recipient() if AlertRoute.objects.in_use().exists() else ()


def is_about(route: AlertRoute, host: Host | None) -> bool:
    """Whether the host is in the route's scope. None, for all hosts, is in every scope."""
    if host is None:
        return True
    hosts = {each.pk for each in route.hosts.all()}
    if not (hosts or route.sites or route.tags):
        return True
    return host.pk in hosts or host.site in route.sites or bool({*host.tags} & {*route.tags})


def _notified_before(events: Sequence[AlertEvent]) -> set[tuple[int, int]]:
    """Pairs of route and alert: the route was notified before, or is by one of these events."""
    over = [each.alert_id for each in events if each.kind == AlertEventKind.RESOLVED]
    sent = AlertDelivery.events.through.objects.filter(
        alertevent__alert__in=over, alertdelivery__route__isnull=False
    )
    pairs = sent.values_list("alertdelivery__route", "alertevent__alert").distinct()
    before = {(int(route), int(alert)) for route, alert in pairs}
    begun = [each for each in events if each.kind != AlertEventKind.RESOLVED]
    for route in AlertRoute.objects.in_use().prefetch_related("hosts"):
        before |= {
            (route.pk, each.alert_id) for each in begun if is_notified_of(route, each, set())
        }
    return before


def _write(route: AlertRoute, events: Sequence[AlertEvent], now: datetime) -> None:
    end = quiet_until(route, now)
    held = [] if end is None else [each for each in events if not is_awake(route, each.rank, now)]
    waited_for = _on_their_way(route)
    ends = [
        each
        for each in events
        if each not in held and each.kind == AlertEventKind.RESOLVED and each.alert_id in waited_for
    ]
    at_once = [each for each in events if each not in held and each not in ends]
    # A message that waits for another one must not delay the rest.
    for together in filter(None, (at_once, ends)):
        AlertDelivery.objects.create(route=route).events.set(together)
    if held and end is not None:
        waiting = AlertDelivery.objects.unsent().filter(
            route=route, purpose=AlertDelivery.Purpose.EVENTS, attempts=0, next_at__gt=now
        )
        message = waiting.select_for_update().first()
        if message is None:
            message = AlertDelivery.objects.create(route=route, next_at=end)
        message.events.add(*held)


def _on_their_way(route: AlertRoute) -> set[int]:
    """The alerts of unsent messages to the route."""
    unsent = AlertDelivery.objects.unsent().filter(route=route, events__isnull=False)
    return set(unsent.values_list("events__alert", flat=True))


def is_awake(route: AlertRoute, rank: int, at: datetime) -> bool:
    """Whether a message of that rank is sent at once."""
    return quiet_until(route, at) is None or (rank == 0 and route.risk_pierces)


def quiet_until(route: AlertRoute, at: datetime) -> datetime | None:
    """The end of the quiet hours at that moment; None outside of them. They may span midnight."""
    start, end = route.quiet_start, route.quiet_end
    if start is None or end is None or start == end:
        return None
    local = route.local(at)
    clock = local.time()
    is_quiet = start <= clock < end if start < end else clock >= start or clock < end
    if not is_quiet:
        return None
    day = local.date() if clock < end else local.date() + timedelta(days=1)
    return datetime.combine(day, end, local.tzinfo)


def first_due(message: AlertDelivery, rank: int) -> datetime:
    """When the message was first due; `rank` is the gravest of its events."""
    route, written = message.its_route, message.created_at
    end = quiet_until(route, written)
    is_held = message.purpose == AlertDelivery.Purpose.EVENTS
    return written if end is None or not is_held or is_awake(route, rank, written) else end


def write_digests(at: datetime | None = None) -> int:
    """Write the daily summaries that are due on their route's clock, each once a day; also later
    that day, where no worker ran in that hour or daylight saving skipped it."""
    now, written = at or database_now(), 0
    for route in AlertRoute.objects.in_use().filter(digest_hour__isnull=False):
        local = route.local(now)
        if route.digest_hour is None or local.hour < route.digest_hour:
            continue
        _, is_new = AlertDelivery.objects.get_or_create(
            route=route, day=local.date(), defaults={"purpose": AlertDelivery.Purpose.DIGEST}
        )
        written += is_new
    return written


def why_no_test(route: AlertRoute) -> str:
    """Why a test would not arrive; "" where it can."""
    if not route.is_on:
        return "It is switched off."
    is_there = AlertRoute.objects.switched_on().filter(pk=route.pk).exists()
    return "" if is_there else "This person is no longer on the staff."


def write_test(route: AlertRoute) -> AlertDelivery:
    """A test message, sent at once at any hour, also during a pause."""
    row = AlertDelivery.objects.create(route=route, purpose=AlertDelivery.Purpose.TEST)
    transaction.on_commit(announce_alerts, robust=True)
    return row


def prune_alert_messages(now: datetime) -> None:
    """Delete messages that were delivered or given up long ago; the events stay. Messages of an
    unresolved alert stay: their recipients must be notified of its end."""
    ended = Q(delivered_at__lt=now - KEPT) | Q(given_up_at__lt=now - KEPT)
    lasting = AlertEvent.objects.filter(alert__in=Alert.objects.lasting_after(now - KEPT))
    AlertDelivery.objects.filter(ended).exclude(events__in=lasting).delete()
