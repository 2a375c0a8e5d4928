"""The shapes of benchmarks, of their runs, and of what a comparison says."""

from __future__ import annotations

from panel.api.framework.fields import (
    Anything,
    Boolean,
    By,
    Choice,
    DateTime,
    Float,
    Integer,
    List,
    Text,
    Texts,
)
from panel.api.framework.refs import Noun, Ref
from panel.api.framework.shape import Shape
from panel.api.jobs.window_shapes import DailyWindowShape
from panel.benchmarks.benchmark_words import CONDITIONS
from panel.benchmarks.measured import MeasuredRun, measured_run, source_of
from panel.benchmarks.run_figures import KINDS
from panel.benchmarks.run_standings import standings_of
from panel.benchmarks.shown_results import results_of
from panel.benchmarks.stored_runs import briefly_measured
from panel.benchmarks.verdicts import ContestOutcome, ContestPlace
from storage.analysis.comparison import Word
from storage.benchmarks.progress import progress_of
from storage.database_clock import database_now
from storage.models import (
    Benchmark,
    BenchmarkOrigin,
    BenchmarkPurpose,
    BenchmarkRun,
    BenchmarkState,
    RunState,
)

WORDS = tuple(word.value for word in Word)
IN_RUNS = {kind.name: kind for kind in KINDS}


def _percent(place: ContestPlace, end: int) -> float | None:
    if place.verdict is None or place.verdict.percents is None:
        return None
    return place.verdict.percents[end]


def _of_verdict(place: ContestPlace, name: str) -> object:
    return None if place.verdict is None else getattr(place.verdict, name)


class EntrantShape(Shape):
    """A target with its settings over all of its runs, compared with the winner."""

    name = Text("Its name in this comparison.", of="entrant.name")
    target = Text(
        "Such as `lvmcache`; of an import the name of its job.", of="entrant.setup.target"
    )
    is_winner = Boolean("Whether it has the most IOPS of the candidates.")
    iops = Float("I/Os a second, the geometric mean of its runs.", of="entrant.iops")
    iops_low = Float("Of its slowest run.", of=lambda place: place.entrant.iops_range[0])
    iops_high = Float("Of its fastest run.", of=lambda place: place.entrant.iops_range[1])
    runs = Texts("The keys of its runs.", of=lambda place: [run.key for run in place.entrant.runs])
    word = Choice(
        "The verdict against the winner; null: it is the winner.",
        WORDS,
        of=lambda place: _of_verdict(place, "word"),
        null=True,
    )
    percent_low = Float(
        "Lower end of the difference to the winner's IOPS, in percent (95 %); null: unknown.",
        of=lambda place: _percent(place, 0),
        null=True,
    )
    percent_high = Float("Upper end of the same.", of=lambda place: _percent(place, 1), null=True)
    detectable_share = Float(
        "The smallest difference that these runs could detect, as a share; null: unknown.",
        of=lambda place: _of_verdict(place, "detectable"),
        null=True,
    )
    more_units = Integer(
        "How many more runs or boots per side would decide it; null: unknown, or none needed.",
        of=lambda place: _of_verdict(place, "more_units"),
        null=True,
    )
    sentence = Text("The verdict, in a sentence for people.", of="words")


class ConditionValueShape(Shape):
    """A value of a condition, and the entrants that have it."""

    value = Text("In words; `unknown` where nothing is known.", of=lambda pair: pair[0])
    entrants = Texts("By their names.", of=lambda pair: [each.name for each in pair[1]])


class DifferingShape(Shape):
    """A condition that differs, which prevents a verdict unless `varied` names it."""

    name = Choice("The condition.", tuple(CONDITIONS))
    is_compared = Boolean("Whether `varied` names it.")
    values = ConditionValueShape("Its values.", many=True)


