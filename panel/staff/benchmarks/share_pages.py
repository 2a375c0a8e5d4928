"""Links to a benchmark, and the page that strangers see by them: figures alone, in English as all
pages of benchmarks."""

from __future__ import annotations

from typing import Final

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from panel.benchmarks.exports import csv_rows, exported_to_strangers
from panel.benchmarks.measured import MeasuredRun, measured_runs
from panel.benchmarks.share_links import (
    DAYS,
    MOST_DAYS,
    end_share,
    share_by_link,
    shared_benchmark,
    without_places,
)
from panel.lists.listing import csv_file
from panel.staff.benchmarks.benchmark_pages import benchmark_of, result_context, series_answer
from panel.staff.job_requests import show_refusal
from storage.access import Right, staff_view
from storage.models import Benchmark
from storage.planner import Refused
from storage.row_security import beyond

ROBOTS: Final = "noindex, nofollow"


class ShareForm(forms.Form):
    """For how long."""

    days = forms.IntegerField(min_value=1, max_value=MOST_DAYS, initial=DAYS)


@staff_view(Right.OPERATE)
@require_POST
def share_benchmark(request: HttpRequest, key: str) -> HttpResponse:
    """Create a link that expires."""
    row, form = benchmark_of(request, key), ShareForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"A link is valid for 1 to {MOST_DAYS} days.")
        return redirect("benchmark", key)
    try:
        share_by_link(row, form.cleaned_data["days"])
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, "The link was created. The Shared menu shows it.")
    return redirect("benchmark", key)


@staff_view(Right.OPERATE)
@require_POST
def unshare_benchmark(request: HttpRequest, key: str) -> HttpResponse:
    """End it now."""
    end_share(benchmark_of(request, key))
    messages.success(request, "The link has ended. Its address no longer works.")
    return redirect("benchmark", key)


@login_not_required
@never_cache
@require_safe
@beyond()
@translation.override("en")
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """The figures, for everyone with the link."""
    row = _shared(token)
    context = {
        "until": row.share_until,
        "csv_url": reverse("benchmark-shared-csv", args=[token]),
        "json_url": reverse("benchmark-shared-json", args=[token]),
        **result_context(request, _figures(row), reverse("benchmark-shared-series", args=[token])),
    }
    return _unlisted(render(request, "staff/benchmarks/shared.html", context))


@login_not_required
@never_cache
@require_safe
@beyond()
def shared_series(request: HttpRequest, token: str) -> HttpResponse:
    """Charts over time, of a part of it in finer steps."""
    return _unlisted(series_answer(request, _figures(_shared(token))))


@login_not_required
@never_cache
@require_safe
@beyond()
def shared_csv(request: HttpRequest, token: str) -> HttpResponse:
    """The figures of each run."""
    return _unlisted(csv_file("benchmark.csv", *csv_rows(_figures(_shared(token)))))


@login_not_required
@never_cache
@require_safe
@beyond()
def shared_json(request: HttpRequest, token: str) -> HttpResponse:
    """Everything from which the figures can be recomputed, without names."""
    answer = JsonResponse(exported_to_strangers(_shared(token)))
    answer.headers["Content-Disposition"] = 'attachment; filename="benchmark.json"'
    return _unlisted(answer)


def _shared(token: str) -> Benchmark:
    row = shared_benchmark(token)
    if row is None:
        raise Http404
    return row


def _figures(row: Benchmark) -> tuple[MeasuredRun, ...]:
    return without_places(measured_runs(row))


def _unlisted(answer: HttpResponse) -> HttpResponse:
    answer.headers["X-Robots-Tag"] = ROBOTS
    return answer
