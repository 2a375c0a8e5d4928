"""A benchmark, and what workers do of it."""

from __future__ import annotations

from typing import Any

from jobs import tasks
from jobs.benchmarks.benchmark_order import order
from jobs.engine import runner
from jobs.models import Job, State
from jobs.requester import Requester
from storage.benchmarks.matrix import (
    Profile,
    ProfileChoice,
    Spec,
    TargetChoice,
    TargetKind,
)
from storage.byte_sizes import MIB
from storage.database_clock import database_now
from storage.models import Benchmark, Host
from tests.fake.host import FakeHost

NO_ONE = Requester(None)
LVMCACHE = TargetChoice(TargetKind.LVMCACHE, "writethrough")
BCACHE = TargetChoice(TargetKind.BCACHE, "writethrough", 16)
HDD, SSD = TargetChoice(TargetKind.HDD), TargetChoice(TargetKind.SSD)


def spec_for(host: Host, **changes: Any) -> Spec:
    """A small matrix: an lvmcache of 64 MiB over 128 MiB, read for ten seconds."""
    assert host.inventory is not None
    vg = host.inventory.vgs[0]
    fields: dict[str, Any] = {
        "vg_uuid": vg.uuid,
        "vg_name": vg.name,
        "targets": (LVMCACHE,),
        "profiles": (ProfileChoice(Profile.ZIPF_READ, jobs=2, iodepth=4),),
        "data_bytes": (128 * MIB,),
        "cache_bytes": (64 * MIB,),
        "seconds": 10,
    }
    return Spec(**fields | changes)


def ordered(host: Host, requester: Requester = NO_ONE, **changes: Any) -> Benchmark:
    return order(host, spec_for(host, **changes), requester)


def followed(benchmark: Benchmark) -> Benchmark:
    """What a worker does of it now."""
    due = Benchmark.objects.filter(pk=benchmark.pk, not_before__isnull=False)
    due.update(not_before=database_now())
    tasks.follow_benchmark(benchmark.pk)
    benchmark.refresh_from_db()
    return benchmark


def worked(job: Job, rounds: int = 60) -> Job:
    """The job, once a worker has done all that it can."""
    for _ in range(rounds):
        Job.objects.filter(pk=job.pk).update(not_before=None)
        runner.run(job.pk)
        job.refresh_from_db()
        if job.is_over or job.state == State.NEEDS_ATTENTION:
            break
    return job


def job_of(benchmark: Benchmark) -> Job:
    """That of the run at work, or of the last one."""
    return Job.objects.filter(benchmark_run__benchmark=benchmark).latest("pk")


def played(benchmark: Benchmark, rounds: int = 40) -> Benchmark:
    """All of it, to its end."""
    for _ in range(rounds):
        followed(benchmark)
        if benchmark.ended_at is not None or benchmark.not_before is None:
            break
        for job in Job.objects.unfinished().filter(benchmark_run__benchmark=benchmark):
            worked(job)
    return benchmark


def scratch_on(fake_host: FakeHost) -> list[str]:
    """What runs have left there."""
    names = (lv.name for vg in fake_host.machine.vgs for lv in vg.lvs)
    return [name for name in names if name.startswith("b-")]
