"""Charts of a volume, a host or the fleet: the context of their page, and the series that they
fetch. The page's URL contains the time range (`panel.charts.time_range`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from jobs.models import Job, Kind, State
from jobs.models.job import JobQuerySet
from panel.charts import definitions as chart_definitions
from panel.charts.subject import ChartSubject, of_fleet, of_host, of_volume
from panel.charts.time_range import RANGES, Span, part, ranges, span_of
from panel.lists.listing import csv_file
from storage.access import is_staff, staff_view
from storage.metrics.samples.window import kept
from storage.metrics.series import Series
from storage.models import Host, HostChange, HostChangeKind, Placement, Volume

TABLE_ROWS: Final = 20
MOST_MARKS = 50
LENGTH: Final = timedelta(hours=1)
"""Of the time around the nearest figures, where the shown one has none."""


def chart_context(
    volume: Volume, request: HttpRequest, *, plain: bool | None = None
) -> dict[str, object]:
    """The context of `parts/_charts.html`, for a volume that the person may see. `plain`: in the
    words of customers; by itself, for everybody who is not staff."""
    return context_of(of_volume(volume, request.user, plain=plain), request)


def host_chart_context(host: Host, request: HttpRequest) -> dict[str, object]:
    """The same for all volumes of a host together, for staff."""
    return context_of(of_host(host), request)


def fleet_chart_context(request: HttpRequest) -> dict[str, object]:
    """The same for all hosts together, for staff."""
    return context_of(of_fleet(), request)


@dataclass(frozen=True, slots=True)
class Nearest:
    """The figures nearest to a time that has none: when they were taken, and the part of a URL
    that shows them. `is_before`: they are the last ones before that time."""

    at: datetime
    query: str
    is_before: bool

    def to_json(self) -> dict[str, object]:
        """As the script reads it."""
        return {"at": self.at.isoformat(), "query": self.query, "is_before": self.is_before}


def context_of(subject: ChartSubject, request: HttpRequest) -> dict[str, object]:
    """The context of `parts/_charts.html`."""
    now = timezone.now()
    span = _span(subject, request, now)
    measured = subject.measure(span)
    is_table_wanted = "table" in request.GET
    columns = (
        chart_definitions.columns(chart_definitions.known(subject.panels, measured))
        if is_table_wanted
        else []
    )
    return {
        "charts": {
            "ranges": [
                {
                    "key": key,
                    "label": gettext(RANGES[key][0]),
                    "query": _with(request.GET, range=key),
                    "is_shown": key == span.key and not span.is_part,
                }
                for key in ranges(subject.least_seconds)
            ],
            "span": span,
            "kept": [
                (name, value)
                for name, values in request.GET.lists()
                if name not in ("from", "to")
                for value in values
            ],
            "oldest": now - kept(),
            "plain": subject.plain,
            "series_url": subject.series_url,
            "marks_url": subject.marks_url,
            "csv_url": f"{subject.csv_url}?{span.query}",
            "panels": subject.panels,
            "columns": columns,
            "rows": chart_definitions.table(measured, columns, rows=TABLE_ROWS, now=now)
            if is_table_wanted
            else [],
            "table_query": urlencode({**request.GET.dict(), "table": "1"}),
            "step_seconds": measured.step_seconds,
            "summary": _summary(subject, measured, span),
            "texts": chart_definitions.script_texts(plain=subject.plain),
            "is_empty": measured.is_empty,
            "has_cache": measured.has_cache,
            "is_retired": subject.is_retired,
            "nearest": _nearest(subject, measured, span, request.GET),
            "now": now,
            "refresh_seconds": min(subject.seconds, 60),
            "sample_seconds": subject.seconds,
            "first_point_seconds": 2 * subject.seconds,
        }
    }


@require_safe
@cache_control(private=True, no_store=True)
def volume_series(request: HttpRequest, key: str) -> HttpResponse:
    """A volume's series for its charts, with the summary in words. It names no host; who is not
    staff gets no more than the lines of their charts."""
    return _series(_volume(request, key), request)


@require_safe
@cache_control(private=True, no_store=True)
def volume_csv(request: HttpRequest, key: str) -> HttpResponse:
    """The same figures as a table for spreadsheets."""
    return _csv(_volume(request, key), request)


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def host_series(request: HttpRequest, key: str) -> HttpResponse:
    """The series of all volumes of a host together."""
    return _series(of_host(_host(request, key)), request)


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def host_csv(request: HttpRequest, key: str) -> HttpResponse:
    """The same figures as a table for spreadsheets."""
    return _csv(of_host(_host(request, key)), request)


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def fleet_series(request: HttpRequest) -> HttpResponse:
    """The series of all hosts together."""
    return _series(of_fleet(), request)


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def fleet_csv(request: HttpRequest) -> HttpResponse:
    """The same figures as a table for spreadsheets."""
    return _csv(of_fleet(), request)


def _volume(request: HttpRequest, key: str) -> ChartSubject:
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    return of_volume(volume, request.user)


def _host(request: HttpRequest, key: str) -> Host:
    return get_object_or_404(Host.objects.visible_to(request.user).without_inventory(), key=key)


def _span(subject: ChartSubject, request: HttpRequest, now: datetime) -> Span:
    return span_of(
        request, now, known_since=subject.known_since, least_seconds=subject.least_seconds
    )


def _series(subject: ChartSubject, request: HttpRequest) -> HttpResponse:
    span = _span(subject, request, timezone.now())
    measured = subject.measure(span)
    faint = measured.faint_json()
    nearest = _nearest(subject, measured, span, request.GET)
    answer: dict[str, Any] = {
        **measured.to_json(subject.names),
        "faint": {name: values for name, values in faint.items() if name in subject.names},
        "summary": _summary(subject, measured, span),
        "has_cache": measured.has_cache,
        "nearest": nearest.to_json() if nearest is not None else None,
    }
    return JsonResponse(answer)


def _summary(subject: ChartSubject, measured: Series, span: Span) -> str:
    """In customers' words a part of the past is not named by its end in UTC: the axes have it in
    the browser's own time."""
    words = gettext("In this time") if subject.plain and span.is_part else span.words
    return chart_definitions.summary(measured, words, of_many=subject.of_many)


