"""Benchmarks with invented results: IOPS that rise as a cache fills, hit rates, latencies, repeats
that differ a little."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import exp
from random import Random
from typing import Any, Final

from storage.benchmarks.matrix import (
    CacheState,
    Cell,
    PlannedRun,
    Profile,
    ProfileChoice,
    Spec,
    TargetChoice,
    TargetKind,
    runs_of,
)
from storage.benchmarks.summary import (
    MOST_POINTS,
    PERCENTILES,
    DirectionSummary,
    EndSlope,
    JobSummary,
    RunSeries,
    RunSummary,
    SteadySummary,
)
from storage.byte_sizes import GIB
from storage.models import Benchmark, BenchmarkRun, BenchmarkState, Host, RunState
from tests import make

KERNEL: Final = "6.1.0-37-amd64"
BOOT: Final = "6c1f7f3e-2f5b-4a7c-9a40-000000000000"
STEP_MS: Final = 500
SSD_IOPS, HDD_IOPS = 104_000.0, 940.0
SSD_MS, HDD_MS = 0.14, 9.0
EVENING: Final = Spec(
    make.VG_UUID,
    "vg0",
    (
        TargetChoice(TargetKind.SSD),
        TargetChoice(TargetKind.HDD),
        TargetChoice(TargetKind.BCACHE, "writethrough"),
        TargetChoice(TargetKind.LVMCACHE, "writethrough"),
    ),
    (ProfileChoice(Profile.ZIPF_READ, jobs=2, iodepth=8),),
    (4 * GIB,),
    60,
    cache_bytes=(4 * GIB,),
    repeats=3,
)
"""A short one of four targets."""
RISING, LEVEL = EndSlope(0.03, 0.02, 0.04), EndSlope(0.0, -0.01, 0.01)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """IOPS at the end, the seconds that a cache takes to fill, the hit rate at the end, and by how
    much repeats differ."""

    iops: float
    fill_seconds: float = 0.0
    hit_rate: float | None = None
    spread: float = 0.015


def behaviour(cell: Cell) -> Behaviour:
    """As the published runs had it: a cutoff costs bcache much, junk costs lvmcache everything at
    first; data that outgrow the cache cost any of them."""
    match cell.target:
        case TargetKind.SSD:
            return Behaviour(SSD_IOPS)
        case TargetKind.HDD:
            return Behaviour(HDD_IOPS, spread=0.03)
        case TargetKind.BCACHE if cell.sequential_cutoff_kib:
            best = Behaviour(12_700, 90, 0.976)
        case TargetKind.BCACHE:
            best = Behaviour(68_800, 60, 0.9962)
        case _:
            fill = {CacheState.NEW: 40.0, CacheState.WARMED: 1.0, CacheState.JUNK: 500.0}
            best = Behaviour(92_000, fill[cell.state], 0.9974)
    outgrown = max(0.0, cell.data_bytes / cell.cache_bytes - 1)
    missed = 1 - (best.hit_rate or 0) + 0.02 * outgrown
    return replace(best, iops=best.iops / (1 + 0.9 * outgrown), hit_rate=1 - missed)


def summary(cell: Cell, random: Random, seconds: float | None = None) -> RunSummary:
    """What a run of the cell measured; `seconds` where it was stopped before its end."""
    of, reached = behaviour(cell), seconds or float(cell.seconds)
    level = of.iops * random.lognormvariate(0, of.spread)
    ios = round(level * reached)
    jobs = [level * share for share in _shares(cell)]
    return RunSummary(
        seconds=cell.seconds,
        reached_seconds=reached,
        iops=level,
        ios=ios,
        bytes_s=level * cell.block_bytes,
        read=DirectionSummary(
            ios=ios,
            iops=level,
            bytes_s=level * cell.block_bytes,
            mean_ns=1e9 * cell.jobs * cell.iodepth / level,
            percentiles=_percentiles(of, random),
        ),
        write=None,
        jobs=tuple(
            JobSummary(number=n, ios=round(each * reached), iops=each)
            for n, each in enumerate(jobs, 1)
        ),
        series=_series(of, level, reached, cell, random),
        hit_rate=of.hit_rate,
        end_hit_rate=of.hit_rate,
        promotions=None if of.hit_rate is None else 61_000,
        ssd_written_bytes=None if of.hit_rate is None else cell.cache_bytes + 800_000_000,
        cpu_share=0.31 if level > SSD_IOPS / 2 else 0.06,
        first_30s_iops=level * (1 if not of.fill_seconds else _filled(15, of.fill_seconds)),
        seconds_to_90=2.3 * of.fill_seconds + 1,
        steady=SteadySummary(
            is_steady=True, mean=level, range_share=0.04, slope_share=0.01, first_round=5,
            last_round=9, rounds=9,
        ),
        end_slope=RISING if of.fill_seconds > 100 else LEVEL,
        ending="still rising, +3 % an hour (2 to 4)" if of.fill_seconds > 100 else "",
    )  # fmt: skip


def _shares(cell: Cell) -> list[float]:
    """bcache without a cutoff serves its streams unequally."""
    is_unfair = cell.target == TargetKind.BCACHE and not cell.sequential_cutoff_kib
    weights = [3.0 if is_unfair and not n else 1.0 for n in range(cell.jobs)]
    return [weight / sum(weights) for weight in weights]


def _filled(second: float, fill_seconds: float) -> float:
    return 1.0 if not fill_seconds else 1 - 0.985 * exp(-second / fill_seconds)


def _series(of: Behaviour, level: float, reached: float, cell: Cell, random: Random) -> RunSeries:
    count = round(reached * 1000 / STEP_MS)
    every = -(-count // MOST_POINTS)
    places = [n * every * STEP_MS / 1000 for n in range(count // every)]
    noise = [random.lognormvariate(0, 0.05) for _ in places]
    iops = tuple(
        round(level * _filled(at, of.fill_seconds) * each, 1)
        for at, each in zip(places, noise, strict=True)
    )
    rates: tuple[float | None, ...] = ()
    if of.hit_rate is not None:
        first = 0.7 if cell.state == CacheState.JUNK else 0.2
        rates = tuple(
            round(first + (of.hit_rate - first) * _filled(at, of.fill_seconds), 4) for at in places
        )
    return RunSeries(step_ms=every * STEP_MS, iops=iops, hit_rate=rates)


def _percentiles(of: Behaviour, random: Random) -> tuple[float, ...]:
    """Most requests take as long as the SSD; those that miss take as long as the HDD."""
    missed = 100 * (1 - (of.hit_rate if of.hit_rate is not None else of.iops > SSD_IOPS / 2))
    noise = random.lognormvariate(0, 0.02)
    return tuple(
        1e6 * noise * (SSD_MS if percent <= 100 - missed else HDD_MS) * (1 + percent / 100) ** 1.4
        * (1 + (2.0 if percent > 99 else 0.0))
        for percent in PERCENTILES
    )  # fmt: skip


def make_benchmark(
    host: Host | None,
    spec: Spec,
    now: datetime,
    *,
    done: int | None = None,
    seed: int = 1,
    **fields: Any,
) -> Benchmark:
    """A benchmark of which the first `done` runs are over, or all; of others the next one runs."""
    planned, random = runs_of(spec), Random(seed)
    done = len(planned) if done is None else done
    is_over = done == len(planned)
    begun = now - timedelta(seconds=(done + 0.4) * 1.3 * spec.seconds)
    state = BenchmarkState.DONE if is_over else BenchmarkState.RUNNING
    values: dict[str, Any] = {
        "host": host,
        "spec": spec.to_json(),
        "state": state,
        "request_origin": "ui",
        "begun_at": begun,
        "ended_at": now if is_over else None,
    }
    benchmark = Benchmark.objects.create(**values | fields)
    BenchmarkRun.objects.bulk_create(_runs(benchmark, planned, done, begun, random))
    return benchmark


def _runs(
    benchmark: Benchmark, planned: Iterable[PlannedRun], done: int, begun: datetime, random: Random
) -> list[BenchmarkRun]:
    rows = []
    for number, each in enumerate(planned, 1):
        row = BenchmarkRun(
            benchmark=benchmark, number=number, cell=each.cell.to_json(), repeat=each.repeat
        )
        start = begun + timedelta(seconds=(number - 1) * 1.3 * each.cell.seconds)
        if number <= done:
            row.state, row.outcome, row.reached_seconds = (
                RunState.DONE,
                "finished",
                each.cell.seconds,
            )
            row.begun_at, row.ended_at = start, start + timedelta(seconds=1.2 * each.cell.seconds)
            row.kernel, row.boot_id, row.fio_version = KERNEL, BOOT, "fio-3.33"
            row.summary = summary(each.cell, random).to_json()
        elif number == done + 1:
            row.state, row.begun_at = RunState.RUNNING, start
        rows.append(row)
    return rows
