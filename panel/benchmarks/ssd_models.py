"""All runs on an SSD alone, by SSD model, to compare the fleet's models."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from panel.benchmarks.measured import MeasuredRun, MeasuredSource, measured_run, source_of
from storage.access import Person
from storage.benchmarks.matrix import TargetKind
from storage.models import Benchmark, BenchmarkOrigin, BenchmarkRun, RunState

KEY: Final = "ssds"
"""What names them where runs are named."""
TITLE: Final = "SSD models of the fleet"
COMPARED: Final = (
    "ssd_model",
    "ssd_firmware",
    "hdd_model",
    "hdd_firmware",
    "raid_level",
    "stripe_bytes",
)
"""What such a comparison is about, and what a run that reads no HDD does not depend on."""
MOST_RUNS: Final = 120
"""Number of latest runs to examine."""


def runs_by_ssd_model(user: Person) -> tuple[MeasuredRun, ...]:
    """Those that ended and whose host named its SSD, the models in their order by name, the newest
    run of each first. The source of a run is its model, which counts its runs from 1."""
    rows = BenchmarkRun.objects.filter(
        benchmark__in=Benchmark.objects.visible_to(user),
        state=RunState.DONE,
        summary__isnull=False,
        cell__target=TargetKind.SSD.value,
    )
    newest = rows.select_related("benchmark__host").order_by("-ended_at", "-pk")[:MOST_RUNS]
    by_model: dict[str, list[MeasuredRun]] = {}
    for row in newest:
        run = measured_run(source_of(row.benchmark), row)
        if run.conditions.ssd_model:
            by_model.setdefault(run.conditions.ssd_model, []).append(run)
    return tuple(
        replace(run, source=_source(place, model), number=number)
        for place, (model, runs) in enumerate(sorted(by_model.items()), 1)
        for number, run in enumerate(runs, 1)
    )


def _source(place: int, model: str) -> MeasuredSource:
    return MeasuredSource(key=f"ssd{place}", title=model, origin=BenchmarkOrigin.ORDERED)
