"""A worker's part of a benchmark: have the next run done by a job, and store what came of it. A
worker that dies in between leaves a row with a time; the sweep sends it again.

Whatever is decided is decided in a transaction that holds the row of the benchmark: a person who
pauses or cancels it comes before all that, or sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from jobs import notify_workers
from jobs.benchmarks.gate_steps import advance_gate
from jobs.benchmarks.permission import permission_refusal
from jobs.benchmarks.settle import IsAtWork, settle
from jobs.models import Origin
from jobs.queue.submit import Busy, submit_for_host
from jobs.requester import Requester
from jobs.transport.errors import TransportError
from storage.benchmarks.matrix import PlannedRun
from storage.benchmarks.run_wish import wish_of
from storage.database_clock import database_now
from storage.host_data import clean_text
from storage.models import (
    Benchmark,
    BenchmarkPurpose,
    BenchmarkRun,
    BenchmarkState,
    Host,
    RunState,
)
from storage.models.benchmark import TO_FOLLOW, UNFINISHED
from storage.models.host import HostState
from storage.planner import Refused

LEASE: Final = timedelta(minutes=5)
"""So long a worker may take for one step, such as fetching a result; then another one tries."""
LOOK: Final = timedelta(seconds=5)
RETRY: Final = timedelta(minutes=1)
GIVEN_UP: Final = timedelta(hours=12)
"""So long a benchmark waits for what may pass; time outside its window does not count."""
MOST_FAILED: Final = 3
"""So many failed runs in a row end a benchmark: those that are left would fail too."""
PASSING: Final = frozenset(
    {
        "busy",
        "degraded",
        "host_key_changed",
        "inconsistent",
        "machine_changed",
        "no_space",
        "not_active",
        "twins",
    }
)
"""Refusals that no person needs to lift."""


def announce_due_benchmarks() -> None:
    """Messages for benchmarks of which a worker has something to do."""
    due = Benchmark.objects.filter(TO_FOLLOW, not_before__lte=database_now())
    for pk in due.values_list("pk", flat=True):
        notify_workers.send(notify_workers.FOLLOW_BENCHMARK, pk)


def follow_benchmark(benchmark_id: int) -> None:
    """Do what is due. To be called again does no harm."""
    benchmark = _claim(benchmark_id)
    if benchmark is None:
        return
    try:
        run = benchmark.runs.filter(state=RunState.RUNNING).first()
        if run is not None:
            settle(run)
        _go_on(benchmark)
    except IsAtWork:
        _come_back(benchmark, LOOK)
    except TransportError as error:
        _come_back(benchmark, RETRY, message=clean_text(error.message))


def _claim(benchmark_id: int) -> Benchmark | None:
    """The benchmark, if something is due and no other worker has it."""
    now = database_now()
    due = Benchmark.objects.filter(TO_FOLLOW, pk=benchmark_id, not_before__lte=now)
    with transaction.atomic():
        benchmark = due.select_for_update().first()
        if benchmark is not None:
            benchmark.not_before = now + LEASE
            benchmark.save(update_fields=["not_before"])
    return benchmark


@contextmanager
def _held(benchmark: Benchmark) -> Iterator[Benchmark]:
    """Its row as it is now, locked until the end of the transaction."""
    with transaction.atomic():
        yield Benchmark.objects.select_for_update().get(pk=benchmark.pk)


def _come_back(benchmark: Benchmark, after: timedelta, **fields: Any) -> None:
    """Unless a person wants something of it at once."""
    rows = Benchmark.objects.filter(pk=benchmark.pk, ended_at=None)
    rows = rows.filter(not_before=benchmark.not_before)
    rows.update(not_before=database_now() + after, **fields)


def _go_on(benchmark: Benchmark) -> None:
    """No run is at work: begin the next one, rest, or end."""
    with _held(benchmark) as held:
        if held.ended_at is not None or held.runs.filter(state=RunState.RUNNING).exists():
            return
        host = Host.objects.without_inventory().get(benchmarks=held)
        is_removed = host.state == HostState.REMOVED
        if held.state == BenchmarkState.PAUSED and not is_removed:
            _set(held, not_before=None)
        elif held.state not in UNFINISHED:
            _set(held, not_before=None, ended_at=database_now())
        elif held.purpose != BenchmarkPurpose.GATE or _is_in_boot(held, host):
            _begin_next(held, host)


def _is_in_boot(held: Benchmark, host: Host) -> bool:
    """Whether the host is in a boot in which the gate has runs to begin; if not, the gate rests, or
    is over."""
    if (reason := _final_reason(held, host)) is not None:
        _end(held, BenchmarkState.FAILED, reason)
        return False
    rest = advance_gate(held, host)
    if rest is None:
        return True
    if rest.is_over:
        _end(held, BenchmarkState.DONE, None)
        return False
    now = database_now()
    _set(
        held,
        state=BenchmarkState.RUNNING,
        begun_at=held.begun_at or now,
        not_before=None if rest.again is None else now + rest.again,
        waits_since=None,
        message=rest.message[:512],
        correction="",
    )
    return False


def _begin_next(held: Benchmark, host: Host) -> None:
    run = held.runs.filter(state=RunState.WANTED).first()
    if run is None:
        is_done = held.runs.filter(state=RunState.DONE).exists()
        to = BenchmarkState.DONE if is_done else BenchmarkState.FAILED
        _end(held, to, None if is_done else _last_failure(held, 1))
    elif (reason := _final_reason(held, host)) is not None:
        _end(held, BenchmarkState.FAILED, reason)
    elif (opening := _opening(held)) is not None:
        message = f"Waits for its window, {held.window}."
        _set(held, not_before=opening, message=message, correction="", waits_since=None)
    elif (other := _before(held)) is not None:
        message = f"Waits until the benchmark “{other}” has ended."[:512]
        _set(held, not_before=database_now() + RETRY, message=message, correction="")
    else:
        _submit(held, host, run)


def _final_reason(held: Benchmark, host: Host) -> Refused | None:
    """Why no further run makes sense."""
    if host.state == HostState.REMOVED:
        return Refused("not_found", f"{host} was removed.", "Choose another host.")
    refusal = permission_refusal(host) if host.state == HostState.ACTIVE else None
    return refusal or _last_failure(held, MOST_FAILED)


def _last_failure(held: Benchmark, in_a_row: int) -> Refused | None:
    """Why the last run failed, where the last so many have."""
    ended = list(held.runs.exclude(ended_at=None).order_by("-ended_at", "-pk")[:in_a_row])
    if len(ended) < in_a_row or any(run.state != RunState.FAILED for run in ended):
        return None
    return Refused("not_now", ended[0].message, ended[0].correction)


def _opening(held: Benchmark) -> datetime | None:
    return None if held.window is None else held.window.next_opening(database_now())


def _before(held: Benchmark) -> Benchmark | None:
    """A benchmark of the host that was ordered earlier: two that take turns would disturb each
    other's caches."""
    others = Benchmark.objects.filter(host=held.host_id, ended_at=None, pk__lt=held.pk)
    return others.exclude(not_before=None).first()


