"""Charts of a volume: what a page needs to show them, and the figures they fetch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from storage import charts
from storage.access import is_staff
from storage.models import LatestSample, Volume
from storage.series import series, step_seconds

RANGES: Final = {
    "15m": ("15 min", timedelta(minutes=15)),
    "1h": ("1 h", timedelta(hours=1)),
    "6h": ("6 h", timedelta(hours=6)),
    "24h": ("24 h", timedelta(days=1)),
}
DEFAULT_RANGE: Final = "1h"
POINTS: Final = 600
TABLE_ROWS: Final = 20


@dataclass(frozen=True, slots=True)
class Span:
    """The time that a request's `range` names. It ends with the bucket that still lasts, so that a
    bucket keeps its borders from one request to the next."""

    key: str
    label: str
    start: datetime
    end: datetime


def span_of(request: HttpRequest, now: datetime, volume: Volume) -> Span:
    """The time to show. Where the request names none that is known: an hour, or 15 minutes of a
    volume that is known for less than an hour."""
    asked = request.GET.get("range", "")
    is_new = now - volume.created_at < RANGES[DEFAULT_RANGE][1]
    key = asked if asked in RANGES else "15m" if is_new else DEFAULT_RANGE
    label, length = RANGES[key]
    step = step_seconds(now - length, now, POINTS)
    end = datetime.fromtimestamp(ceil(now.timestamp() / step) * step, tz=now.tzinfo)
    return Span(key, label, end - length, end)


def chart_context(
    volume: Volume, request: HttpRequest, *, plain: bool | None = None
) -> dict[str, object]:
    """The context of `storage/_charts.html`, for a volume that the person may see. `plain`: in the
    words of customers; by itself, for everybody who is not staff."""
    if plain is None:
        plain = not is_staff(request.user)
    now = timezone.now()
    span = span_of(request, now, volume)
    found = series(volume, span.start, span.end, POINTS)
    shown = charts.panels(plain=plain)
    columns = charts.columns(shown, has_cache=found.has_cache)
    query = f"?range={span.key}"
    return {
        "charts": {
            "ranges": [
                {"key": key, "label": label, "is_shown": key == span.key}
                for key, (label, _length) in RANGES.items()
            ],
            "span": span,
            "plain": plain,
            "series_url": reverse("volume-series", args=[volume.key]) + query,
            "marks_url": reverse("volume-marks", args=[volume.key]) + query,
            "panels": shown,
            "columns": columns,
            "rows": charts.table(found, columns, rows=TABLE_ROWS, now=now),
            "step_seconds": found.step_seconds,
            "summary": charts.summary(found, span.label),
            "is_empty": found.is_empty,
            "has_cache": found.has_cache,
            "was_sampled": _was_sampled(volume, span.start),
            "now": now,
            "sample_seconds": settings.TIERCEL_SAMPLE_SECONDS,
            "first_point_seconds": 2 * settings.TIERCEL_SAMPLE_SECONDS,
        }
    }


@require_safe
@cache_control(private=True, no_store=True)
def volume_series(request: HttpRequest, key: str) -> HttpResponse:
    """A volume's series for its charts, with the summary in words. It names no host."""
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    span = span_of(request, timezone.now(), volume)
    found = series(volume, span.start, span.end, POINTS)
    answer: dict[str, Any] = {
        **found.to_json(),
        "summary": charts.summary(found, span.label),
        "has_cache": found.has_cache,
    }
    return JsonResponse(answer)


def _was_sampled(volume: Volume, start: datetime) -> bool:
    """Whether the last sample is older than what is shown: no first point is on its way then."""
    return LatestSample.objects.filter(volume=volume, at__lte=start).exists()
