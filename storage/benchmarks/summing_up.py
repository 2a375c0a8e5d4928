"""The figures of a run from what fio and the legs counted. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from storage.benchmarks.ending import edges_of, ending_of
from storage.benchmarks.matrix import Cell, TargetKind
from storage.benchmarks.run_facts import RunFacts
from storage.benchmarks.run_legs import Floats, LegRows, Reads, reads_of
from storage.benchmarks.summary import (
    MOST_POINTS,
    PERCENTILES,
    DirectionSummary,
    JobSummary,
    RunSeries,
    RunSummary,
)
from storage.byte_sizes import SECTOR_BYTES
from storage.fio.latency_bins import LatencyBins, too_few
from storage.fio.log_series import STEP_MS, Grid, Windows, merge, windows
from storage.fio.results import DirectionResult, Imported, JobResult

LAST_SHARE: Final = 0.1
FIRST_MS: Final = 30_000
LEAST_HIT_MS: Final = 4000
"""Shorter pieces hold fewer promotions than the host counts at a time."""


def sum_up(imported: Imported, legs: LegRows, cell: Cell, facts: RunFacts) -> RunSummary | None:
    """None where nothing was measured."""
    jobs = [job for job in imported.jobs if job.directions]
    if not jobs and len(legs.rows) < 2:
        return None
    run = _Run(imported, jobs, legs, facts)
    grid = run.grid(STEP_MS)
    reads = reads_of(legs) if cell.has_cache else None
    ending = ending_of(grid, reads, run.pauses_ms)
    ios, seconds = run.ios, run.measured_seconds
    return RunSummary(
        seconds=cell.seconds,
        reached_seconds=min(float(cell.seconds), run.span_ms / 1000),
        iops=ios / seconds if seconds else 0.0,
        ios=round(ios),
        bytes_s=run.io_bytes / seconds if seconds else 0.0,
        read=run.direction("read"),
        write=run.direction("write"),
        jobs=run.job_summaries,
        series=_series(run, reads),
        hit_rate=None if reads is None else reads.between(0, legs.last_ms),
        end_hit_rate=None
        if reads is None
        else reads.between((1 - LAST_SHARE) * legs.last_ms, legs.last_ms),
        promotions=_total(legs, "promotions"),
        demotions=_total(legs, "demotions"),
        ssd_written_bytes=None if cell.target == TargetKind.HDD else _ssd_written(legs),
        cpu_share=_cpu_share(legs),
        first_30s_iops=_mean(grid.rates[: FIRST_MS // STEP_MS]) if grid is not None else None,
        seconds_to_90=ending.seconds_to_90,
        steady=ending.steady,
        steady_hit_rate=ending.steady_hit_rate,
        end_slope=ending.slope,
        ending=ending.words,
        hit_ending=ending.hit_words,
        pauses=facts.pauses,
    )


@dataclass(frozen=True)
class _Run:
    """What both say of one run. Where fio left nothing, it was killed: the legs alone count."""

    imported: Imported
    jobs: Sequence[JobResult]
    legs: LegRows
    facts: RunFacts

    @property
    def span_ms(self) -> float:
        """From the beginning to the last that is known."""
        runtimes = [each.runtime_ms or 0 for _, each in self._directions()]
        if not any(runtimes):
            return float(self.legs.last_ms)
        # Of files the reads begin after the writes.
        logged = [float(each.times_ms[-1]) for each in self.imported.series if each.rows]
        return max(float(max(runtimes)), *logged, 0.0)

    @property
    def pauses_ms(self) -> tuple[tuple[int, int], ...]:
        span = int(self.span_ms)
        cut = ((max(0, start), min(end, span)) for start, end in self.facts.pauses)
        return tuple((start, end) for start, end in cut if start < end)

    @property
    def measured_seconds(self) -> float:
        """Without the pauses, in which fio stood still."""
        paused = sum(end - start for start, end in _merged(self.pauses_ms))
        return max(0.0, self.span_ms - paused) / 1000

    @property
    def ios(self) -> float:
        if self.jobs:
            return float(sum(each.total_ios or 0 for _, each in self._directions()))
        return sum(self._counted(name) for name in ("reads", "writes"))

    @property
    def io_bytes(self) -> float:
        if self.jobs:
            return float(sum(each.io_bytes or 0 for _, each in self._directions()))
        names = ("read_sectors", "written_sectors")
        return sum(self._counted(name) for name in names) * SECTOR_BYTES

    def _counted(self, name: str) -> float:
        counted = self.legs.counter("top", name)
        return 0.0 if counted is None else counted.total

    def _directions(self) -> Iterable[tuple[str, DirectionResult]]:
        return ((name, each) for job in self.jobs for name, each in job.directions.items())

    def direction(self, wanted: str) -> DirectionSummary | None:
        results = [each for name, each in self._directions() if name == wanted]
        ios, own_ms = sum(each.total_ios or 0 for each in results), _longest_ms(results)
        seconds = min(self.measured_seconds, own_ms / 1000 if own_ms else math.inf)
        if not ios or not seconds:
            return None
        bins = _bins(results)
        return DirectionSummary(
            ios,
            ios / seconds,
            sum(each.io_bytes or 0 for each in results) / seconds,
            None if bins is None else bins.mean_ns,
            () if bins is None else tuple(_percentile(bins, each) for each in PERCENTILES),
        )

    @property
    def job_summaries(self) -> tuple[JobSummary, ...]:
        seconds = self.measured_seconds
        return tuple(
            JobSummary(number, ios, ios / seconds if seconds else 0.0, _p99(job))
            for number, job in enumerate(self.jobs, 1)
            for ios in (sum(each.total_ios or 0 for each in job.directions.values()),)
        )

    def grid(self, step_ms: int) -> Grid | None:
        """The requests of all jobs; None where nothing records them over time."""
        logged = [each for of_job in self.logged for each in of_job]
        if logged:
            return merge(logged, step_ms).together
        return self._grid_of_legs(step_ms)

    def grids_apart(self, step_ms: int) -> tuple[Grid, ...]:
        """The same of each job, on the grid of all."""
        logged = [each for of_job in self.logged for each in of_job]
        if not logged:
            return ()
        apart = iter(merge(logged, step_ms).apart)
        return tuple(_added([next(apart) for _ in of_job]) for of_job in self.logged if of_job)

    @property
    def logged(self) -> list[list[Windows]]:
        """The windows of each job, those of reads apart from those of writes."""
        by_job: list[list[Windows]] = []
        for number, job in enumerate(self.jobs, 1):
            logs = [
                each
                for each in self.imported.series
                if each.quantity == "iops" and each.job_number == number and each.rows
            ]
            by_job.append(
                [
                    windows(each, result.total_ios, result.runtime_ms)
                    if (result := job.directions.get(each.direction)) is not None
                    else windows(each)
                    for each in logs
                ]
            )
        return by_job

    def _grid_of_legs(self, step_ms: int) -> Grid | None:
        counted = [self.legs.counter("top", name) for name in ("reads", "writes")]
        edges = np.arange(0, self.legs.last_ms + 1, step_ms, dtype=float)
        known = [each.at(edges) for each in counted if each is not None]
        if not known or len(edges) < 2:
            return None
        amounts = np.diff(sum(known))
        return Grid(0.0, step_ms, amounts, np.full(len(amounts), float(step_ms)))


def _longest_ms(found: Sequence[DirectionResult]) -> int:
    return max((each.runtime_ms or 0 for each in found), default=0)


def _bins(found: Sequence[DirectionResult]) -> LatencyBins | None:
    """Of all of them together; None where one has none."""
    bins = [each.latency.bins if each.latency is not None else None for each in found]
    known = [each for each in bins if each is not None]
    return LatencyBins.sum(known) if known and len(known) == len(bins) else None


def _percentile(bins: LatencyBins, percent: float) -> float | None:
    return None if too_few(percent, bins.count) else bins.percentile_ns(percent)


def _p99(job: JobResult) -> float | None:
    bins = _bins(list(job.directions.values()))
    return None if bins is None else _percentile(bins, 99.0)


def _added(grids: Sequence[Grid]) -> Grid:
    """Reads and writes of one job."""
    amounts = np.array([grid.amounts for grid in grids])
    covered = np.array([grid.covered_ms for grid in grids]).max(axis=0)
    sums = np.where(np.isnan(amounts).all(axis=0), np.nan, np.nansum(amounts, axis=0))
    return Grid(grids[0].start_ms, grids[0].step_ms, sums, covered)


def _merged(pauses: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without what two of them have in common."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(pauses):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _series(run: _Run, reads: Reads | None) -> RunSeries:
    step_ms = max(1, math.ceil(run.span_ms / STEP_MS / MOST_POINTS)) * STEP_MS
    whole = run.grid(step_ms)
    if whole is None:
        return RunSeries(step_ms)
    edges = edges_of(whole)
    written = run.legs.counter("fast", "written_sectors")
    promotions = run.legs.renewed("promotions")
    return RunSeries(
        step_ms,
        _known(whole.rates),
        tuple(_known(each.rates) for each in run.grids_apart(step_ms)),
        () if reads is None else _known(_smooth_hits(reads, edges)),
        () if promotions is None else _whole(promotions.at(edges[1:])),
        () if written is None else _whole(written.at(edges[1:]) * SECTOR_BYTES),
    )


def _smooth_hits(reads: Reads, edges: Floats) -> Floats:
    """At each piece of the grid the rate of a longer one around it."""
    step = float(edges[1] - edges[0])
    half = max(0.0, LEAST_HIT_MS - step) / 2
    middles = (edges[:-1] + edges[1:]) / 2
    starts, ends = middles - step / 2 - half, middles + step / 2 + half
    pairs = np.column_stack([starts, ends])
    rates = [float(reads.hit_rate(pair)[0]) for pair in pairs]
    return np.array(rates)


def _known(values: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(each) else round(float(each), 4) for each in values)


def _whole(values: Floats) -> tuple[int | None, ...]:
    return tuple(round(float(each)) for each in values)


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _total(legs: LegRows, name: str) -> int | None:
    counted = legs.counter("cache", name)
    return None if counted is None else round(counted.total)


def _ssd_written(legs: LegRows) -> int | None:
    written = [legs.counter(leg, "written_sectors") for leg in ("fast", "meta")]
    known = [each.total for each in written if each is not None]
    return round(sum(known)) * SECTOR_BYTES if known else None


def _cpu_share(legs: LegRows) -> float | None:
    busy, total = legs.counter("cpu", "busy"), legs.counter("cpu", "total")
    if busy is None or total is None or not total.total:
        return None
    return min(1.0, busy.total / total.total)
