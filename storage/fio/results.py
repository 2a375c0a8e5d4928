"""What an import gives: results of jobs, series of logs, histograms, and remarks about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from storage.fio.latency_bins import LatencyBins

Source = Literal["json", "terse", "text", "yabs-json", "yabs-text"]
Direction = Literal["read", "write", "trim", "mixed"]
DIRECTIONS: tuple[Direction, ...] = ("read", "write", "trim", "mixed")
Quantity = Literal["iops", "bandwidth", "slat", "clat", "lat"]


@dataclass(frozen=True, slots=True)
class Remark:
    """Why something was refused, or what has to be known of it: a stable code and a sentence."""

    code: str
    sentence: str
    file: str = ""


class FioRefusal(Exception):
    """A file, or a part of it, that cannot be imported."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence

    def remark(self, file: str) -> Remark:
        return Remark(self.code, self.sentence, file)


@dataclass(frozen=True, slots=True)
class IoLatency:
    """One of fio's three latencies of a direction, in nanoseconds."""

    mean_ns: float | None = None
    min_ns: float | None = None
    max_ns: float | None = None
    count: int | None = None
    printed_percentiles_ns: Mapping[float, float] = field(default_factory=dict)
    bins: LatencyBins | None = None

    @property
    def percentiles_from(self) -> Literal["bins", "percentile"] | None:
        if self.bins is not None:
            return "bins"
        return "percentile" if self.printed_percentiles_ns else None

    def percentile_ns(self, percent: float) -> float | None:
        """From the bins where there are any, else as fio printed it, else None."""
        if self.bins is not None:
            return self.bins.percentile_ns(percent)
        return self.printed_percentiles_ns.get(percent)


@dataclass(frozen=True, slots=True)
class DirectionResult:
    """What a job did in one direction."""

    total_ios: int | None = None
    io_bytes: int | None = None
    runtime_ms: int | None = None
    iops: float | None = None
    """The count divided by the run time; where a format has no count, the rate it prints."""
    iops_from: Literal["count", "printed"] | None = None
    iops_printed: float | None = None
    bytes_per_s: float | None = None
    slat: IoLatency | None = None
    clat: IoLatency | None = None
    lat: IoLatency | None = None
    reasons: tuple[Remark, ...] = ()

    @property
    def comparable(self) -> bool:
        return not self.reasons

    @property
    def latency(self) -> IoLatency | None:
        """From submission to completion where it was measured, else the whole time of an I/O."""
        return self.clat or self.lat


@dataclass(frozen=True, slots=True)
class JobResult:
    """One entry of an output: a job, a group of jobs, or a line of YABS."""

    file: str
    source: Source
    jobname: str
    directions: Mapping[Direction, DirectionResult]
    document: int = 0
    """Which document, report or output of the file."""
    index: int = 0
    """Its place in that document."""
    host: str | None = None
    group: int | None = None
    fio_version: str | None = None
    error: int | None = None
    grouped: bool = False
    """The figures are a group's; those of its single jobs are not in the file."""
    is_sum_of_others: bool = False
    sync: IoLatency | None = None
    """Of fsync and its like, which count as no I/O."""
    block_size_bytes: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    start_unix_ms: int | None = None
    reasons: tuple[Remark, ...] = ()

    @property
    def comparable(self) -> bool:
        """Whether its figures may stand beside those of other runs."""
        return not self.reasons

    @property
    def begins_later(self) -> bool:
        """Whether it waits for others or for a time before it begins."""
        waits = ("stonewall", "wait_for_previous", "startdelay", "start_delay")
        return any(self.options.get(option, "0") != "0" for option in waits)

    def not_comparable(self, reason: Remark) -> JobResult:
        return replace(self, reasons=(*self.reasons, reason))


@dataclass(frozen=True, eq=False, slots=True)
class LoggedSeries:
    """The rows of one job, quantity and direction in a log."""

    file: str
    quantity: Quantity
    direction: Direction
    job_number: int | None
    """The N of NAME_iops.N.log: fio counts its jobs from 1."""
    segment: int
    """Which of several jobs that share a file (`per_job_logs=0`)."""
    columns: int
    times_ms: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    """IOPS, KiB/s or nanoseconds."""
    every_io: bool = False
    """Each row is one I/O: rows count, the values are no rate."""
    sizes_kib: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Of the rows, where each is one I/O."""
    last_column_is_small: bool = False
    """It holds priorities rather than offsets."""

    @property
    def rows(self) -> int:
        return len(self.times_ms)

    @property
    def io_bytes(self) -> int | None:
        return round(float(self.sizes_kib.sum()) * 1024) if self.every_io else None

    @property
    def unit(self) -> str:
        return {"iops": "IOPS", "bandwidth": "KiB/s"}.get(self.quantity, "ns")


@dataclass(frozen=True, eq=False, slots=True)
class LoggedHistogram:
    """The rows of a histogram log for one direction."""

    file: str
    direction: Direction
    job_number: int | None
    segment: int
    times_ms: npt.NDArray[np.float64]
    rows: tuple[LatencyBins, ...]

    @property
    def last_ms(self) -> float:
        return float(self.times_ms[-1])

    def between(self, start_ms: float, end_ms: float) -> LatencyBins | None:
        """The sum of the rows that were written after `start_ms`, up to and at `end_ms`."""
        chosen = [
            bins
            for time_ms, bins in zip(self.times_ms, self.rows, strict=True)
            if start_ms < time_ms <= end_ms
        ]
        return LatencyBins.sum(chosen) if chosen else None

    @property
    def total(self) -> LatencyBins:
        return LatencyBins.sum(self.rows)


@dataclass(frozen=True, slots=True)
class Imported:
    """All that a set of files gave."""

    jobs: tuple[JobResult, ...] = ()
    series: tuple[LoggedSeries, ...] = ()
    histograms: tuple[LoggedHistogram, ...] = ()
    warnings: tuple[Remark, ...] = ()
    refusals: tuple[Remark, ...] = ()

    @property
    def one_run(self) -> list[JobResult]:
        """The jobs, if they are of one output and one host."""
        parts = [job for job in self.jobs if not job.is_sum_of_others]
        runs = {(job.file, job.document, job.host) for job in parts}
        return parts if len(runs) == 1 else []

    def job_of(self, number: int | None) -> JobResult | None:
        """The job that wrote the logs of a number: fio counts from 1, over one run alone."""
        parts = self.one_run
        if number is None or not 0 < number <= len(parts) or any(job.grouped for job in parts):
            return None
        return parts[number - 1]

    def __add__(self, other: Imported) -> Imported:
        return Imported(
            self.jobs + other.jobs,
            self.series + other.series,
            self.histograms + other.histograms,
            self.warnings + other.warnings,
            self.refusals + other.refusals,
        )
