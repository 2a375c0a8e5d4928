"""Alerts and routes for the tests of messages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from jobs.models import Alert, AlertEvent
from panel.accounts.authentication.second_factor import seal
from panel.deliveries.alerts import alert_routing
from panel.models import AlertDelivery, AlertRoute
from storage.models import Host
from tests import make
from tests.panel.deliveries.alerts.receivers import Place, Postbox

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def alert(host: Host | None = None, **fields: Any) -> Alert:
    """An open alert of data at risk."""
    now = timezone.now()
    number = Alert.objects.count() + 1
    defaults = {
        "fingerprint": f"{number:032x}", "family": "array", "code": "array_degraded",
        "severity": "error", "rank": 0, "worst_rank": 0, "subject": "md0",
        "message": "md0 (raid1) is missing 1 disk.", "correction": "Replace the disk.",
        "first_seen_at": now, "present_since": now, "opened_at": now, "notified_at": now,
    }  # fmt: skip
    return Alert.objects.create(host=host or make.host(), **{**defaults, **fields})


def event(of: Alert, kind: str = "opened", **fields: Any) -> AlertEvent:
    """An event of an alert, which notifies."""
    text = "" if kind == "resolved" else of.message
    defaults = {"is_notified": True, "rank": of.rank, "tier": of.tier, "text": text}
    return AlertEvent.objects.create(alert=of, kind=kind, **{**defaults, **fields})


def mail_route(email: str = "anna@example.org", **fields: Any) -> AlertRoute:
    person = make.staff_user(email)
    return AlertRoute.objects.create(**{"name": email, "kind": "email", "user": person, **fields})


def route_to(url: str, kind: str = "webhook", secret: str = SECRET, **fields: Any) -> AlertRoute:
    sealed = {"url": seal(url), "secret": seal(secret) if secret else ""}
    return AlertRoute.objects.create(**{"name": kind, "kind": kind, **sealed, **fields})


def arrived(postbox: Postbox, place: Place) -> list[tuple[AlertDelivery, AlertEvent]]:
    """Every message that came, known by its id, with each of its events; a copy comes again."""
    keys = [each["headers"]["webhook-id"].removeprefix("alert_") for each in place.got]
    # <alert-KEY@…>
    ids = [str(each["Message-ID"]).partition("@")[0] for each in postbox.got]
    keys += [each.removeprefix("<alert-") for each in ids]
    rows = AlertDelivery.objects.select_related("route").in_bulk(keys, field_name="key")
    return [
        (rows[key], event) for key in keys for event in rows[key].events.select_related("alert")
    ]


def routed(at: datetime | None = None) -> list[AlertDelivery]:
    """The messages that these events become."""
    last = AlertDelivery.objects.order_by("-id").values_list("id", flat=True).first() or 0
    alert_routing.route_events(at)
    return list(AlertDelivery.objects.filter(id__gt=last).order_by("id"))
