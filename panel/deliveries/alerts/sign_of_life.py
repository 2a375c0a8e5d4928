"""A sign of life for a dead-man's switch: the panel calls an address every minute, but only while
everything that alerts need works. A dead panel cannot report itself."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Exists, Max, Min, OuterRef
from django.db.models.functions import Now

from jobs.models import AlertRound
from jobs.standstill import standstills_now
from panel.deliveries import http_post
from panel.deliveries.alerts.alert_delivery import NOT_IN_USE
from panel.deliveries.alerts.alert_routing import first_due
from panel.deliveries.delivery_queue import HELD
from panel.deliveries.http_post import Forbidden, NoResponse
from panel.models import AlertDelivery
from storage.database_clock import database_now
from storage.models import Host
from storage.models.host import silent_seconds

log = logging.getLogger(__name__)

TRY_SECONDS: Final = 10
ROUND_SECONDS: Final = 120
STUCK: Final = timedelta(minutes=15)
"""A message due for so long but never tried: no worker sends. One that was tried, and none accepted
since: nothing arrives."""

NEVER_SENT: Final = (NOT_IN_USE, HELD)
"""Why messages were given up without an attempt."""


def send_sign() -> bool:
    """Call the address; False where there is none, something does not work, or the call failed."""
    if not settings.TIERCEL_HEARTBEAT_URL:
        return False
    now = database_now()
    error = trouble(now)
    if not error:
        error = _call()
    changed = {"heartbeat_error": error[:300]}
    AlertRound.objects.filter(pk=True).update(
        **changed, **({} if error else {"heartbeat_at": Now()})
    )
    if error:
        log.warning("no sign of life was sent: %s", error)
    return not error


def _call() -> str:
    try:
        answer = http_post.post(
            settings.TIERCEL_HEARTBEAT_URL,
            b"",
            {"User-Agent": "Tiercel"},
            seconds=TRY_SECONDS,
            private_hosts=settings.TIERCEL_ALERT_PRIVATE_HOSTS,
            purpose=http_post.HEARTBEAT,
        )
    except (NoResponse, Forbidden) as error:
        return str(error)
    return "" if answer.is_success else f"The answer was {answer.status}."


def trouble(now: datetime) -> str:
    """What does not work, "" where everything does. This call itself shows that beat, a worker and
    the database work, but not that workers take jobs."""
    last = AlertRound.objects.values_list("at", flat=True).first()
    if last is None or now - last > timedelta(seconds=ROUND_SECONDS):
        return "Alerts are not judged."
    hosts = Host.objects.active()
    seen = hosts.aggregate(at=Max("last_seen_at"))["at"]
    if hosts.exists() and (seen is None or now - seen > timedelta(seconds=silent_seconds())):
        return "No host has answered for some minutes: the collector does not work."
    for standstill in standstills_now():
        if standstill.severity == "error":
            return standstill.message
    if AlertDelivery.objects.due().filter(attempts=0, next_at__lt=now - STUCK).exists():
        return "Alert messages are not being sent."
    return "No alert message is accepted any more." if _is_nothing_taken(now) else ""


def _is_nothing_taken(now: datetime) -> bool:
    """Whether every message has failed for so long: one failing address does not count while others
    are reached. A message that was given up counts until its address accepts another one."""
    tried = AlertDelivery.objects.filter(
        route__isnull=False, delivered_at=None, attempts__gt=0, created_at__lt=now - STUCK
    )
    later = AlertDelivery.objects.filter(
        route=OuterRef("route"), delivered_at__gt=OuterRef("given_up_at")
    )
    tried = tried.exclude(Exists(later)).exclude(last_error__in=NEVER_SENT)
    # The address of a test may be wrong.
    tried = tried.exclude(purpose=AlertDelivery.Purpose.TEST).select_related("route")
    begun: dict[int, datetime] = {}
    for each in tried.annotate(rank=Min("events__rank")):
        due = first_due(each, getattr(each, "rank", None) or 0)
        begun[each.its_route.pk] = min(due, begun.get(each.its_route.pk, due))
    stuck = [at for at in begun.values() if at < now - STUCK]
    # A delivery from before the last address began to fail proves nothing.
    return bool(stuck) and not AlertDelivery.objects.filter(delivered_at__gt=max(stuck)).exists()
