"""The page of one benchmark: how far it has come, who won, its charts, its runs; and its files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from panel.benchmarks.exports import csv_rows, exported
from panel.benchmarks.measured import MeasuredRun, measured_runs, source_of
from panel.benchmarks.published_reference import KEY, published_reference, published_source
from panel.benchmarks.share_links import address_of, is_shared
from panel.benchmarks.shown_results import ShownResult, charts_json, drawn_of, results_of
from panel.benchmarks.zoomed_series import zoomed_charts
from panel.lists.listing import csv_file
from panel.staff.benchmarks.benchmark_list import chip_of
from panel.staff.benchmarks.progress_texts import shown_progress
from storage.access import staff_view
from storage.benchmarks.matrix import BadSpec, label_of
from storage.database_clock import database_now
from storage.models import Benchmark, BenchmarkRun, RunState

POLL_SECONDS: Final = 5
RUN_TONES: Final = {
    RunState.WANTED: ("quiet", "wait"),
    RunState.RUNNING: ("busy", "run"),
    RunState.DONE: ("ok", "ok"),
    RunState.FAILED: ("error", "error"),
    RunState.VOID: ("warning", "cut"),
    RunState.CANCELLED: ("quiet", "cut"),
}


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as the list of runs shows it."""

    run: BenchmarkRun
    key: str
    words: str
    chip: tuple[str, str, str]
    iops: float | None


def benchmark_of(request: HttpRequest, key: str) -> Benchmark:
    """The one of that key; 404 where the person sees none."""
    rows = Benchmark.objects.visible_to(request.user).select_related("host", "actor")
    return get_object_or_404(rows, key=key)


@staff_view()
@require_safe
def benchmark(request: HttpRequest, key: str) -> HttpResponse:
    """All of it; "published" is the published comparison."""
    if key == KEY:
        return _published(request)
    row = benchmark_of(request, key)
    rows = list(row.runs.all())
    measured = measured_runs(row, rows)
    now = database_now()
    progress = shown_progress(row, rows, now)
    context = {
        "benchmark": row,
        "source": source_of(row),
        "chip": chip_of(row),
        "runs": [_row(row, each) for each in rows],
        "progress": progress,
        "poll_seconds": None if row.is_over else POLL_SECONDS,
        "share_address": address_of(row) if is_shared(row, now) else "",
        **result_context(request, measured, reverse("benchmark-series", args=[key])),
    }
    return render(request, "staff/benchmarks/benchmark.html", context)


def _published(request: HttpRequest) -> HttpResponse:
    runs, source = published_reference(), published_source()
    context = {
        "source": source,
        **result_context(request, runs, reverse("benchmark-series", args=[KEY])),
    }
    return render(request, "staff/benchmarks/benchmark.html", context)


@staff_view()
@require_safe
def benchmark_now(request: HttpRequest, key: str) -> HttpResponse:
    """The progress of a benchmark. When it ends, or another run has a result, the page reloads."""
    row = benchmark_of(request, key)
    rows = list(row.runs.all())
    progress = shown_progress(row, rows, database_now())
    shown = request.GET.get("done", "")
    if row.is_over or (shown.isdigit() and int(shown) != progress.done):
        return HttpResponse(headers={"HX-Refresh": "true"})
    context = {
        "benchmark": row,
        "chip": chip_of(row),
        "progress": progress,
        "poll_seconds": POLL_SECONDS,
    }
    return render(request, "staff/benchmarks/_progress.html", context)


@staff_view()
@require_safe
def benchmark_series(request: HttpRequest, key: str) -> HttpResponse:
    """Charts over time, of a part of it in finer steps."""
    runs = runs_of_page(request, key)
    return series_answer(request, runs)


@staff_view()
@require_safe
def benchmark_csv(request: HttpRequest, key: str) -> HttpResponse:
    """The figures of each run, one a line."""
    titles, lines = csv_rows(runs_of_page(request, key))
    return csv_file(f"benchmark-{key}.csv", titles, lines)


@staff_view()
@require_safe
def benchmark_json(request: HttpRequest, key: str) -> HttpResponse:
    """Everything, with the raw files: what `tiercel benchmark verify` recomputes."""
    answer = JsonResponse(exported(benchmark_of(request, key)))
    answer.headers["Content-Disposition"] = f'attachment; filename="benchmark-{key}.json"'
    return answer


def runs_of_page(request: HttpRequest, key: str) -> tuple[MeasuredRun, ...]:
    """The runs with a result, of a benchmark or of the published comparison."""
    return published_reference() if key == KEY else measured_runs(benchmark_of(request, key))


def series_answer(
    request: HttpRequest, runs: tuple[MeasuredRun, ...], *, by_data: bool = True
) -> HttpResponse:
    """Charts over time of one contest of the runs; 404 for one that there is not."""
    result = chosen_result(request, results_of(runs, by_data=by_data))
    if result is None:
        raise Http404
    charts = zoomed_charts(result.contest, *_ends(request))
    return JsonResponse({"charts": [chart.to_json() for chart in charts]})


def _ends(request: HttpRequest) -> tuple[float | None, float | None]:
    """The seconds from and to which are asked for; None for all of it."""
    try:
        start, end = (float(request.GET[name]) for name in ("from", "to"))
    except (KeyError, ValueError):
        return None, None
    return (start, end) if 0 <= end - start < 1e9 and abs(start) < 1e9 else (None, None)


def chosen_result(request: HttpRequest, results: tuple[ShownResult, ...]) -> ShownResult | None:
    """The contest that the address names, else the first; None where there is none."""
    asked = request.GET.get("contest", "")
    named = (result for result in results if result.contest.key == asked)
    return next(named, results[0] if results else None)


def result_context(
    request: HttpRequest,
    runs: tuple[MeasuredRun, ...],
    series_url: str,
    *,
    varied: tuple[str, ...] = (),
    by_data: bool = True,
    query: str = "",
    file: str = "benchmark",
) -> dict[str, Any]:
    """What `_result.html` shows of the runs."""
    results = results_of(runs, varied, by_data=by_data)
    result = chosen_result(request, results)
    if result is None:
        return {"results": (), "result": None, "charts": ()}
    charts = drawn_of(result, results)
    texts = {"line": "Show or hide this line", "file": file}
    return {
        "results": results,
        "result": result,
        "charts": charts,
        "charts_answer": charts_json(charts, texts),
        "series_url": f"{series_url}?{query}contest={result.contest.key}",
        "query": query,
        "differing": result.outcome.differing,
    }


def _row(benchmark: Benchmark, run: BenchmarkRun) -> RunRow:
    state = RunState(run.state)
    chip = (*RUN_TONES[state], str(state.label))
    iops = run.summary["iops"] if run.summary is not None else None
    return RunRow(run, f"{benchmark.key}.{run.number}", run_words(run), chip, iops)


def run_words(run: BenchmarkRun) -> str:
    """What a run does, in a few words."""
    try:
        return label_of(run.matrix_cell)
    except BadSpec:
        return str(run.cell.get("name", "")) or f"run {run.number}"
