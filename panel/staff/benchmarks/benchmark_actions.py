"""A person's actions on a benchmark: pause, resume, cancel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jobs.benchmarks import benchmark_order
from panel.staff.benchmarks.benchmark_pages import benchmark_of
from panel.staff.job_requests import requester_of, show_refusal
from storage.access import Right, staff_view
from storage.models import Benchmark
from storage.planner import Refused


@staff_view(Right.OPERATE)
@require_POST
def pause_runs(request: HttpRequest, key: str) -> HttpResponse:
    """Start no further run; with `now` the current one stops, too."""
    stops_run = "now" in request.POST
    sentence = "Paused. The run is being stopped." if stops_run else "Paused after the current run."
    act = partial(benchmark_order.pause, requester=requester_of(request), stops_run=stops_run)
    return _done(request, key, act, sentence)


@staff_view(Right.OPERATE)
@require_POST
def resume_runs(request: HttpRequest, key: str) -> HttpResponse:
    """Resume with the next run."""
    act = partial(benchmark_order.resume, requester=requester_of(request))
    return _done(request, key, act, "Resumed.")


@staff_view(Right.OPERATE)
@require_POST
def cancel_runs(request: HttpRequest, key: str) -> HttpResponse:
    """End it; what was measured stays."""
    act = partial(benchmark_order.cancel_benchmark, requester=requester_of(request))
    return _done(request, key, act, "Cancelled. What was measured is kept.")


def _done(
    request: HttpRequest, key: str, act: Callable[[Benchmark], None], sentence: str
) -> HttpResponse:
    row = benchmark_of(request, key)
    try:
        act(row)
    except Refused as refused:
        return show_refusal(request, refused)
    messages.success(request, sentence)
    return redirect("benchmark", key)
