"""What happened in the time that charts show: jobs, restarts and alerts, as marks on the charts and
in the list below them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from jobs.models import Alert, Job, State
from jobs.models.job import JobQuerySet
from panel.charts.picture import picture_of
from panel.charts.subject import change_words, of_fleet, of_host, of_volume
from panel.charts.time_range import Span
from storage.access import is_staff, staff_view
from storage.models import Host, Placement, Volume
from storage.models.host_change import HostChange, HostChangeKind

MOST_MARKS: Final = 50


@require_safe
@cache_control(private=True, no_store=True)
def volume_marks(request: HttpRequest, key: str) -> HttpResponse:
    """The jobs that began in the shown range, as far as the person may see them, and for staff the
    restarts of its host and the alerts about it: the newest `MOST_MARKS`, oldest first."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    span = picture_of(of_volume(volume, request.user), request).span
    jobs = Job.objects.visible_to(request.user).filter(volume=volume)
    staff = is_staff(request.user)
    marks = [mark(job, staff=staff) for job in _begun(jobs, span)]
    if staff:
        there = Placement.objects.filter(
            Q(until=None) | Q(until__gte=OuterRef("at")),
            volume=volume,
            host=OuterRef("host"),
            since__lte=OuterRef("at"),
        )
        marks += _restarts(HostChange.objects.filter(Exists(there)), span)
        marks += _alerts(Alert.objects.visible_to(request.user).filter(volume=volume), span)
    return JsonResponse({"marks": _newest(marks)})


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def host_marks(request: HttpRequest, key: str) -> HttpResponse:
    """The same of a host; each names its volume."""
    hosts = Host.objects.visible_to(request.user).without_inventory()
    host = get_object_or_404(hosts, key=key)
    span = picture_of(of_host(host), request).span
    jobs = Job.objects.visible_to(request.user).filter(host=host).select_related("volume")
    marks = [mark(job, staff=True, of=str(job.volume or "")) for job in _begun(jobs, span)]
    marks += _restarts(HostChange.objects.filter(host=host), span)
    marks += _alerts(Alert.objects.visible_to(request.user).filter(host=host), span)
    return JsonResponse({"marks": _newest(marks)})


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def fleet_marks(request: HttpRequest) -> HttpResponse:
    """Restarts of all hosts, and their alerts; a fleet has too many jobs to show."""
    span = picture_of(of_fleet(), request).span
    marks = _restarts(HostChange.objects.all(), span)
    marks += _alerts(Alert.objects.visible_to(request.user), span)
    return JsonResponse({"marks": _newest(marks)})


def _newest(marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`MOST_MARKS` in the order of time."""
    return sorted(marks, key=lambda each: datetime.fromisoformat(each["at"]))[-MOST_MARKS:]


def _restarts(changes: QuerySet[HostChange], span: Span) -> list[dict[str, Any]]:
    """Restarts of hosts in the shown range, as marks without a length."""
    restarts = changes.filter(
        kind__in=(HostChangeKind.BOOT, HostChangeKind.KERNEL), at__gt=span.start, at__lte=span.end
    )
    return [
        _restart_mark(each) for each in restarts.select_related("host").order_by("-at")[:MOST_MARKS]
    ]


def _restart_mark(change: HostChange) -> dict[str, Any]:
    is_kernel = change.kind == HostChangeKind.KERNEL
    at = change.at.isoformat()
    return {
        "key": "",
        "at": at,
        "until": at,
        "label": f"{change.host}: {'new kernel' if is_kernel else 'restart'}",
        "state": "restart",
        "outcome": f"{change.before} → {change.after}" if is_kernel else "restarted",
        "url": reverse("host-history", args=[change.host.key]),
    }


def _alerts(alerts: QuerySet[Alert], span: Span) -> list[dict[str, Any]]:
    """Alerts that opened in the shown range; those that another one caused are left out."""
    opened = alerts.filter(cause=None, opened_at__gt=span.start, opened_at__lte=span.end)
    newest = opened.select_related("host").defer("host__facts").order_by("-opened_at")
    return [_alert_mark(each) for each in newest[:MOST_MARKS]]


def _alert_mark(alert: Alert) -> dict[str, Any]:
    of = f"{alert.host}: " if alert.host is not None else ""
    resolved_at = alert.resolved_at
    return {
        "key": alert.key,
        "at": alert.opened_at.isoformat() if alert.opened_at is not None else "",
        "until": resolved_at.isoformat() if resolved_at is not None else None,
        "label": f"Alert: {of}{alert.message.removesuffix('.')}",
        "state": "alert",
        "outcome": "resolved" if resolved_at is not None else "open",
        "url": reverse("alert", args=[alert.key]),
    }


def _begun(jobs: JobQuerySet, span: Span) -> list[Job]:
    """Jobs that began in the shown range and are no previews, newest first."""
    return list(
        jobs.filter(dry_run=False)
        .select_related("cache_plan")
        .annotate(began=Coalesce("started_at", "created_at"))
        .filter(began__gt=span.start, began__lte=span.end)
        .order_by("-began")[:MOST_MARKS]
    )


def mark(job: Job, *, staff: bool, of: str = "") -> dict[str, Any]:
    """`{key, at, until, label, state, outcome, url}`; customers get no key and URL, and label and
    outcome in their words. `until` is null while it runs."""
    kind = f"{job.get_kind_display()}: {of}" if of else job.get_kind_display()
    return {
        "key": job.key if staff else "",
        "at": (job.started_at or job.created_at).isoformat(),
        "until": job.ended_at.isoformat() if job.ended_at is not None else None,
        "label": kind if staff else change_words(job),
        "state": job.state,
        "outcome": job.state.replace("_", " ") if staff else _outcome(job),
        "url": reverse("job", args=[job.key]) if staff else "",
    }


def _outcome(job: Job) -> str:
    """The outcome of a change, in a customer's words."""
    match job.state:
        case State.SUCCEEDED:
            return gettext("done")
        case State.FAILED | State.CANCELLED:
            return gettext("not changed")
        case State.NEEDS_ATTENTION:
            return gettext("support is checking")
    return gettext("running")
