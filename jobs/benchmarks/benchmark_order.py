"""What people do with a benchmark: order it, pause it, resume it, give it another window, and
cancel it."""

from __future__ import annotations

from typing import Any, Final

from django.db import transaction

from jobs import notify_workers
from jobs.benchmarks.permission import demand_allowed
from jobs.engine.finish import has_changed_host
from jobs.models import Job, State
from jobs.queue.job_windows import begins_at, window_fields
from jobs.queue.submit import cancel, check_contactable
from jobs.requester import Requester
from storage.benchmarks.matrix import PlannedRun, Spec, demand_sound, runs_of
from storage.benchmarks.run_wish import args_of, wish_of
from storage.database_clock import database_now
from storage.models import (
    Benchmark,
    BenchmarkPurpose,
    BenchmarkRun,
    BenchmarkState,
    Host,
    RunState,
)
from storage.models.benchmark import TITLE_LIMIT, UNFINISHED
from storage.models.host import HostState
from storage.planner import Refused
from storage.planner.benchmark_wish import quota_bytes, run_benchmark
from storage.planner.daily_window import DailyWindow
from storage.stored_inventory import inventory_of

NO_RUN: Final = "aaaaaaaaaaaaaaaa"
"""Placeholder for the key of a run that is only previewed."""


def order_refusal(host: Host, spec: Spec) -> Refused | None:
    """Why the host cannot do this benchmark, as of its last reports; None where it can."""
    try:
        demand_sound(spec)
        if host.state == HostState.ACTIVE:
            demand_allowed(host, max(quota_bytes(args_of(each, spec.seed)) for each in spec.cells))
        check_contactable(host)
        facts = inventory_of(host)
        if facts is not None:
            for cell in spec.cells:
                run_benchmark(facts, wish_of(spec, PlannedRun(cell, 0), NO_RUN))
    except Refused as refused:
        return refused
    return None


@transaction.atomic
def order(
    host: Host,
    spec: Spec,
    requester: Requester,
    *,
    title: str = "",
    purpose: BenchmarkPurpose = BenchmarkPurpose.PLAIN,
    window: DailyWindow | None = None,
) -> Benchmark:
    """Have workers do all runs of a matrix, one after the other. Raises `Refused`."""
    made = create_benchmark(host, spec, requester, title=title, purpose=purpose, window=window)
    BenchmarkRun.objects.bulk_create(
        BenchmarkRun(benchmark=made, number=number, cell=run.cell.to_json(), repeat=run.repeat)
        for number, run in enumerate(runs_of(spec), 1)
    )
    notify_workers.benchmark(made.pk)
    return made


def create_benchmark(
    host: Host,
    spec: Spec,
    requester: Requester,
    *,
    title: str,
    purpose: BenchmarkPurpose,
    window: DailyWindow | None,
) -> Benchmark:
    """One without any run yet. Raises `Refused`."""
    if (refusal := order_refusal(host, spec)) is not None:
        raise refusal
    if window is not None:
        begins_at(host, window)
    fields: dict[str, Any] = {
        "host": host,
        "spec": spec.to_json(),
        "title": title[:TITLE_LIMIT],
        "purpose": purpose,
        "actor": requester.actor,
        "address": requester.address,
        "request_origin": requester.origin,
        "token": requester.token,
    }
    made = Benchmark.objects.create(**fields, **window_fields(window))
    made.refresh_from_db()
    return made


@transaction.atomic
def pause(benchmark: Benchmark, requester: Requester, *, stops_run: bool = False) -> None:
    """Begin no further run until a person resumes it. With `stops_run` the run at work ends now,
    says how far it came, and is done again later; one that only waits does so in any case. Raises
    `Refused`."""
    if _locked(benchmark).state == BenchmarkState.PAUSED and not stops_run:
        return
    running = benchmark.runs.filter(state=RunState.RUNNING)
    if stops_run or not _is_begun(benchmark):
        running.update(is_put_off=True)
        _cancel_jobs(benchmark, requester)
    _move(
        benchmark,
        BenchmarkState.PAUSED,
        message=f"Paused by {requester.name}.",
        not_before=database_now() if running.exists() else None,
    )


@transaction.atomic
def resume(benchmark: Benchmark, requester: Requester) -> None:
    """Resume a paused benchmark. Raises `Refused`."""
    if _locked(benchmark).state != BenchmarkState.PAUSED:
        return
    _move(
        benchmark,
        BenchmarkState.RUNNING if benchmark.begun_at else BenchmarkState.WANTED,
        message=f"Resumed by {requester.name}.",
        not_before=database_now(),
        waits_since=None,
    )


@transaction.atomic
def cancel_benchmark(benchmark: Benchmark, requester: Requester) -> None:
    """End it: the run at work is stopped, and says how far it came. What was measured stays. Raises
    `Refused`."""
    _locked(benchmark)
    now = database_now()
    wanted = benchmark.runs.filter(state=RunState.WANTED)
    wanted.update(state=RunState.CANCELLED, ended_at=now)
    _cancel_jobs(benchmark, requester)
    _move(
        benchmark,
        BenchmarkState.CANCELLED,
        message=f"Cancelled by {requester.name}.",
        not_before=now,
    )


@transaction.atomic
def change_window(benchmark: Benchmark, window: DailyWindow | None) -> None:
    """Let its next runs begin in another window, or (None) at any time. Raises `Refused`."""
    locked = _locked(benchmark)
    if window is not None and locked.host is not None:
        begins_at(locked.host, window)
    _move(
        benchmark,
        BenchmarkState(locked.state),
        **window_fields(window),
        not_before=None if locked.not_before is None else database_now(),
    )


def _locked(benchmark: Benchmark) -> Benchmark:
    """Its row, which no worker changes until the end of the transaction. Raises `Refused` for one
    that is over."""
    locked = Benchmark.objects.select_for_update().select_related(None).get(pk=benchmark.pk)
    if locked.state not in UNFINISHED:
        raise Refused("too_late", "The benchmark is over.", "Order another one.")
    return locked


def _is_begun(benchmark: Benchmark) -> bool:
    """Whether a job of it is at work on the host."""
    jobs = Job.objects.unfinished().filter(benchmark_run__benchmark=benchmark)
    return any(job.state == State.RUNNING or has_changed_host(job) for job in jobs)


def _cancel_jobs(benchmark: Benchmark, requester: Requester) -> None:
    for job in Job.objects.unfinished().filter(benchmark_run__benchmark=benchmark):
        cancel(job, requester)


def _move(benchmark: Benchmark, to: BenchmarkState, **fields: Any) -> None:
    Benchmark.objects.filter(pk=benchmark.pk).update(state=to, **fields)
    benchmark.refresh_from_db()
    if benchmark.not_before is not None:
        notify_workers.benchmark(benchmark.pk)
