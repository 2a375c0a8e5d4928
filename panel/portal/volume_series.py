"""The series of a volume's charts, which the pages of its customer and of staff fetch."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from panel.charts.chart_context import csv_answer, series_answer
from panel.charts.subject import ChartSubject, of_volume
from storage.models import Volume


@require_safe
@cache_control(private=True, no_store=True)
def volume_series(request: HttpRequest, key: str) -> HttpResponse:
    """A volume's series for its charts, with the summary in words. It names no host; customers, and
    `plain` charts, get only the lines of their charts."""
    plain = True if "plain" in request.GET else None
    return series_answer(_volume(request, key, plain=plain), request)


@require_safe
@cache_control(private=True, no_store=True)
def volume_csv(request: HttpRequest, key: str) -> HttpResponse:
    """The same figures as a table for spreadsheets."""
    return csv_answer(_volume(request, key), request)


def _volume(request: HttpRequest, key: str, *, plain: bool | None = None) -> ChartSubject:
    volume = get_object_or_404(Volume.objects.visible_to(request.user), key=key)
    return of_volume(volume, request.user, plain=plain)
