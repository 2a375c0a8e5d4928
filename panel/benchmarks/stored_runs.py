"""Runs from the database for comparisons: those of one benchmark, of many, or named one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.db.models import F, Func, JSONField, Prefetch, QuerySet, Value

from panel.benchmarks import ssd_models
from panel.benchmarks.measured import MeasuredRun, measured_runs
from panel.benchmarks.published_reference import KEY, published_reference
from storage.access import Person
from storage.models import Benchmark, BenchmarkRun

NAMED: Final = re.compile(r"([0-9A-Za-z]{1,26})(?:\.(\d{1,4}))?")
MOST_NAMED: Final = 40
WITHOUT_SERIES: Final = Func(
    F("summary"),
    Value("series"),
    arg_joiner=" - ",
    template="(%(expressions)s)",
    output_field=JSONField(),
)
"""Of a summary: a list shows who won, and needs no figures over time."""
NO_SERIES: Final[dict[str, Any]] = {"step_ms": 500}


class UnknownRuns(ValueError):
    """No benchmark and no run is named so, or none that has a result."""


def with_brief_runs(rows: QuerySet[Benchmark]) -> QuerySet[Benchmark]:
    """Each with its runs as `brief_runs`, whose summaries lack what happened over time."""
    runs = BenchmarkRun.objects.defer("summary").annotate(brief=WITHOUT_SERIES).order_by("number")
    return rows.select_related("host", "actor").prefetch_related(
        Prefetch("runs", queryset=runs, to_attr="brief_runs")
    )


def briefly_measured(benchmark: Benchmark) -> tuple[MeasuredRun, ...]:
    """Its runs that have a result, of a benchmark `with_brief_runs`."""
    rows: list[Any] = benchmark.brief_runs  # type: ignore[attr-defined]
    known = [row for row in rows if row.brief is not None]
    for row in known:
        row.summary = {**row.brief, "series": NO_SERIES}
    return measured_runs(benchmark, known)


def named_runs(names: Iterable[str], user: Person) -> tuple[MeasuredRun, ...]:
    """Those of whole benchmarks ("KEY") and single ones ("KEY.3"), in the order of the names; the
    published comparison is called "published", and "ssds" are those on SSDs alone, by the model.
    Raises `UnknownRuns`."""
    wanted = [_parsed(name) for name in dict.fromkeys(names)]
    if len(wanted) > MOST_NAMED:
        raise UnknownRuns(f"At most {MOST_NAMED} runs and benchmarks are compared at once.")
    keys = {key for key, _ in wanted} - {KEY}
    rows = Benchmark.objects.visible_to(user).filter(key__in=keys)
    by_key: dict[str, Sequence[MeasuredRun]] = {KEY: published_reference()}
    if (ssd_models.KEY, None) in wanted:
        by_key[ssd_models.KEY] = ssd_models.runs_by_ssd_model(user)
        if not by_key[ssd_models.KEY]:
            raise UnknownRuns(
                "No run on SSD alone has a result yet. Order a benchmark with the target "
                "“SSD alone” on hosts that have different SSDs."
            )
    for benchmark in rows.select_related("host").prefetch_related("runs"):
        by_key[benchmark.key] = measured_runs(benchmark)
    chosen_runs = dict[str, MeasuredRun]()
    for key, number in wanted:
        runs = [run for run in by_key.get(key, ()) if number in (None, run.number)]
        if not runs:
            name = key if number is None else f"{key}.{number}"
            raise UnknownRuns(f"No benchmark or run with a result is called {name}.")
        chosen_runs |= {run.key: run for run in runs}
    return tuple(chosen_runs.values())


def _parsed(name: str) -> tuple[str, int | None]:
    match = NAMED.fullmatch(name)
    if match is None:
        raise UnknownRuns(f"There is no benchmark or run “{name[:60]}”.")
    return match[1], None if match[2] is None else int(match[2])