def _submit(held: Benchmark, host: Host, run: BenchmarkRun) -> None:
    wish = wish_of(held.matrix, PlannedRun(run.matrix_cell, run.repeat), run.key)
    requester = Requester(held.actor, held.address, Origin(held.request_origin), held.token)
    try:
        with transaction.atomic():
            submit_for_host(host, wish, requester, dry_run=False, benchmark_run=run)
    except Busy as busy:
        _wait(held, Refused("busy", str(busy), ""))
    except Refused as refused:
        if refused.code in PASSING:
            _wait(held, refused)
        else:
            _end(held, BenchmarkState.FAILED, refused)
    else:
        now = database_now()
        run.state, run.begun_at, run.is_on_host = RunState.RUNNING, now, True
        run.save(update_fields=["state", "begun_at", "is_on_host"])
        _set(
            held,
            state=BenchmarkState.RUNNING,
            begun_at=held.begun_at or now,
            not_before=now + LOOK,
            waits_since=None,
            message="",
            correction="",
        )


def _wait(held: Benchmark, refused: Refused) -> None:
    """Try again soon, and not for ever."""
    now = database_now()
    since = held.waits_since or now
    if held.window is not None:
        since = max(since, held.window.last_opening(now))
    if now - since > GIVEN_UP:
        _end(held, BenchmarkState.FAILED, refused)
        return
    texts = {"message": refused.message[:512], "correction": refused.correction[:512]}
    _set(held, not_before=now + RETRY, waits_since=since, **texts)


def _end(held: Benchmark, to: BenchmarkState, reason: Refused | None) -> None:
    now = database_now()
    held.runs.filter(state=RunState.WANTED).update(state=RunState.CANCELLED, ended_at=now)
    _set(
        held,
        state=to,
        ended_at=now,
        not_before=None,
        waits_since=None,
        message="" if reason is None else reason.message[:512],
        correction="" if reason is None else reason.correction[:512],
    )


def _set(held: Benchmark, **fields: Any) -> None:
    Benchmark.objects.filter(pk=held.pk).update(**fields)
