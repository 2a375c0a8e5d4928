"""Charts of a volume: the context of their page, and the series that they fetch. The page's URL
contains the time range (`panel.charts.time_range`)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from jobs.models import Job
from panel.charts import definitions as chart_definitions
from panel.charts.time_range import POINTS, RANGES, Span, span_of
from storage.access import is_staff
from storage.metrics.series import UNITS, Series, series
from storage.models import LatestSample, Volume
from storage.volumes.ownership import theirs_since

TABLE_ROWS: Final = 20
MOST_MARKS = 50


def chart_context(
    volume: Volume, request: HttpRequest, *, plain: bool | None = None
) -> dict[str, object]:
    """The context of `parts/_charts.html`, for a volume that the person may see. `plain`: in the
    words of customers; by itself, for everybody who is not staff."""
    if plain is None:
        plain = not is_staff(request.user)
    now = timezone.now()
    span = span_of(request, now, volume)
    since = theirs_since(volume) if plain else None
    measured = series(volume, span.start, span.end, POINTS, since=since)
    panels = chart_definitions.panels(plain=plain)
    columns = chart_definitions.columns(panels, has_cache=measured.has_cache)
    return {
        "charts": {
            "ranges": [
                {
                    "key": key,
                    "label": label,
                    "query": _with_range(request, key),
                    "is_shown": key == span.key and not span.is_part,
                }
                for key, (label, _length) in RANGES.items()
            ],
            "span": span,
            "plain": plain,
            "series_url": reverse("volume-series", args=[volume.key]),
            "marks_url": reverse("volume-marks", args=[volume.key]),
            "csv_url": f"{reverse('volume-csv', args=[volume.key])}?{span.query}",
            "panels": panels,
            "columns": columns,
            "rows": chart_definitions.table(measured, columns, rows=TABLE_ROWS, now=now),
            "step_seconds": measured.step_seconds,
            "summary": chart_definitions.summary(measured, span.words),
            "is_empty": measured.is_empty,
            "has_cache": measured.has_cache,
            "was_sampled": _was_sampled(volume, span.start),
            "now": now,
            "sample_seconds": settings.TIERCEL_SAMPLE_SECONDS,
            "first_point_seconds": 2 * settings.TIERCEL_SAMPLE_SECONDS,
        }
    }


@require_safe
@cache_control(private=True, no_store=True)
def volume_series(request: HttpRequest, key: str) -> HttpResponse:
    """A volume's series for its charts, with the summary in words. It names no host; who is not
    staff gets no more than the lines of their charts."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    span = span_of(request, timezone.now(), volume)
    measured, names = _shown(request, volume, span)
    answer: dict[str, Any] = {
        **measured.to_json(names),
        "faint": {name: values for name, values in measured.faint_json().items() if name in names},
        "summary": chart_definitions.summary(measured, span.words),
        "has_cache": measured.has_cache,
    }
    return JsonResponse(answer)


@require_safe
@cache_control(private=True, no_store=True)
def volume_csv(request: HttpRequest, key: str) -> HttpResponse:
    """The same figures as a table for spreadsheets: one row a bucket, with its end in UTC; an empty
    cell is not known."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    span = span_of(request, timezone.now(), volume)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    name = f"volume-{volume.key}-{span.start:%Y%m%dT%H%M}-{span.end:%Y%m%dT%H%M}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    _write(response, *_shown(request, volume, span))
    return response


def _shown(request: HttpRequest, volume: Volume, span: Span) -> tuple[Series, Sequence[str]]:
    """The figures that the person may see of the volume, and their names."""
    if is_staff(request.user):
        return series(volume, span.start, span.end, POINTS), tuple(UNITS)
    measured = series(volume, span.start, span.end, POINTS, since=theirs_since(volume))
    return measured, chart_definitions.names(plain=True)


def _write(response: HttpResponse, measured: Series, names: Sequence[str]) -> None:
    rows = csv.writer(response)
    rows.writerow(["until (UTC)", *(f"{name} ({UNITS[name]})" for name in names)])
    for n, values in enumerate(measured.values):
        cells = ["" if values[name] is None else values[name] for name in names]
        rows.writerow([f"{measured.at(n):%Y-%m-%dT%H:%M:%SZ}", *cells])


def _with_range(request: HttpRequest, key: str) -> str:
    """The page's parameters with another range; a part that was zoomed into is left."""
    query = request.GET.copy()
    for name in ("from", "to"):
        query.pop(name, None)
    query["range"] = key
    return query.urlencode()


def _was_sampled(volume: Volume, start: datetime) -> bool:
    """Whether the last sample is older than what is shown: no first point is on its way then."""
    return LatestSample.objects.filter(volume=volume, at__lte=start).exists()


@require_safe
@cache_control(private=True, no_store=True)
def volume_marks(request: HttpRequest, key: str) -> HttpResponse:
    """The jobs that began in the shown range, as far as the person may see them: the newest
    `MOST`, oldest first."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    span = span_of(request, timezone.now(), volume)
    jobs = (
        Job.objects.visible_to(request.user)
        .filter(volume=volume, dry_run=False)
        .select_related("cache_plan")
        .annotate(began=Coalesce("started_at", "created_at"))
        .filter(began__gt=span.start, began__lte=span.end)
        .order_by("-began")[:MOST_MARKS]
    )
    staff = is_staff(request.user)
    return JsonResponse({"marks": [mark(job, staff=staff) for job in reversed(jobs)]})


def mark(job: Job, *, staff: bool) -> dict[str, Any]:
    """`{key, at, until, label, state, url}`; customers get no key and URL, and a label in their
    words. `until` is null while it runs."""
    plan = job.cache_plan
    words = f"Plan: {plan.name}" if plan is not None else "Plan: no cache"
    return {
        "key": job.key if staff else "",
        "at": (job.started_at or job.created_at).isoformat(),
        "until": job.ended_at.isoformat() if job.ended_at is not None else None,
        "label": job.get_kind_display() if staff else words,
        "state": job.state,
        "url": reverse("job", args=[job.key]) if staff else "",
    }
