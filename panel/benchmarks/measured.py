"""Runs as pages compare them: what was measured, under which conditions, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Any, Final

from panel.benchmarks.benchmark_words import STATES
from storage.agent.benchmark.profiles import PROFILES
from storage.analysis.comparison import Conditions
from storage.benchmarks.matrix import CACHED, BadSpec, Cell, Profile
from storage.benchmarks.run_conditions import reported_conditions
from storage.benchmarks.summary import PERCENTILES, DirectionSummary, RunSummary
from storage.byte_sizes import KIB
from storage.formatting import counted, size
from storage.models import Benchmark, BenchmarkOrigin, BenchmarkRun

NS_IN_MS: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a run did on what. An imported run says less: its `target` is the name of its job, and
    what it does not say is None or "". `load` names the profile with all that shapes it, for
    programs; `load_words` is the profile and `streams` the rest, for people."""

    target: str
    load: str
    load_words: str
    streams: str = ""
    data_bytes: int | None = None
    cache_bytes: int = 0
    mode: str = ""
    chunk_kib: int = 0
    cutoff_kib: int | None = None
    state: str = ""

    @classmethod
    def of_cell(cls, cell: Cell) -> Setup:
        """Of a run that was ordered here."""
        own = " ".join(f"{name}={value}" for name, value in cell.options)
        each = f"{counted(cell.iodepth, 'request')} of {size(cell.block_bytes)} in flight"
        return cls(
            target=cell.target,
            load=cell.load,
            load_words=own if cell.profile == Profile.OWN else PROFILES[cell.profile].title,
            streams=f"{counted(cell.jobs, 'stream')}, each with {each}",
            data_bytes=cell.data_bytes,
            cache_bytes=cell.cache_bytes,
            mode=cell.mode,
            chunk_kib=cell.chunk_kib,
            cutoff_kib=cell.sequential_cutoff_kib if cell.has_cutoff else None,
            state=cell.state if cell.target in CACHED else "",
        )

    @property
    def has_cache(self) -> bool:
        return self.target in CACHED

    @property
    def data_to_cache(self) -> float | None:
        """Bytes of data for one byte of cache."""
        if self.data_bytes is None or not self.cache_bytes:
            return None
        return self.data_bytes / self.cache_bytes

    @property
    def parts(self) -> dict[str, str]:
        """In words, what tells setups of one target apart, in the order in which it is said."""
        cutoff = ""
        if self.cutoff_kib is not None:
            cutoff = f"cutoff {size(self.cutoff_kib * KIB)}" if self.cutoff_kib else "no cutoff"
        return {
            "mode": self.mode,
            "cache": size(self.cache_bytes) if self.cache_bytes else "",
            "chunk": f"chunks of {size(self.chunk_kib * KIB)}" if self.chunk_kib else "",
            "cutoff": cutoff,
            "state": STATES.get(self.state, self.state),
            "data": f"{size(self.data_bytes)} of data" if self.data_bytes else "",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSource:
    """The benchmark of a run. `place` is its host or, for imported figures, their machine; "" where
    it must stay unnamed."""

    key: str
    title: str
    origin: str
    place: str = ""

    @property
    def is_from_elsewhere(self) -> bool:
        return self.origin != BenchmarkOrigin.ORDERED


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """One run with its result. `boot_id` is "" where it is not known. `reasons` say why its figures
    may be looked at, and not compared."""

    source: MeasuredSource
    number: int
    repeat: int
    setup: Setup
    summary: RunSummary
    conditions: Conditions
    boot_id: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What names it in addresses, in any benchmark."""
        return f"{self.source.key}.{self.number}"

    @property
    def direction(self) -> DirectionSummary | None:
        """The reads, or of a run that only wrote, the writes."""
        return self.summary.read or self.summary.write

    def percentile_ms(self, percent: float) -> float | None:
        """Completion latency below which so many percent of the requests stayed."""
        percentiles = self.direction.percentiles if self.direction is not None else ()
        if not percentiles:
            return None
        latency_ns = percentiles[PERCENTILES.index(percent)]
        return None if latency_ns is None else latency_ns / NS_IN_MS

    @property
    def mean_ms(self) -> float | None:
        """Mean completion latency."""
        latency_ns = self.direction.mean_ns if self.direction is not None else None
        return None if latency_ns is None else latency_ns / NS_IN_MS


def middle_of(runs: Sequence[MeasuredRun]) -> MeasuredRun:
    """The run whose IOPS are the median, or just below it: the one to draw for all of them."""
    middle = median_low([run.summary.iops for run in runs])
    return next(run for run in runs if run.summary.iops == middle)


def source_of(benchmark: Benchmark) -> MeasuredSource:
    """Where its runs were measured."""
    place = benchmark.host.name if benchmark.host is not None else _machine(benchmark.spec)
    return MeasuredSource(
        key=benchmark.key,
        title=str(benchmark),
        origin=BenchmarkOrigin(benchmark.origin),
        place=place,
    )


def measured_runs(
    benchmark: Benchmark, rows: Iterable[BenchmarkRun] | None = None
) -> tuple[MeasuredRun, ...]:
    """Its runs that have a result."""
    source = source_of(benchmark)
    rows = benchmark.runs.all() if rows is None else rows
    return tuple(measured_run(source, row) for row in rows if row.summary is not None)


def measured_run(source: MeasuredSource, row: BenchmarkRun) -> MeasuredRun:
    """The run of a row that has a result."""
    setup = setup_of(row.cell)
    known = comparable(setup, reported_conditions(row.conditions))
    return MeasuredRun(
        source=source,
        number=row.number,
        repeat=row.repeat,
        setup=setup,
        summary=RunSummary.from_json(row.summary),
        conditions=replace(known, kernel=row.kernel or None, fio_version=row.fio_version or None),
        boot_id=row.boot_id,
        reasons=tuple(map(str, row.conditions.get("not_comparable", ()))),
    )


def setup_of(cell: dict[str, Any]) -> Setup:
    """What a stored cell means; one from elsewhere has a `name` and a `load` alone."""
    try:
        return Setup.of_cell(Cell.from_json(cell))
    except BadSpec:
        load = str(cell.get("load", "")) or "unknown load"
        return Setup(target=str(cell.get("name", "")), load=load, load_words=load)


def comparable(setup: Setup, known: Conditions) -> Conditions:
    """What the host said of itself, with what was ordered."""
    return replace(
        known,
        target=setup.target,
        profile=setup.load,
        data_to_cache=setup.data_to_cache,
        cache_mode=setup.mode or None,
        chunk_bytes=setup.chunk_kib * KIB or None,
        sequential_cutoff_bytes=None if setup.cutoff_kib is None else setup.cutoff_kib * KIB,
        state_before=setup.state or None,
    )


def _machine(spec: dict[str, Any]) -> str:
    return str(spec.get("machine", ""))
