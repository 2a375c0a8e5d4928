"""Any runs of any benchmarks side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from panel.benchmarks import ssd_models
from panel.benchmarks.benchmark_words import CONDITIONS
from panel.benchmarks.exports import csv_rows
from panel.benchmarks.measured import MeasuredRun, source_of
from panel.benchmarks.published_reference import KEY, published_source
from panel.benchmarks.stored_runs import UnknownRuns, named_runs
from panel.lists.listing import csv_file
from panel.staff.benchmarks.benchmark_pages import result_context, series_answer
from storage.access import staff_view
from storage.models import Benchmark, BenchmarkRun

OFFERED: Final = 60
"""So many of the newest benchmarks can be chosen."""


@dataclass(frozen=True, slots=True)
class OfferedBenchmark:
    """A benchmark that can be chosen."""

    key: str
    title: str
    about: str
    is_chosen: bool


@staff_view()
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """`of` names benchmarks and runs (`panel.benchmarks.stored_runs.named_runs`), `varied` the
    conditions that the comparison is about."""
    names, varied = request.GET.getlist("of"), varied_of(request)
    context: dict[str, Any] = {"trouble": "", "result": None, "varied": varied}
    if names:
        try:
            runs = named_runs(names, request.user)
        except UnknownRuns as unknown:
            context["trouble"] = str(unknown)
        else:
            context |= _compared(request, runs, names, varied)
    chosen = {name for name in names if "." not in name}
    context |= {
        "offered": _offered(request, chosen),
        "single": [name for name in names if "." in name],
    }
    return render(request, "staff/benchmarks/compare.html", context)


@staff_view()
@require_safe
def compare_series(request: HttpRequest) -> HttpResponse:
    """Charts over time of what is compared."""
    return series_answer(request, _named(request), by_data=False)


@staff_view()
@require_safe
def compare_csv(request: HttpRequest) -> HttpResponse:
    """The figures of what is compared, one line for each run."""
    return csv_file("benchmarks-compared.csv", *csv_rows(_named(request)))


def varied_of(request: HttpRequest) -> tuple[str, ...]:
    """The known conditions that the address names."""
    return tuple(name for name in request.GET.getlist("varied") if name in CONDITIONS)


def _named(request: HttpRequest) -> tuple[MeasuredRun, ...]:
    try:
        return named_runs(request.GET.getlist("of"), request.user)
    except UnknownRuns as unknown:
        raise Http404 from unknown


def _compared(
    request: HttpRequest, runs: tuple[MeasuredRun, ...], names: list[str], varied: tuple[str, ...]
) -> dict[str, Any]:
    chosen = [("of", name) for name in names]
    query = urlencode([*chosen, *(("varied", name) for name in varied)])
    context = result_context(
        request,
        runs,
        reverse("benchmark-compare-series"),
        varied=varied,
        by_data=False,
        query=f"{query}&",
        file="benchmarks",
    )
    context["csv_url"] = f"{reverse('benchmark-compare-csv')}?{query}"
    context["toggles"] = [
        (each, f"?{urlencode([*chosen, *_toggled(varied, each.name)])}")
        for each in context.get("differing", ())
    ]
    return context


def _toggled(varied: tuple[str, ...], name: str) -> list[tuple[str, str]]:
    """The conditions that are compared, with this one or, if it is among them, without it."""
    names = [each for each in varied if each != name]
    return [("varied", each) for each in (names if name in varied else [*names, name])]


def _offered(request: HttpRequest, chosen: set[str]) -> list[OfferedBenchmark]:
    measured = BenchmarkRun.objects.filter(benchmark=OuterRef("pk"), summary__isnull=False)
    rows = Benchmark.objects.visible_to(request.user).filter(Exists(measured))
    newest = rows.select_related("host")[:OFFERED]
    sources = [published_source(), *map(source_of, newest)]
    ssds = OfferedBenchmark(
        ssd_models.KEY, ssd_models.TITLE, "every run on an SSD alone", ssd_models.KEY in chosen
    )
    return [
        ssds,
        *(
            OfferedBenchmark(
                each.key,
                each.title,
                "published" if each.key == KEY else each.place,
                each.key in chosen,
            )
            for each in sources
        ),
    ]
