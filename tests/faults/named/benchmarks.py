"""A benchmark that loses its worker, its agent or its host in the midst of a run."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator

from jobs.benchmarks.benchmark_order import order
from jobs.benchmarks.follow import follow_benchmark
from jobs.hosts.refresh import refresh
from jobs.models import Job
from jobs.requester import Requester
from storage.agent.operations import boot
from storage.benchmarks.matrix import Profile, ProfileChoice, Spec, TargetChoice, TargetKind
from storage.byte_sizes import GIB, MIB
from storage.database_clock import database_now
from storage.models import Benchmark, BenchmarkState, Host, RunState
from tests.fake.host import Pause
from tests.faults.fault import Fault, NotReached, Play, Played
from tests.faults.operations import BY_NAME
from tests.faults.stage import Stage
from tests.faults.workers import Worker, Workers

LVMCACHE = TargetChoice(TargetKind.LVMCACHE, "writeback")
BCACHE = TargetChoice(TargetKind.BCACHE, "writethrough", 16)
TARGETS = (LVMCACHE, BCACHE)
MOST_RUNS = 4
NOTHING_LEFT = "no scratch volume, no load; the result says how far it came; it is done again"
Break = Callable[[Stage, Pause, Worker], None]


def faults() -> Iterator[Fault]:
    for target in TARGETS:
        of = f"benchmark of {target.target}"
        yield Fault(f"{of}: worker killed while fio runs",
                    "the run ends on the host, and its result is fetched",
                    _play(target, _kill_worker, [RunState.DONE]), "B01")  # fmt: skip
        yield Fault(f"{of}: agent killed while fio runs", NOTHING_LEFT,
                    _play(target, _kill_agent, [RunState.VOID, RunState.DONE]), "B02")  # fmt: skip
        yield Fault(f"{of}: host loses its power while fio runs", NOTHING_LEFT,
                    _play(target, _lose_power, [RunState.VOID, RunState.DONE]), "B03")  # fmt: skip


def _play(target: TargetChoice, breaks: Break, states: list[RunState]) -> Play:
    def play(workers: Workers) -> Played:
        with Stage(workers, BY_NAME["create"]) as stage:
            benchmark = _ordered(stage, target)
            # The last command before fio is measured.
            pause = stage.fake.pause_next("blockdev")
            _follow(benchmark)
            first = stage.start(_job_of(benchmark))
            if not pause.reached.wait(20):
                raise NotReached
            since = time.time()
            breaks(stage, pause, first)
            for _ in range(MOST_RUNS):
                job = _job_of(benchmark)
                worker = stage.start(job)
                stage.rest(job)
                worker.wait(10)
                for _ in range(2):
                    _follow(benchmark)
                if benchmark.ended_at is not None:
                    break
            recovery = time.time() - since
            found = list(_problems(stage, benchmark, states))
            return Played(str(benchmark.state), found, recovery)

    return play


def _ordered(stage: Stage, target: TargetChoice) -> Benchmark:
    policy = {"vgs": ["vg0"], "undo_hours": 0, "benchmark_bytes": 4 * GIB}
    stage.fake.save("/etc/tiercel/agent.json", json.dumps(policy).encode())
    assert refresh(stage.host)
    host = Host.objects.get(pk=stage.host.pk)
    assert host.inventory is not None
    vg = next(vg for vg in host.inventory.vgs if vg.name == "vg0")
    profile = ProfileChoice(Profile.ZIPF_READ, jobs=2, iodepth=4)
    sizes = {"data_bytes": (128 * MIB,), "cache_bytes": (64 * MIB,)}
    spec = Spec(vg.uuid, vg.name, (target,), (profile,), seconds=10, **sizes)
    return order(host, spec, Requester(None))


def _follow(benchmark: Benchmark) -> None:
    due = Benchmark.objects.filter(pk=benchmark.pk, ended_at=None)
    due.update(not_before=database_now())
    follow_benchmark(benchmark.pk)
    benchmark.refresh_from_db()


def _job_of(benchmark: Benchmark) -> Job:
    return Job.objects.filter(benchmark_run__benchmark=benchmark).latest("pk")


def _kill_worker(stage: Stage, pause: Pause, worker: Worker) -> None:
    worker.signal(signal.SIGKILL)
    pause.resume()


def _kill_agent(stage: Stage, pause: Pause, worker: Worker) -> None:
    stage.fake.cut_next("fio")
    pause.resume()
    stage.fake.wait_for_ops()


def _lose_power(stage: Stage, pause: Pause, worker: Worker) -> None:
    stage.fake.lose_power()
    _kill_agent(stage, pause, worker)
    stage.fake.root.reboot()
    boot.boot(stage.fake)


def _problems(stage: Stage, benchmark: Benchmark, states: list[RunState]) -> Iterator[str]:
    ledger = stage.ledger()
    yield from (f"the fake host does not know: {gap}" for gap in ledger.gaps)
    if benchmark.state != BenchmarkState.DONE:
        yield f"the benchmark is {benchmark.state}: {benchmark.message}"
    runs = list(benchmark.runs.all())
    if [run.state for run in runs] != states:
        yield f"its runs are {', '.join(run.state for run in runs)}"
    for run in runs:
        if run.state == RunState.DONE and run.summary is None:
            yield f"{run} has no figures"
        if run.state == RunState.VOID and (run.outcome, run.reached_seconds) == ("", None):
            yield f"{run} does not say how far it came"
    facts = stage.facts()
    yield from (f"{lv.name} is left" for lv in facts.scratch)
    yield from (f"the host keeps the result {each.key}" for each in facts.benchmarks)
    if stage.fake.machine.loads:
        yield "fio still runs"
    now = stage.fingerprints()
    yield from (f"{name} changed" for name in now if now[name] != stage.strangers.get(name))
