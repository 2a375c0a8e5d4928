"""A run whose job is over: its result is fetched and read, and the run says what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Max

from jobs.benchmarks import fetch
from jobs.models import Job, State
from jobs.transport.errors import AgentFailed, TransportError
from storage.benchmarks.result_files import RunResult, read_result
from storage.database_clock import database_now
from storage.host_data import BadHostData, clean_text
from storage.models import Benchmark, BenchmarkRun, BenchmarkState, Host, RunState
from storage.models.host import HostState

SILENT: Final = timedelta(hours=1)
"""A host that does not answer for so long after the end of a job keeps its result."""
MOST_TRIES: Final = 3
"""So often a run is begun that something stops before its end."""
HOPELESS: Final = frozenset({"observe_only", "unknown_verb", "vg_not_allowed"})
"""What keeps a host from one run keeps it from all."""


class IsAtWork(Exception):
    """The job of the run is not over."""


def settle(run: BenchmarkRun) -> None:
    """Close a run whose job is over. Raises `IsAtWork`, and `TransportError` where the host must be
    asked again."""
    job = run.jobs.order_by("-pk").first()
    if job is None or not (job.is_over or job.state == State.NEEDS_ATTENTION):
        raise IsAtWork
    host = Host.objects.without_inventory().get(pk=job.host_id)
    result, problem = None, ""
    try:
        result = _fetched(run, host)
    except BadHostData as error:
        problem = f"What the host says of the run cannot be used: {error}."
    except TransportError as error:
        if not _is_silent_for_good(job, host, error):
            raise
        problem = f"Its result could not be fetched: {error.message}."
    _close(run, job, result, problem)
    if result is not None or not problem:
        _forget(run, host)


def _fetched(run: BenchmarkRun, host: Host) -> RunResult | None:
    """None where the host has no result: nothing was begun."""
    listed = fetch.results_on(host).get(run.key)
    if listed is None and not run.files.exists():
        return None
    if listed is not None:
        fetch.fetch_result(run, host, listed)
    return read_result(contents_of(run), run.matrix_cell)


def contents_of(run: BenchmarkRun) -> Mapping[str, bytes]:
    """Its raw files."""
    return {file.name: file.content for file in run.files.all()}


def _is_silent_for_good(job: Job, host: Host, error: TransportError) -> bool:
    if host.state == HostState.REMOVED:
        return True
    since = job.ended_at or job.updated_at
    if isinstance(error, AgentFailed) and error.code == "unknown_verb":
        return True
    return database_now() - since > SILENT


def _forget(run: BenchmarkRun, host: Host) -> None:
    """The host may remove its files. One that does not answer now keeps them until its next run."""
    fetched = BenchmarkRun.objects.filter(benchmark__host=host, is_on_host=True)
    at_work = Job.objects.unfinished().filter(benchmark_run__isnull=False).values("benchmark_run")
    for each in fetched.exclude(ended_at=None).exclude(pk__in=at_work):
        try:
            fetch.forget_result(host, each.key)
        except TransportError:
            return
        BenchmarkRun.objects.filter(pk=each.pk).update(is_on_host=False)


@transaction.atomic
def _close(run: BenchmarkRun, job: Job, result: RunResult | None, problem: str) -> None:
    benchmark = Benchmark.objects.select_for_update().get(pk=run.benchmark_id)
    current = BenchmarkRun.objects.get(pk=run.pk)
    if current.state != RunState.RUNNING:
        return
    if current.is_put_off and result is None and not problem:
        # Nothing of it was begun on the host.
        current.state, current.begun_at = RunState.WANTED, None
        current.is_put_off, current.is_on_host = False, False
        current.save(update_fields=["state", "begun_at", "is_put_off", "is_on_host"])
        return
    now = database_now()
    state, message, correction = _verdict(benchmark, current, job, result, problem)
    fields: dict[str, Any] = {
        "state": state,
        "ended_at": now,
        "message": clean_text(message),
        "correction": clean_text(correction),
    }
    if result is not None:
        fields |= {
            "outcome": result.outcome,
            "boot_id": result.boot_id,
            "kernel": result.kernel,
            "fio_version": result.fio_version,
            "reached_seconds": result.reached_seconds,
            "conditions": result.conditions,
            "summary": None if result.summary is None else result.summary.to_json(),
        }
    BenchmarkRun.objects.filter(pk=run.pk).update(**fields)
    if state == RunState.VOID:
        _again(benchmark, current)
    elif state == RunState.CANCELLED and benchmark.state != BenchmarkState.CANCELLED:
        _end_all(benchmark, BenchmarkState.CANCELLED, message, correction)
    elif job.state == State.NEEDS_ATTENTION or job.error.get("code") in HOPELESS:
        _end_all(benchmark, BenchmarkState.FAILED, message, correction)


def _verdict(
    benchmark: Benchmark, run: BenchmarkRun, job: Job, result: RunResult | None, problem: str
) -> tuple[RunState, str, str]:
    """What became of the run, why, and what to do."""
    if benchmark.state == BenchmarkState.CANCELLED:
        return RunState.CANCELLED, benchmark.message, ""
    if run.is_put_off and result is not None and result.outcome != "finished":
        return RunState.VOID, "The benchmark was paused. The run is done again.", ""
    if job.state == State.NEEDS_ATTENTION:
        what = job.error.get("message", job.explanation)
        return RunState.FAILED, f"Its job needs a decision: {what}", "Decide on the job's page."
    if job.state == State.CANCELLED:
        return RunState.CANCELLED, f"The job of run {run.number} was {job.explanation}.", ""
    if problem:
        return RunState.FAILED, problem, "Look at the job of the run, and order it again."
    error = job.error if job.state == State.FAILED else {}
    if result is None:
        why = error.get("message") or "The host has no result of it."
        return RunState.FAILED, str(why), str(error.get("correction", ""))
    if result.outcome == "finished":
        return RunState.DONE, result.message, ""
    why = result.message or str(error.get("message", "It ended early."))
    correction = result.correction or str(error.get("correction", ""))
    if result.outcome == "stopped" and _tries(run) < MOST_TRIES:
        return RunState.VOID, f"{why} The run is done again.", ""
    return RunState.FAILED, why, correction


def _tries(run: BenchmarkRun) -> int:
    """How often the run was begun, this time too; when a person paused it, that does not count."""
    same = BenchmarkRun.objects.filter(
        benchmark=run.benchmark_id, cell=run.cell, repeat=run.repeat, is_put_off=False
    )
    return same.filter(state=RunState.VOID).count() + 1


def _again(benchmark: Benchmark, run: BenchmarkRun) -> None:
    last = benchmark.runs.aggregate(last=Max("number"))["last"]
    BenchmarkRun.objects.create(
        benchmark=benchmark,
        number=last + 1,
        cell=run.cell,
        repeat=run.repeat,
        gate_boot=run.gate_boot,
    )


def _end_all(benchmark: Benchmark, to: BenchmarkState, message: str, correction: str) -> None:
    """Begin no further run: cancel those that wait."""
    now = database_now()
    benchmark.runs.filter(state=RunState.WANTED).update(state=RunState.CANCELLED, ended_at=now)
    Benchmark.objects.filter(pk=benchmark.pk).update(
        state=to,
        ended_at=now,
        not_before=None,
        waits_since=None,
        message=clean_text(message),
        correction=clean_text(correction),
    )
