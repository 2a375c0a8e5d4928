"""The figures of entrants and of runs: raw, for programs and files, and in words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from panel.benchmarks.contests import Entrant
from panel.benchmarks.measured import MeasuredRun
from storage.benchmarks.summary import RunSummary
from storage.formatting import counted, iops, ms, percent, seconds, size

Figure = float | None


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A figure of a run: what files call it, its title in tables, and how it is written."""

    name: str
    title: str
    of: Callable[[MeasuredRun], Figure]
    write: Callable[[object], str]


def _percentile(value: float) -> Callable[[MeasuredRun], Figure]:
    return lambda run: run.percentile_ms(value)


def slowest_stream(run: MeasuredRun) -> Figure:
    """What the slowest of fio's streams got, as a part of an equal share; None of one stream."""
    rates = [job.iops for job in run.summary.jobs]
    if len(rates) < len(("one", "other")) or sum(rates) <= 0:
        return None
    return min(rates) * len(rates) / sum(rates)


KINDS: Final = (
    FigureKind("iops", "IOPS", lambda run: run.summary.iops, iops),
    FigureKind("hit_rate", "Reads from SSD", lambda run: run.summary.hit_rate, percent),
    FigureKind("end_hit_rate", "At the end", lambda run: run.summary.end_hit_rate, percent),
    FigureKind("mean_ms", "Mean latency", lambda run: run.mean_ms, ms),
    FigureKind("p50_ms", "Median", _percentile(50.0), ms),
    FigureKind("p99_ms", "99 %", _percentile(99.0), ms),
    FigureKind("p999_ms", "99.9 %", _percentile(99.9), ms),
    FigureKind("p9999_ms", "99.99 %", _percentile(99.99), ms),
    FigureKind("first_30s_iops", "First 30 s", lambda run: run.summary.first_30s_iops, iops),
    FigureKind("seconds_to_90", "90 % after", lambda run: run.summary.seconds_to_90, seconds),
    FigureKind("slowest_stream", "Slowest stream", slowest_stream, percent),
    FigureKind("promotions", "Promotions", lambda run: run.summary.promotions, iops),
    FigureKind(
        "ssd_written_bytes", "Written to SSD", lambda run: run.summary.ssd_written_bytes, size
    ),
    FigureKind("cpu_share", "CPU", lambda run: run.summary.cpu_share, percent),
)
IN_TABLE: Final = (
    "hit_rate",
    "p50_ms",
    "p99_ms",
    "p999_ms",
    "first_30s_iops",
    "seconds_to_90",
    "ssd_written_bytes",
)
"""Beside IOPS, which have a bar."""


def shown_kinds(entrants: Sequence[Entrant]) -> tuple[FigureKind, ...]:
    """Those of the table that at least one run has."""
    runs = [run for entrant in entrants for run in entrant.runs]
    wanted = [kind for kind in KINDS if kind.name in IN_TABLE]
    return tuple(kind for kind in wanted if any(kind.of(run) is not None for run in runs))


def cell_text(kind: FigureKind, entrant: Entrant) -> str:
    """The figure of all runs of the entrant: one, or from the least to the most."""
    known = sorted(found for run in entrant.runs if (found := kind.of(run)) is not None)
    if not known:
        return "-"
    low, high = kind.write(known[0]), kind.write(known[-1])
    if low == high:
        return low
    (least, _, low_unit), (_, _, high_unit) = low.partition(" "), high.partition(" ")
    return f"{least if low_unit == high_unit else low} to {high}"


def steadiness(summary: RunSummary) -> str:
    """Whether the figures had settled at the end, in a sentence; "" where too little is known."""
    steady = summary.steady
    if steady is None:
        return summary.ending
    reached = (
        f"SNIA's steady state in minute {steady.last_round}"
        if steady.is_steady
        else f"no steady state in {steady.rounds} min"
    )
    return "; ".join(filter(None, (reached, summary.ending)))


def pause_words(summary: RunSummary) -> str:
    """How long the run paused for other volumes; "" where it never did."""
    total_ms = sum(end - start for start, end in summary.pauses)
    if not total_ms:
        return ""
    times = counted(len(summary.pauses), "time")
    return f"paused {times} for other volumes, {seconds(total_ms / 1000)}"