class ContestShape(Shape):
    """Entrants with the same load, and the winner."""

    title = Text("The load and the size of the data.", of="contest.title")
    load = Text("The load, for programs.", of=lambda it: it.contest.entrants[0].setup.load)
    data_bytes = Integer(
        "Bytes of data; null: they differ, or are unknown.", null=True, of="contest.data_bytes"
    )
    headline = Text("Who won, in a sentence for people.")
    margin = Text("By how much, in a sentence for people; empty: nothing to compare with.")
    word = Choice(
        "The verdict on the winner against the next; null: there is no other.", WORDS, null=True
    )
    basis = Text("The basis of the answer, as a sentence for people.")
    unit = Choice(
        "The independent unit that is counted, such as runs or boots.", ("run", "boot"), of="noun"
    )
    entrants = EntrantShape("The winner first.", of="places", many=True)
    differing = DifferingShape("What else differs.", many=True)


class BenchmarkShape(Noun):
    """An ordered matrix of runs, or imported results."""

    title = Text("A title for people.", of=str)
    host = Ref("Where it runs; null: results from elsewhere.", null=True)
    figures_from = Choice("Where its figures come from.", BenchmarkOrigin.choices, of="origin")
    purpose = Choice("What they are for.", BenchmarkPurpose.choices)
    state = Choice("Its current state.", BenchmarkState.choices)
    done_runs = Integer("Runs that have ended.", of=lambda row: _counted(row)[0])
    total_runs = Integer("All of its runs.", of=lambda row: _counted(row)[1])
    window = DailyWindowShape("When its runs begin; null: at any time.", null=True)
    message = Text("A note on it, as a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")
    seconds_left = Integer(
        "Seconds until all runs have ended, without delays; null: it has ended, or is paused.",
        of=lambda row: _seconds_left(row),
        null=True,
    )
    by = By("actor.email", null=True)
    created_at = DateTime("When it was created.")
    begun_at = DateTime("When the first run began; null: none has yet.", null=True)
    ended_at = DateTime("When it ended; null: it has not yet.", null=True)
    share_until = DateTime("Until when a link shows its figures; null: no link does.", null=True)
    spec = Anything("What was ordered.", detail=True)
    contests = ContestShape(
        "Results, one for each load and size of data.",
        of=lambda row: outcomes_of(results_of(briefly_measured(row))),
        many=True,
        detail=True,
    )


def outcomes_of(results: object) -> list[ContestOutcome]:
    """The outcomes of results, which contests are shown of."""
    return [result.outcome for result in results]  # type: ignore[attr-defined]


def _counted(benchmark: Benchmark) -> tuple[int, int]:
    """Finished runs, and all runs, of a benchmark `with_brief_runs`."""
    runs = [run for run in benchmark.brief_runs if run.state != RunState.VOID]  # type: ignore[attr-defined]
    return sum(run.is_over for run in runs), len(runs)


def _seconds_left(benchmark: Benchmark) -> int | None:
    if benchmark.is_over or benchmark.state == BenchmarkState.PAUSED:
        return None
    standings = standings_of(benchmark.brief_runs)  # type: ignore[attr-defined]
    return round(progress_of(standings, database_now()).seconds_left)


def _measured(run: BenchmarkRun) -> MeasuredRun | None:
    if run.summary is None:
        return None
    return measured_run(source_of(run.benchmark), run)


def _figure(name: str) -> Float:
    kind = IN_RUNS[name]

    def value(run: BenchmarkRun) -> object:
        measured = _measured(run)
        return None if measured is None else kind.of(measured)

    return Float(ABOUT_FIGURES[name], of=value, null=True)


ABOUT_FIGURES = {
    "iops": "I/Os a second: fio's count by its time; null: no result.",
    "hit_rate": "Share of the reads that the SSD answered, 0 to 1; null: unknown.",
    "mean_ms": "Mean completion latency; null: unknown.",
    "p50_ms": "Its median.",
    "p99_ms": "Its 99th percentile.",
    "p999_ms": "Its 99.9th percentile.",
    "first_30s_iops": "I/Os a second in the first 30 s.",
    "seconds_to_90": "Seconds until a minute's mean stays above 90 % of the end's.",
    "slowest_stream": "IOPS of the slowest stream, relative to an equal share.",
    "ssd_written_bytes": "Bytes that were written to the SSD.",
}


