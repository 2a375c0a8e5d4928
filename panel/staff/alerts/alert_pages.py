"""One alert: its problem, effects and events; acknowledging and silencing it."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from django.contrib import messages
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.alerts import alert_actions
from jobs.models import Alert, AlertEvent, AlertEventKind, Silence
from jobs.problems import named_volumes
from panel.deliveries.alerts.alert_routing import KEPT
from panel.deliveries.alerts.alert_texts import (
    SEVERITY_CHIPS,
    consequence_of,
    event_text,
    event_words,
    name_of,
    state_of_alert,
    who_did,
)
from panel.deliveries.alerts.why_slow import why_slow_path
from panel.models import AlertDelivery
from panel.staff.alerts.alert_forms import HOURS, AcknowledgeForm, SilenceForm
from panel.staff.dashboard.attention import Remedy, of_alert
from panel.staff.hosts.problem_rows import own_text
from panel.staff.job_requests import actor_of
from storage.access import Right, staff_view
from storage.database_clock import database_now
from storage.models import Host, Volume
from storage.templatetags.units import stamp

SHOWN_EFFECTS: Final = 50
SHOWN_EVENTS: Final = 200
SHOWN_SILENCES: Final = 100


@staff_view()
@require_safe
def alert(request: HttpRequest, key: str) -> HttpResponse:
    """The alert with its history."""
    return _shown(request, _alert_of(request, key), AcknowledgeForm())


def _alert_of(request: HttpRequest, key: str) -> Alert:
    return get_object_or_404(Alert.objects.visible_to(request.user).with_names(), key=key)


def _shown(
    request: HttpRequest, alert: Alert, form: AcknowledgeForm, status: int = 200
) -> HttpResponse:
    effects = alert.effects.filter(opened_at__isnull=False).select_related("volume", "host", "job")
    deliveries = AlertDelivery.objects.visible_to_staff(request.user)
    rows = alert.events.prefetch_related(Prefetch("deliveries", deliveries))
    events = list(rows.select_related("actor")[:SHOWN_EVENTS])
    named = named_volumes([alert.volume.key] if alert.volume is not None else [])
    blocking = next((each.blocking for each in named.values()), None)
    _, remedy = of_alert(alert, blocking)
    earlier = Alert.objects.visible_to(request.user).filter(fingerprint=alert.fingerprint)
    context = {
        "alert": alert,
        "name": name_of(alert.title_code),
        "severity": SEVERITY_CHIPS[alert.rank],
        "state": state_of_alert(alert),
        "consequence": consequence_of(alert.code) if alert.resolved_at is None else "",
        "remedy": remedy if alert.resolved_at is None else _why_slow_then(alert),
        "effects": [(each, own_text(of_alert(each)[0])) for each in effects[:SHOWN_EFFECTS]],
        "more_effects": max(0, effects.count() - SHOWN_EFFECTS),
        "events": [
            (each, event_words(each), event_text(each), who_did(each), _notified(each))
            for each in events
        ],
        "last_messages": _last_messages(events),
        "earlier": earlier.exclude(pk=alert.pk)[:5],
        "form": form,
        "hours": HOURS,
        "cause_name": name_of(alert.cause.title_code) if alert.cause is not None else "",
    }
    return render(request, "staff/alerts/alert.html", context, status=status)


def _why_slow_then(alert: Alert) -> Remedy | None:
    """The card as it was when the alert ended; None where the alert was not about speed."""
    volume, host = alert.volume, alert.host
    over = alert.absent_since or alert.resolved_at
    keys = volume.key if volume is not None else "", host.key if host is not None else ""
    path = why_slow_path(alert.code, *keys, alert.subject, over)
    return Remedy(path, "Why was it slow?") if path else None


def _notified(event: AlertEvent) -> str:
    """How far an event's messages are; "" where it notifies no one, or its messages have been
    deleted by age. The end of an alert notifies only those who were notified before."""
    if event.deliveries.all():
        return "messages"
    if not event.is_notified or event.kind == AlertEventKind.RESOLVED:
        return ""
    if event.routed_at is None:
        return "soon"
    return "no recipient" if event.at > database_now() - KEPT else ""


def _last_messages(events: Sequence[AlertEvent]) -> tuple[AlertDelivery, ...]:
    """The latest message to each recipient; `events` are the latest first."""
    latest: dict[str, AlertDelivery] = {}
    for event in events:
        for message in event.deliveries.all():
            latest.setdefault(message.to, message)
    return tuple(latest.values())


@staff_view(Right.OPERATE)
@require_POST
def acknowledge_alert(request: HttpRequest, key: str) -> HttpResponse:
    """Take responsibility for an alert; no further messages are sent."""
    alert = _alert_of(request, key)
    form = AcknowledgeForm(request.POST)
    if not form.is_valid():
        return _shown(request, alert, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    if alert_actions.acknowledge(alert, actor_of(request), form.cleaned_data["reason"], form.until):
        messages.success(request, "Acknowledged. No further messages unless it gets worse.")
    else:
        messages.warning(request, "The alert is already resolved.")
    return redirect("alert", alert.key)


@staff_view(Right.OPERATE)
@require_POST
def unacknowledge_alert(request: HttpRequest, key: str) -> HttpResponse:
    """Remove the acknowledgement: the alert escalates to the next tier again."""
    alert = _alert_of(request, key)
    if alert_actions.unacknowledge(alert, actor_of(request)):
        messages.success(request, "The acknowledgement was removed.")
    return redirect("alert", alert.key)


@staff_view()
@require_safe
def silences(request: HttpRequest) -> HttpResponse:
    """Active and past silences."""
    every = Silence.objects.visible_to(request.user).select_related(
        "host", "volume", "author", "ended_by"
    )
    active = list(every.active())
    over = every.exclude(pk__in=[each.pk for each in active])
    context = {
        "active": [(each, name_of(each.code) if each.code else "") for each in active],
        "over": [(each, name_of(each.code) if each.code else "") for each in over[:SHOWN_SILENCES]],
    }
    return render(request, "staff/alerts/silences.html", context)


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def new_silence(request: HttpRequest) -> HttpResponse:
    """Silence a host, a volume, a kind, or a combination; an address such as
    `?host=KEY&code=drift` fills in the form."""
    user = request.user
    scope: dict[str, Any] = {
        "hosts": Host.objects.visible_to(user).without_inventory(),
        "volumes": Volume.objects.visible_to(user),
    }
    if request.method != "POST":
        given = {name: request.GET.get(name, "") for name in ("host", "volume", "code")}
        form = SilenceForm(initial={**given, "hours": "4"}, **scope)
        return render(request, "staff/alerts/silence.html", {"form": form})
    form = SilenceForm(request.POST, **scope)
    if not form.is_valid():
        code = HTTPStatus.UNPROCESSABLE_ENTITY
        return render(request, "staff/alerts/silence.html", {"form": form}, status=code)
    asked = form.cleaned_data
    made = alert_actions.silence(
        host=asked["host"],
        volume=asked["volume"],
        code=asked["code"],
        reason=asked["reason"],
        until=form.until,
        author=actor_of(request),
    )
    messages.success(request, f"Silenced until {stamp(made.until)}.")
    return redirect("silences")


@staff_view(Right.OPERATE)
@require_POST
def end_silence(request: HttpRequest, key: str) -> HttpResponse:
    """End a silence; problems that began meanwhile notify, too."""
    quiet = get_object_or_404(Silence.objects.visible_to(request.user), key=key)
    if alert_actions.end_silence(quiet, actor_of(request)):
        messages.success(request, "The silence has ended. Alerts that are still open notify now.")
    return redirect(reverse("silences"))
