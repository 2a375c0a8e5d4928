"""Which message goes to whom, and when: from events that are to be told to rows that are sent."""

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
    """Write the messages of all events that have none yet: one for each route, whatever happened
    at this moment. Those of a route's quiet hours gather in one that waits for their end. `at` is
    the database's time for a test."""
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
    """Have what is due sent; the sweep does it too."""
    notify_workers.send(TASK)


def is_notified_of(
    route: AlertRoute, event: AlertEvent, notified_before: set[tuple[int, int]]
) -> bool:
    """Whether the route is told of the event. Who was told of an alert is told that it is over;
    that it flaps, all tiers are told which it has reached."""
    if event.kind == AlertEventKind.RESOLVED:
        return (route.pk, event.alert_id) in notified_before
    is_turn = event.tier == route.tier
    if event.kind == AlertEventKind.FLAPPING:
        is_turn = route.tier <= event.tier
    return is_turn and event.rank <= route.most_rank and is_about(route, event.alert.host)


@dataclass(frozen=True, slots=True)
class HostWithoutRecipient:
    """A host of which the first tier is not told all that is an error: `untold` is "anything", or
    "errors" where they are told of data at risk."""

    host: Host
    unnotified_of: Literal["anything", "errors"]


def hosts_without_recipient() -> tuple[HostWithoutRecipient, ...]:
    """Hosts in use whose errors nobody is told at once. Four queries at most, mostly one."""
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
    """The same where somebody is told of something: that nobody is told at all, is said once."""
    return hosts_without_recipient() if AlertRoute.objects.in_use().exists() else ()


def is_about(route: AlertRoute, host: Host | None) -> bool:
    """Whether the host is one of those that the route is about. None: what concerns all hosts
    concerns those."""
    if host is None:
        return True
    hosts = {each.pk for each in route.hosts.all()}
    if not (hosts or route.sites or route.tags):
        return True
    return host.pk in hosts or host.site in route.sites or bool({*host.tags} & {*route.tags})


def _notified_before(events: Sequence[AlertEvent]) -> set[tuple[int, int]]:
    """Route and alert, where the route was told of it before; also by one of these events."""
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
    # What waits for another message keeps nothing else waiting.
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
    """The alerts that a message to the route is about which was not taken yet."""
    unsent = AlertDelivery.objects.unsent().filter(route=route, events__isnull=False)
    return set(unsent.values_list("events__alert", flat=True))


def is_awake(route: AlertRoute, rank: int, at: datetime) -> bool:
    """Whether a message of that gravity is sent at once."""
    return quiet_until(route, at) is None or (rank == 0 and route.risk_pierces)


def quiet_until(route: AlertRoute, at: datetime) -> datetime | None:
    """The end of the quiet hours that the moment is in; None outside of them. They may span
    midnight."""
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
    """When the message was to be sent first; `rank` is the gravest of its events."""
    route, written = message.its_route, message.created_at
    end = quiet_until(route, written)
    is_held = message.purpose == AlertDelivery.Purpose.EVENTS
    return written if end is None or not is_held or is_awake(route, rank, written) else end


def write_digests(at: datetime | None = None) -> int:
    """The daily summaries whose hour has come on their route's clock, each once a day; also later
    that day, where nobody looked in that hour or the clock was put forward over it."""
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
    """Why a test would not arrive, "" where it may."""
    if not route.is_on:
        return "It is switched off."
    is_there = AlertRoute.objects.switched_on().filter(pk=route.pk).exists()
    return "" if is_there else "Its person is no member of the staff any more."


def write_test(route: AlertRoute) -> AlertDelivery:
    """A message that means nothing, sent at once whatever the hour, and also in a pause."""
    row = AlertDelivery.objects.create(route=route, purpose=AlertDelivery.Purpose.TEST)
    transaction.on_commit(announce_alerts, robust=True)
    return row


def prune_alert_messages(now: datetime) -> None:
    """Forget what was delivered or given up long ago; the events stay. Messages of an alert stay as
    long as it does: who was told of it is told that it is over."""
    ended = Q(delivered_at__lt=now - KEPT) | Q(given_up_at__lt=now - KEPT)
    lasting = AlertEvent.objects.filter(alert__in=Alert.objects.lasting_after(now - KEPT))
    AlertDelivery.objects.filter(ended).exclude(events__in=lasting).delete()
