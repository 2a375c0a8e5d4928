"""The result of some runs as pages show it: for each contest who won, all figures, and the charts.
Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from panel.benchmarks.contests import Contest, contests_of
from panel.benchmarks.drawn_charts import DrawnChart, charts_of
from panel.benchmarks.measured import MeasuredRun
from panel.benchmarks.run_figures import FigureKind, cell_text, pause_words, shown_kinds, steadiness
from panel.benchmarks.verdicts import ContestOutcome, ContestPlace, contest_outcome


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A place with its figures in words, each with the title of its column, and what is to be known
    of its runs."""

    place: ContestPlace
    cells: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownResult:
    """A contest, its outcome and its figures."""

    contest: Contest
    outcome: ContestOutcome
    kinds: tuple[FigureKind, ...]
    rows: tuple[FigureRow, ...]


def results_of(
    runs: Sequence[MeasuredRun], varied: Collection[str] = (), *, by_data: bool = True
) -> tuple[ShownResult, ...]:
    """The result of each contest of the runs, in their order."""
    return tuple(_result(contest, varied) for contest in contests_of(runs, by_data=by_data))


def _result(contest: Contest, varied: Collection[str]) -> ShownResult:
    outcome, kinds = contest_outcome(contest, varied), shown_kinds(contest.entrants)
    return ShownResult(
        contest=contest,
        outcome=outcome,
        kinds=kinds,
        rows=tuple(
            FigureRow(
                place,
                tuple((kind.title, cell_text(kind, place.entrant)) for kind in kinds),
                _notes(place),
            )
            for place in outcome.places
        ),
    )


def _notes(place: ContestPlace) -> tuple[str, ...]:
    middle = place.entrant.middle
    paused = {words for run in place.entrant.runs if (words := pause_words(run.summary))}
    short = ", ".join(str(run.number) for run in place.entrant.runs if is_short(run))
    stopped = f"stopped early: run {short}" if short else ""
    return tuple(filter(None, (steadiness(middle.summary), *sorted(paused), stopped)))


def is_short(run: MeasuredRun) -> bool:
    """Whether it was stopped before its end."""
    return run.summary.reached_seconds < 0.98 * run.summary.seconds


def drawn_of(result: ShownResult, results: Sequence[ShownResult]) -> tuple[DrawnChart, ...]:
    """The charts of one result; the sweep covers all results of the same load."""
    load = result.contest.entrants[0].setup.load
    sweep = [other.contest for other in results if other.contest.entrants[0].setup.load == load]
    return charts_of(result.contest, sweep)


def charts_json(charts: Sequence[DrawnChart], texts: dict[str, str]) -> dict[str, Any]:
    """What the script of the page reads."""
    return {"charts": [chart.to_json() for chart in charts], "texts": texts}