class BenchmarkRunShape(Shape):
    """One run, with its figures."""

    key = Text("Its name in comparisons.", of=lambda run: f"{run.benchmark.key}.{run.number}")
    number = Integer("Its position in the benchmark, from 1.")
    repeat = Integer("Number of the repeat of its cell, from 0.")
    cell = Anything("What it does.")
    state = Choice("Its current state.", RunState.choices)
    outcome = Text("As the host reported: `finished`, `stopped`, `failed`; empty: none yet.")
    reached_seconds = Integer(
        "Seconds of its measured part that were reached; null: unknown.", null=True
    )
    kernel = Text("The kernel that it ran on.")
    boot_id = Text("The boot that it ran in.")
    fio_version = Text("The fio that measured.")
    message = Text("A note on it, as a sentence for people.")
    begun_at = DateTime("When it began; null: it has not yet.", null=True)
    ended_at = DateTime("When it ended; null: it has not yet.", null=True)
    iops = _figure("iops")
    hit_rate = _figure("hit_rate")
    mean_ms = _figure("mean_ms")
    p50_ms = _figure("p50_ms")
    p99_ms = _figure("p99_ms")
    p999_ms = _figure("p999_ms")
    first_30s_iops = _figure("first_30s_iops")
    seconds_to_90 = _figure("seconds_to_90")
    slowest_stream = _figure("slowest_stream")
    ssd_written_bytes = _figure("ssd_written_bytes")


class ComparisonShape(Shape):
    """Any runs side by side."""

    contests = ContestShape("One for each load.", many=True)


class EstimateShape(Shape):
    """Time and space that a benchmark needs."""

    runs = Integer("Runs, one after the other.")
    seconds = Float("Estimated seconds in total.")
    slow_bytes = Integer("Bytes of HDD that the largest run takes.")
    fast_bytes = Integer("Bytes of SSD that the largest run takes.")
    ssd_written_bytes = Integer("Bytes that all of it writes to SSD, at most.", of="ssd_written")
    endurance_share = Float(
        "The share of the rated endurance that this uses, 0 to 1; null: unknown.",
        null=True,
    )
    refusal = Text(
        "Why it cannot be ordered, in a sentence for people; empty: it can be.", given=True
    )
    correction = Text("How to correct it.", given=True)


class VerifiedFigureShape(Shape):
    """A figure that does not match the raw files."""

    run = Integer("The number of the run.")
    figure = Text("Its name.")
    published = Anything("The published value.")
    computed = Anything("The value from the raw files.")


class VerificationShape(Shape):
    """Whether figures match the raw files."""

    agrees = Boolean("Whether every computed figure matches, apart from rounding.")
    checked_figures = Integer("Number of computed figures.")
    runs_without_files = List("Runs without raw files, which cannot be checked.", Integer())
    differences = VerifiedFigureShape("Figures that do not match.", many=True)


class ExportShape(Shape):
    """A benchmark with the raw files of its runs."""

    tiercel_benchmark = Integer("The version of this format.")
    title = Text("A title for people.")
    figures_from = Choice("Where its figures come from.", BenchmarkOrigin.choices)
    host = Text("The name of the host; null: results from elsewhere.", null=True)
    spec = Anything("What was ordered.")
    begun_at = DateTime("When the first run began.", null=True)
    ended_at = DateTime("When it ended.", null=True)
    runs = List(
        "Each with its cell, conditions, summary, and files by name.",
        Anything("A run."),
    )


class ImportedShape(Shape):
    """What was imported."""

    benchmark = Ref("The benchmark that its runs make.")
    refused = Texts("Files and jobs that were not imported, with the reason.")
    warnings = Texts("Notes on the imported ones.")


class ShareShape(Shape):
    """A link that shows the figures to everyone with it."""

    address = Text("Of the page.")
    until = DateTime("When it ends.")