def _csv(subject: ChartSubject, request: HttpRequest) -> HttpResponse:
    """One row a bucket, with its end in UTC; an empty cell is not known."""
    span = _span(subject, request, timezone.now())
    measured = subject.measure(span)
    titles = [f"{name} ({measured.units[name]})" for name in subject.names]
    lines = (
        [measured.at(n), *(values[name] for name in subject.names)]
        for n, values in enumerate(measured.values)
    )
    file_name = f"{subject.name}-{span.start:%Y%m%dT%H%M}-{span.end:%Y%m%dT%H%M}.csv"
    return csv_file(file_name, ["until (UTC)", *titles], lines)


def _nearest(
    subject: ChartSubject, measured: Series, span: Span, query: QueryDict
) -> Nearest | None:
    """None where there are figures in the span, or nowhere."""
    at = subject.nearest(span.start, span.end) if measured.is_empty else None
    if at is None:
        return None
    is_before = at <= span.start
    ends = (at - LENGTH, at) if is_before else (at, at + LENGTH)
    around = part(span.key, *ends, subject.least_seconds)
    start, end = (f"{end:%Y-%m-%dT%H:%M:%SZ}" for end in (around.start, around.end))
    return Nearest(at, _with(query, **{"from": start, "to": end}), is_before)


def _with(query: QueryDict, **changed: str) -> str:
    """The page's parameters with others; a part that was zoomed into is left."""
    query = query.copy()
    for name in ("from", "to"):
        query.pop(name, None)
    for name, value in changed.items():
        query[name] = value
    return query.urlencode()


@require_safe
@cache_control(private=True, no_store=True)
def volume_marks(request: HttpRequest, key: str) -> HttpResponse:
    """The jobs that began in the shown range, as far as the person may see them, and for staff the
    restarts of its host: the newest `MOST_MARKS`, oldest first."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    subject = of_volume(volume, request.user)
    jobs = Job.objects.visible_to(request.user).filter(volume=volume)
    staff = is_staff(request.user)
    marks = [mark(job, staff=staff) for job in _begun(jobs, subject, request)]
    if staff:
        there = Placement.objects.filter(
            Q(until=None) | Q(until__gte=OuterRef("at")),
            volume=volume,
            host=OuterRef("host"),
            since__lte=OuterRef("at"),
        )
        marks += _restarts(HostChange.objects.filter(Exists(there)), subject, request)
    return JsonResponse({"marks": _newest(marks)})


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def host_marks(request: HttpRequest, key: str) -> HttpResponse:
    """The same of a host; each names its volume."""
    host = _host(request, key)
    jobs = Job.objects.visible_to(request.user).filter(host=host).select_related("volume")
    subject = of_host(host)
    marks = [
        mark(job, staff=True, of=str(job.volume or "")) for job in _begun(jobs, subject, request)
    ]
    marks += _restarts(HostChange.objects.filter(host=host), subject, request)
    return JsonResponse({"marks": _newest(marks)})


def _newest(marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`MOST_MARKS` in the order of time."""
    return sorted(marks, key=lambda each: datetime.fromisoformat(each["at"]))[-MOST_MARKS:]


def _restarts(
    changes: QuerySet[HostChange], subject: ChartSubject, request: HttpRequest
) -> list[dict[str, Any]]:
    """Restarts of hosts in the shown range, as marks without a length."""
    span = _span(subject, request, timezone.now())
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


def _begun(jobs: JobQuerySet, subject: ChartSubject, request: HttpRequest) -> list[Job]:
    span = _span(subject, request, timezone.now())
    newest = (
        jobs.filter(dry_run=False)
        .select_related("cache_plan")
        .annotate(began=Coalesce("started_at", "created_at"))
        .filter(began__gt=span.start, began__lte=span.end)
        .order_by("-began")[:MOST_MARKS]
    )
    return list(reversed(newest))


def mark(job: Job, *, staff: bool, of: str = "") -> dict[str, Any]:
    """`{key, at, until, label, state, outcome, url}`; customers get no key and URL, and label and
    outcome in their words. `until` is null while it runs."""
    plan = job.cache_plan
    words = gettext("No cache") if job.kind == Kind.REMOVE_CACHE else gettext("Your former cache")
    if plan is not None:
        words = gettext("Plan: {plan}").format(plan=plan.name)
    kind = f"{job.get_kind_display()}: {of}" if of else job.get_kind_display()
    return {
        "key": job.key if staff else "",
        "at": (job.started_at or job.created_at).isoformat(),
        "until": job.ended_at.isoformat() if job.ended_at is not None else None,
        "label": kind if staff else words,
        "state": job.state,
        "outcome": job.state.replace("_", " ") if staff else _outcome(job),
        "url": reverse("job", args=[job.key]) if staff else "",
    }


def _outcome(job: Job) -> str:
    """What became of a change, in a customer's words."""
    match job.state:
        case State.SUCCEEDED:
            return gettext("done")
        case State.FAILED | State.CANCELLED:
            return gettext("not changed")
        case State.NEEDS_ATTENTION:
            return gettext("support is checking")
    return gettext("running")
