"""What a gate has measured, from its rows."""

from __future__ import annotations

from collections.abc import Iterable

from storage.benchmarks.boot_part import BootPart
from storage.benchmarks.gate import BootFigures, GateProgress, RunFigures, figures_of
from storage.benchmarks.matrix import label_of
from storage.benchmarks.run_conditions import run_conditions
from storage.benchmarks.summary import RunSummary
from storage.models import BenchmarkRun, BootState, Gate, GateBoot, RunState


def gate_progress_of(gate: Gate) -> GateProgress:
    """How far it is."""
    done = gate.boots.filter(state=BootState.DONE)
    return GateProgress(
        kernel_a=gate.kernel_a,
        kernel_b=gate.kernel_b,
        boots_a_side=gate.boots_a_side,
        parts=tuple(BootPart(part) for part in done.values_list("part", flat=True)),
    )


def whole_boots(gate: Gate, *parts: BootPart) -> list[BootFigures]:
    """The boots of these parts that are measured, in their order."""
    boots = gate.boots.filter(state=BootState.DONE, part__in=parts)
    return [boot_figures(boot) for boot in boots.prefetch_related("runs")]


def boot_figures(boot: GateBoot) -> BootFigures:
    """Its runs that count: those that ended, in this boot, and are not void."""
    cells: dict[str, list[RunFigures]] = {}
    for run in _counted(boot.runs.all(), boot):
        figures = figures_of(
            RunSummary.from_json(run.summary),
            run_conditions(run.conditions, run.matrix_cell, boot.kernel),
        )
        if figures is not None:
            cells.setdefault(label_of(run.matrix_cell), []).append(figures)
    return BootFigures(part=BootPart(boot.part), kernel=boot.kernel, cells=cells)


def _counted(runs: Iterable[BenchmarkRun], boot: GateBoot) -> Iterable[BenchmarkRun]:
    for run in runs:
        is_its = run.boot_id == boot.boot_id
        if run.state == RunState.DONE and is_its and run.summary is not None:
            yield run
