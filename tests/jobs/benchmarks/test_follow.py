"""Whole benchmarks: ordered, run by run on the fake host, fetched, and ended."""

from __future__ import annotations

import pytest

from jobs.models import AuditEntry, Kind, State
from storage.benchmarks.summary import RunSummary
from storage.models import BenchmarkState, Host, RunState
from tests.fake.host import FakeHost
from tests.jobs.benchmarks.playing import (
    BCACHE,
    HDD,
    LVMCACHE,
    SSD,
    ordered,
    played,
    scratch_on,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("target", [HDD, SSD, LVMCACHE, BCACHE], ids=lambda each: each.target)
def test_a_benchmark_runs_to_its_end_and_leaves_nothing_on_the_host(
    bench_host: Host, fake_host: FakeHost, target: object
) -> None:
    benchmark = played(ordered(bench_host, targets=(target,)))
    assert (benchmark.message, benchmark.state) == ("", BenchmarkState.DONE)
    run = benchmark.runs.get()
    assert (run.state, run.outcome, run.message) == (RunState.DONE, "finished", "")
    assert (run.reached_seconds, run.fio_version, run.is_on_host) == (10, "3.33", False)
    assert run.boot_id and run.kernel and run.conditions["disks"]
    summary = RunSummary.from_json(run.summary)
    assert summary.iops > 0 and len(summary.jobs) == 2
    assert scratch_on(fake_host) == []
    names = {file.name for file in run.files.all()}
    assert {"run.json", "conditions.json", "fio.json", "legs.jsonl", "iops.1.log"} <= names
    job = run.jobs.get()
    assert (job.kind, job.state, job.sentence[:14]) == (
        Kind.BENCHMARK,
        State.SUCCEEDED,
        "Benchmark run:",
    )
    assert AuditEntry.objects.filter(job=job).exists()
