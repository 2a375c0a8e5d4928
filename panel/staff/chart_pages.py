"""The series of a host's and the fleet's charts, which their pages fetch."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from panel.charts.chart_context import csv_answer, series_answer
from panel.charts.subject import ChartSubject, of_fleet, of_host
from storage.access import staff_view
from storage.models import Host


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def host_series(request: HttpRequest, key: str) -> HttpResponse:
    """The series of all volumes of a host together."""
    return series_answer(_host(request, key), request)


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def host_csv(request: HttpRequest, key: str) -> HttpResponse:
    """The same figures as a table for spreadsheets."""
    return csv_answer(_host(request, key), request)


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def fleet_series(request: HttpRequest) -> HttpResponse:
    """The series of all hosts together."""
    return series_answer(of_fleet(), request)


@require_safe
@cache_control(private=True, no_store=True)
@staff_view()
def fleet_csv(request: HttpRequest) -> HttpResponse:
    """The same figures as a table for spreadsheets."""
    return csv_answer(of_fleet(), request)


def _host(request: HttpRequest, key: str) -> ChartSubject:
    hosts = Host.objects.visible_to(request.user).without_inventory()
    return of_host(get_object_or_404(hosts, key=key), request.GET.get("disk", ""))
