"""The list of benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django import forms
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from panel.benchmarks import ssd_models
from panel.benchmarks.published_reference import KEY, published_reference, published_source
from panel.benchmarks.shown_results import results_of
from panel.benchmarks.stored_runs import briefly_measured, with_brief_runs
from panel.benchmarks.verdicts import ContestOutcome
from panel.lists.listing import ListColumn, ListDefinition, csv_of, list_page, wants_csv
from panel.lists.named_choice import Suggesting
from storage.access import staff_view
from storage.models import Benchmark, BenchmarkState, RunState

STATES: Final = (("", "Any state"), *BenchmarkState.choices)
TONES: Final = {
    BenchmarkState.WANTED: ("quiet", "wait"),
    BenchmarkState.RUNNING: ("busy", "run"),
    BenchmarkState.PAUSED: ("warning", "wait"),
    BenchmarkState.DONE: ("ok", "ok"),
    BenchmarkState.FAILED: ("error", "error"),
    BenchmarkState.CANCELLED: ("quiet", "cut"),
}
LISTING: Final = ListDefinition(
    name="benchmarks",
    first="-ordered",
    ties=("-id",),
    columns=(
        ListColumn("title", "Benchmark", F("title")),
        ListColumn("state", "State", F("state")),
        ListColumn("result", "Result"),
        ListColumn("host", "Host", F("host__name_order")),
        ListColumn("by", "Ordered by", F("actor__email")),
        ListColumn("ordered", "Ordered", F("created_at"), True),
    ),
    cells=(
        ("key", lambda row: row.benchmark.key),
        ("title", lambda row: row.benchmark.title),
        ("state", lambda row: row.benchmark.state),
        ("origin", lambda row: row.benchmark.origin),
        ("host", lambda row: row.benchmark.host.name if row.benchmark.host else ""),
        ("runs", lambda row: row.total),
        ("done", lambda row: row.done),
        ("result", lambda row: row.words),
        ("ordered_by", lambda row: str(row.benchmark.actor or "")),
        ("ordered_at", lambda row: row.benchmark.created_at),
        ("ended_at", lambda row: row.benchmark.ended_at),
    ),
)


class BenchmarkFilter(forms.Form):
    """The filters of the list, as the address has them."""

    state = forms.ChoiceField(choices=STATES, required=False)
    host = forms.CharField(max_length=64, required=False, widget=Suggesting("hosts"))

    @property
    def is_narrow(self) -> bool:
        return any(self.data.get(name) for name in self.fields)


@dataclass(frozen=True, slots=True)
class ListedBenchmark:
    """A benchmark with how far it has come, and who leads in the first of its contests."""

    benchmark: Benchmark
    done: int
    total: int
    outcome: ContestOutcome | None
    contests: int

    @property
    def chip(self) -> tuple[str, str, str]:
        """The state: tone, icon and text."""
        return chip_of(self.benchmark)

    @property
    def words(self) -> str:
        """The result in a sentence; "" where there is none yet."""
        if self.outcome is None:
            return ""
        return ". ".join(filter(None, (self.outcome.headline, self.outcome.margin)))


def chip_of(benchmark: Benchmark) -> tuple[str, str, str]:
    """Its state: tone, icon and text."""
    state = BenchmarkState(benchmark.state)
    return *TONES[state], str(state.label)


def listed(rows: Sequence[Benchmark]) -> list[ListedBenchmark]:
    """Rows of the list, of benchmarks `with_brief_runs`."""
    shown_rows = []
    for benchmark in rows:
        results = results_of(briefly_measured(benchmark))
        runs = [run for run in benchmark.brief_runs if run.state != RunState.VOID]  # type: ignore[attr-defined]
        shown_rows.append(
            ListedBenchmark(
                benchmark,
                sum(run.is_over for run in runs),
                len(runs),
                results[0].outcome if results else None,
                len(results),
            )
        )
    return shown_rows


@staff_view()
@require_safe
def benchmarks(request: HttpRequest) -> HttpResponse:
    """Benchmarks by filters, the newest first."""
    filters = BenchmarkFilter(request.GET)
    rows = with_brief_runs(Benchmark.objects.visible_to(request.user))
    has_any = rows.exists()
    if not filters.is_valid():
        rows = rows.none()
    elif state := filters.cleaned_data["state"]:
        rows = rows.filter(state=state)
    if filters.is_valid() and (host := filters.cleaned_data["host"]):
        rows = rows.filter(host__name__icontains=host)
    if wants_csv(request):
        return csv_of(request, LISTING, rows, listed)
    shown = list_page(request, LISTING, rows)
    context = {
        "list": shown,
        "page": shown.page,
        "rows": listed(list(shown.page)),
        "filters": filters,
        "has_any": has_any,
        "published": published_source(),
        "ssds": urlencode({"of": ssd_models.KEY, "varied": ssd_models.COMPARED}, doseq=True),
        "published_key": KEY,
        "published_outcome": results_of(published_reference())[0].outcome,
        "is_live": any(not row.is_over for row in shown.page),
    }
    return render(request, "staff/benchmarks/benchmarks.html", context)
