"""Whole benchmarks: ordered, run by run on the fake host, fetched, and ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta

import pytest
from django.db import IntegrityError, transaction

from jobs import notify_workers, tasks
from jobs.benchmarks import fetch
from jobs.benchmarks.benchmark_order import cancel_benchmark, change_window, order, pause, resume
from jobs.benchmarks.follow import GIVEN_UP, announce_due_benchmarks
from jobs.engine import runner
from jobs.engine.decisions import resume as resume_job
from jobs.hosts.refresh import refresh
from jobs.models import AuditEntry, Job, Kind, State
from jobs.problems import problems_of
from jobs.queue.removal import remove
from jobs.queue.reservations import reserved
from jobs.queue.submit import cancel
from storage.benchmarks.matrix import CacheState, TargetChoice
from storage.benchmarks.summary import RunSummary
from storage.byte_sizes import MIB
from storage.database_clock import database_now
from storage.models import Benchmark, BenchmarkRun, BenchmarkState, Host, RunState, Volume
from storage.models.host import HostState
from storage.planner.daily_window import DailyWindow
from tests.fake.host import FakeHost, Pause
from tests.jobs.benchmarks.conftest import allow
from tests.jobs.benchmarks.playing import (
    BCACHE,
    HDD,
    LVMCACHE,
    NO_ONE,
    SSD,
    followed,
    job_of,
    ordered,
    played,
    scratch_on,
    spec_for,
    worked,
)
from tests.scene import job as other_job
from tests.scene import scene

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("target", [HDD, SSD, LVMCACHE, BCACHE], ids=lambda each: each.target)
def test_a_benchmark_runs_to_its_end_and_leaves_nothing_on_the_host(
    bench_host: Host, fake_host: FakeHost, target: TargetChoice
) -> None:
    benchmark = played(ordered(bench_host, targets=(target,)))
    assert (benchmark.message, benchmark.state) == ("", BenchmarkState.DONE)
    run = benchmark.runs.get()
    assert (run.state, run.outcome, run.message) == (RunState.DONE, "finished", "")
    assert (run.reached_seconds, run.fio_version, run.is_on_host) == (10, "3.33", False)
    assert run.boot_id and run.kernel and run.conditions["disks"]
    summary = RunSummary.from_json(run.summary)
    assert summary.iops > 0
    assert len(summary.jobs) == 2
    assert scratch_on(fake_host) == []
    names = {file.name for file in run.files.all()}
    assert {"run.json", "conditions.json", "fio.json", "legs.jsonl", "iops.1.log"} <= names
    job = run.jobs.get()
    assert (job.kind, job.state) == (Kind.BENCHMARK, State.SUCCEEDED)
    assert job.sentence.startswith("Benchmark run: done in")
    assert AuditEntry.objects.filter(job_key=job.key, verb="bench.run").count() == 2
    assert not Volume.objects.filter(label__startswith="b-").exists()


def test_the_host_forgets_a_result_while_other_jobs_are_at_work(bench_host: Host) -> None:
    other_job(scene())
    benchmark = played(ordered(bench_host, targets=(HDD,)))
    assert not benchmark.runs.get().is_on_host


def test_all_runs_of_a_matrix_are_done_one_after_the_other(bench_host: Host) -> None:
    states = (CacheState.NEW, CacheState.JUNK)
    benchmark = played(ordered(bench_host, targets=(HDD, LVMCACHE), states=states, repeats=2))
    assert benchmark.state == BenchmarkState.DONE
    runs = benchmark.runs.all()
    assert [run.state for run in runs] == [RunState.DONE] * 6
    assert [run.repeat for run in runs] == [0, 0, 0, 1, 1, 1]
    seeds = [run.conditions["args"]["seed"] for run in runs]
    assert seeds == [1, 1, 1, 2, 2, 2]


@dataclass
class AtWork:
    """A benchmark whose first run stands still on its host, before fio is measured."""

    benchmark: Benchmark
    stands: Pause

    @property
    def job(self) -> Job:
        return job_of(self.benchmark)

    @property
    def run(self) -> BenchmarkRun:
        return self.benchmark.runs.get(number=1)

    def goes_on(self) -> Benchmark:
        """The run goes on, to whatever end it has by now."""
        self.stands.resume()
        worked(self.job)
        return followed(self.benchmark)


@pytest.fixture
def at_work(bench_host: Host, fake_host: FakeHost) -> Iterator[AtWork]:
    stands = fake_host.pause_next("blockdev")
    benchmark = followed(ordered(bench_host, repeats=2))
    runner.run(job_of(benchmark).pk)
    assert stands.reached.wait(30)
    yield AtWork(benchmark, stands)
    stands.resume()
    fake_host.wait_for_ops()


def test_a_run_at_work_is_left_alone(at_work: AtWork) -> None:
    benchmark = followed(at_work.benchmark)
    assert (benchmark.state, at_work.run.state) == (BenchmarkState.RUNNING, RunState.RUNNING)
    assert Job.objects.count() == 1
    assert benchmark.not_before is not None
    assert played(at_work.goes_on()).state == BenchmarkState.DONE


def test_one_benchmark_at_a_time_runs_on_a_host(at_work: AtWork, bench_host: Host) -> None:
    second = followed(ordered(bench_host))
    assert second.state == BenchmarkState.WANTED
    assert "Waits until the benchmark" in second.message
    with pytest.raises(IntegrityError, match="job_one_benchmark_per_host"), transaction.atomic():
        Job.objects.create(
            kind=Kind.BENCHMARK, host=bench_host, wish={}, benchmark_run=second.runs.get()
        )
    assert played(at_work.goes_on()).state == BenchmarkState.DONE
    assert played(second).state == BenchmarkState.DONE


def test_a_pause_waits_for_the_run_at_work_and_a_person_goes_on(at_work: AtWork) -> None:
    pause(at_work.benchmark, NO_ONE)
    paused = at_work.goes_on()
    assert (paused.state, paused.not_before) == (BenchmarkState.PAUSED, None)
    assert [run.state for run in paused.runs.all()] == [RunState.DONE, RunState.WANTED]
    announce_due_benchmarks()
    resume(paused, NO_ONE)
    assert played(paused).state == BenchmarkState.DONE


def test_a_pause_that_stops_the_run_keeps_how_far_it_came_and_does_it_again(
    at_work: AtWork, fake_host: FakeHost
) -> None:
    pause(at_work.benchmark, NO_ONE, stops_run=True)
    runner.run(at_work.job.pk)
    paused = at_work.goes_on()
    assert paused.state == BenchmarkState.PAUSED
    run = at_work.run
    assert (run.state, run.outcome, run.reached_seconds) == (RunState.VOID, "stopped", 0)
    assert at_work.job.state == State.CANCELLED
    assert scratch_on(fake_host) == []
    resume(paused, NO_ONE)
    done = played(paused)
    assert done.state == BenchmarkState.DONE
    states = [(run.state, run.repeat) for run in done.runs.all()]
    assert states == [(RunState.VOID, 0), (RunState.DONE, 1), (RunState.DONE, 0)]


def test_a_run_that_has_not_begun_is_withdrawn_by_a_pause(bench_host: Host) -> None:
    benchmark = followed(ordered(bench_host))
    pause(benchmark, NO_ONE)
    paused = followed(benchmark)
    assert (paused.state, paused.not_before) == (BenchmarkState.PAUSED, None)
    assert job_of(benchmark).state == State.CANCELLED
    assert [run.state for run in benchmark.runs.all()] == [RunState.WANTED]
    resume(paused, NO_ONE)
    assert played(paused).state == BenchmarkState.DONE
    assert benchmark.runs.count() == 1


def test_one_that_is_cancelled_stops_its_run_and_says_how_far_it_came(
    at_work: AtWork, fake_host: FakeHost
) -> None:
    cancel_benchmark(at_work.benchmark, NO_ONE)
    assert at_work.benchmark.ended_at is None
    runner.run(at_work.job.pk)
    ended = at_work.goes_on()
    assert (ended.state, ended.message) == (
        BenchmarkState.CANCELLED,
        "Cancelled by an unknown user.",
    )
    assert ended.ended_at is not None
    assert [run.state for run in ended.runs.all()] == [RunState.CANCELLED] * 2
    assert at_work.run.files.filter(name="run.json").exists()
    assert scratch_on(fake_host) == []


def test_cancelling_the_job_of_a_run_ends_its_benchmark(at_work: AtWork) -> None:
    cancel(at_work.job, NO_ONE)
    runner.run(at_work.job.pk)
    ended = at_work.goes_on()
    assert ended.state == BenchmarkState.CANCELLED
    assert "The job of run 1 was cancelled by an unknown user" in ended.message


def test_one_that_waits_is_cancelled_at_once(bench_host: Host) -> None:
    benchmark = ordered(bench_host)
    cancel_benchmark(benchmark, NO_ONE)
    assert followed(benchmark).ended_at is not None
    assert not Job.objects.exists()


def test_a_run_that_the_host_s_restart_ended_is_void_and_done_again(
    bench_host: Host, fake_host: FakeHost
) -> None:
    fake_host.cut_next("fio")
    benchmark = played(ordered(bench_host))
    assert benchmark.state == BenchmarkState.DONE
    first, second = benchmark.runs.all()
    assert (first.state, first.outcome, second.state) == (
        RunState.VOID, "stopped", RunState.DONE,
    )  # fmt: skip
    assert first.key != second.key
    assert "done again" in first.message
    assert scratch_on(fake_host) == []


def test_a_run_that_never_comes_to_its_end_fails(bench_host: Host, fake_host: FakeHost) -> None:
    for _ in range(3):
        fake_host.cut_next("fio")
    benchmark = ordered(bench_host)
    for _ in range(3):
        followed(benchmark)
        worked(job_of(benchmark))
    played(benchmark)
    states = [run.state for run in benchmark.runs.all()]
    assert states == [RunState.VOID, RunState.VOID, RunState.FAILED]
    assert (benchmark.state, bool(benchmark.message)) == (BenchmarkState.FAILED, True)


def test_a_run_in_which_a_command_fails_says_why_and_the_others_are_done(
    bench_host: Host, fake_host: FakeHost
) -> None:
    fake_host.fail_next("blockdev", 1, "blockdev: bad\n")
    benchmark = played(ordered(bench_host, repeats=2))
    assert benchmark.state == BenchmarkState.DONE
    first, second = benchmark.runs.all()
    assert (first.state, second.state) == (RunState.FAILED, RunState.DONE)
    assert first.message
    assert job_of(benchmark).state == State.SUCCEEDED
    assert first.jobs.get().state == State.FAILED


def test_three_failed_runs_in_a_row_end_it(bench_host: Host, fake_host: FakeHost) -> None:
    for _ in range(3):
        fake_host.fail_next("blockdev", 1, "blockdev: bad\n")
    benchmark = played(ordered(bench_host, repeats=5))
    assert benchmark.state == BenchmarkState.FAILED
    states = [run.state for run in benchmark.runs.all()]
    assert states == [RunState.FAILED] * 3 + [RunState.CANCELLED] * 2
    assert benchmark.message


def test_it_ends_where_root_takes_the_right_away(bench_host: Host, fake_host: FakeHost) -> None:
    benchmark = ordered(bench_host)
    allow(fake_host, 0)
    assert played(benchmark).state == BenchmarkState.FAILED
    assert "does not let the panel run benchmarks" in benchmark.message
    assert "allow-benchmarks" in benchmark.correction


def test_it_ends_where_the_host_says_that_before_the_next_run(
    bench_host: Host, fake_host: FakeHost
) -> None:
    benchmark = ordered(bench_host)
    allow(fake_host, 0)
    assert refresh(bench_host)
    assert played(benchmark).state == BenchmarkState.FAILED
    assert "allow-benchmarks" in benchmark.correction
    assert not Job.objects.exists()


def test_it_ends_where_the_agent_is_older(bench_host: Host) -> None:
    benchmark = ordered(bench_host)
    Host.objects.filter(pk=bench_host.pk).update(hello={"agent": "0.3.0"})
    assert followed(benchmark).state == BenchmarkState.FAILED
    assert "older" in benchmark.message


@pytest.mark.parametrize("is_paused", [False, True])
def test_it_ends_with_its_host(bench_host: Host, *, is_paused: bool) -> None:
    benchmark = ordered(bench_host)
    if is_paused:
        pause(benchmark, NO_ONE)
    remove(bench_host, None, database_now())
    benchmark.refresh_from_db()
    assert followed(benchmark).state == BenchmarkState.FAILED
    assert "was removed" in benchmark.message
    assert [run.state for run in benchmark.runs.all()] == [RunState.CANCELLED]


def test_a_host_in_quarantine_is_waited_for_and_not_for_ever(bench_host: Host) -> None:
    benchmark = ordered(bench_host)
    Host.objects.filter(pk=bench_host.pk).update(state=HostState.QUARANTINED)
    waiting = followed(benchmark)
    assert (waiting.state, bool(waiting.message)) == (BenchmarkState.WANTED, True)
    Benchmark.objects.update(waits_since=database_now() - GIVEN_UP - timedelta(minutes=1))
    assert followed(benchmark).state == BenchmarkState.FAILED


def test_a_job_that_needs_a_decision_ends_it(at_work: AtWork) -> None:
    Job.objects.filter(pk=at_work.job.pk).update(
        state=State.NEEDS_ATTENTION,
        lease_owner="",
        lease_until=None,
        error={"code": "x", "message": "Something is left."},
    )
    ended = followed(at_work.benchmark)
    assert ended.state == BenchmarkState.FAILED
    assert "Something is left." in ended.message


def test_scratch_volumes_that_cannot_be_removed_are_put_before_a_person(
    bench_host: Host, fake_host: FakeHost
) -> None:
    benchmark = followed(ordered(bench_host, targets=(HDD,)))
    for _ in range(30):
        fake_host.fail_next("lvremove", 5, "  Logical volume in use.\n")
    job = worked(job_of(benchmark))
    assert job.state == State.NEEDS_ATTENTION
    (left,) = scratch_on(fake_host)
    assert any(left in sentence for sentence in job.error["residue"])
    assert "start another benchmark there" in job.error["correction"]
    assert followed(benchmark).state == BenchmarkState.FAILED
    codes = [
        problem.code for problem in problems_of([bench_host.pk], database_now())[bench_host.pk]
    ]
    assert codes == ["job_undecided"]
    fake_host._failures.clear()
    resume_job(job, NO_ONE)
    # What the host says of the run stays, and nothing else of it.
    assert worked(job).state == State.FAILED
    assert scratch_on(fake_host) == []


def test_a_failed_run_is_no_problem_of_its_host(bench_host: Host, fake_host: FakeHost) -> None:
    fake_host.fail_next("blockdev", 1, "blockdev: bad\n")
    benchmark = played(ordered(bench_host))
    assert benchmark.state == BenchmarkState.FAILED
    assert job_of(benchmark).state == State.FAILED
    assert problems_of([bench_host.pk], database_now())[bench_host.pk] == ()


def test_a_run_begins_in_its_window(bench_host: Host) -> None:
    closed = DailyWindow(*_around(database_now(), hours=3))
    benchmark = followed(order(bench_host, spec_for(bench_host), NO_ONE, window=closed))
    assert not Job.objects.exists()
    assert benchmark.message == f"Waits for its window, {closed}."
    assert benchmark.not_before is not None
    assert benchmark.not_before > database_now() + timedelta(hours=2)
    change_window(benchmark, DailyWindow(*_around(database_now(), hours=-1)))
    assert played(benchmark).state == BenchmarkState.DONE


def _around(now: datetime, hours: int) -> tuple[time, time]:
    """Two hours from then on."""
    start = now + timedelta(hours=hours)
    return start.time().replace(microsecond=0), (start + timedelta(hours=2)).time().replace(
        microsecond=0
    )


def test_the_space_of_a_run_is_reserved_while_it_is_not_there(
    bench_host: Host, fake_host: FakeHost
) -> None:
    benchmark = followed(ordered(bench_host))
    bench_host.refresh_from_db()
    facts = bench_host.inventory
    assert facts is not None
    (group,) = facts.vgs
    assert reserved(bench_host, facts)[group.uuid] >= 64 * MIB
    played(benchmark)
    assert reserved(bench_host, facts) == {}


def test_a_worker_that_dies_leaves_a_row_that_the_sweep_sends_again(
    bench_host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = followed(ordered(bench_host))
    worked(job_of(benchmark))

    def dies(*args: object) -> None:
        raise SystemExit

    sent: list[tuple[object, ...]] = []
    with monkeypatch.context() as patch:
        patch.setattr(fetch, "fetch_result", dies)
        with pytest.raises(SystemExit):
            followed(benchmark)
    benchmark.refresh_from_db()
    assert benchmark.not_before is not None
    Benchmark.objects.update(not_before=database_now())
    monkeypatch.setattr(notify_workers, "send", lambda *args: sent.append(args))
    announce_due_benchmarks()
    assert sent == [("jobs.tasks.follow_benchmark", benchmark.pk)]
    assert played(benchmark).state == BenchmarkState.DONE


def test_two_workers_begin_one_run(bench_host: Host) -> None:
    benchmark = ordered(bench_host)
    followed(benchmark)
    tasks.follow_benchmark(benchmark.pk)
    followed(benchmark)
    assert Job.objects.count() == 1
