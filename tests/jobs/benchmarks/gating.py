"""Kernel gates of a host that is restarted by hand, and whose runs end at once."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

from django.utils import timezone

from jobs import tasks
from jobs.benchmarks.gate_order import order_gate
from storage.benchmarks.matrix import Profile, ProfileChoice, Spec, TargetChoice, TargetKind
from storage.benchmarks.summary import DirectionSummary, RunSeries, RunSummary
from storage.byte_sizes import GIB, MIB
from storage.models import Benchmark, BenchmarkRun, Gate, GateBoot, Host, RunState
from tests import make
from tests.jobs.benchmarks.playing import NO_ONE, followed

OLD, NEW, NEWER = "6.1.0-28-amd64", "6.12.9-amd64", "6.16.4-amd64"
IOPS = {"hdd": 150.0, "ssd": 50_000.0}


def gate_host(**fields: Any) -> Host:
    """One that allows benchmarks, and has just been started into the old kernel."""
    host = make.host(last_seen_at=timezone.now(), **fields)
    restart(host, OLD)
    return host


def restart(host: Host, kernel: str) -> None:
    """The host says that it is in another boot."""
    boot_id = str(UUID(int=Random(f"{host.pk} {host.hello.get('boot_id')}").getrandbits(128)))
    host.hello = {
        "kernel": kernel,
        "kernel_version": f"#1 SMP Debian {kernel.partition('-')[0]}-1",
        "boot_id": boot_id,
        "benchmarks": {"quota_bytes": 64 * GIB, "fio": "3.33"},
    }
    host.save(update_fields=["hello"])


def gate_spec(*targets: TargetKind, **fields: Any) -> Spec:
    """Ten seconds of reads on each target."""
    chosen: dict[str, Any] = {
        "vg_uuid": make.VG_UUID,
        "vg_name": "vg0",
        "targets": tuple(map(TargetChoice, targets or (TargetKind.HDD, TargetKind.SSD))),
        "profiles": (ProfileChoice(Profile.ZIPF_READ),),
        "data_bytes": (128 * MIB,),
        "seconds": 10,
    }
    return Spec(**chosen | fields)


def ordered_gate(host: Host, *targets: TargetKind, **options: Any) -> Gate:
    return order_gate(host, gate_spec(*targets), NO_ONE, **options)


def looked(gate: Gate) -> Gate:
    """What a worker finds once the sweep has come by."""
    tasks.sweep()
    followed(Benchmark.objects.get(pk=gate.benchmark_id))
    return Gate.objects.select_related("benchmark").get(pk=gate.pk)


def settle(gate: Gate) -> Gate:
    """The load after the restart has settled."""
    GateBoot.objects.filter(gate=gate).update(seen_at=timezone.now() - timedelta(minutes=5))
    return looked(gate)


def end_runs(gate: Gate, slower: float = 0.0, **fields: Any) -> int:
    """All wanted runs end now, with figures that scatter by 1 %; how many there were."""
    wanted = gate.benchmark.runs.filter(state__in=(RunState.WANTED, RunState.RUNNING))
    chance, now = Random(f"{gate.pk} {gate.boots.count()}"), timezone.now()
    of_boot = chance.gauss(1, 0.01)
    for run in wanted:
        iops = IOPS[run.cell["target"]] * of_boot * chance.gauss(1, 0.01) * (1 - slower)
        assert run.gate_boot is not None
        done: dict[str, Any] = {
            "state": RunState.DONE,
            "outcome": "finished",
            "boot_id": run.gate_boot.boot_id,
            "begun_at": now - timedelta(seconds=20),
            "ended_at": now,
            "summary": summary(iops).to_json(),
        }
        BenchmarkRun.objects.filter(pk=run.pk).update(**done | fields)
    return len(wanted)


def summary(iops: float) -> RunSummary:
    reads = DirectionSummary(ios=int(iops * 10), iops=iops, bytes_s=0, mean_ns=16e9 / iops)
    return RunSummary(10, 10.0, iops, int(iops * 10), 0.0, reads, None, (), RunSeries(step_ms=500))


def measured(gate: Gate, slower: float = 0.0) -> Gate:
    """The boot in which the host is, to its end."""
    looked(gate)
    settle(gate)
    end_runs(gate, slower)
    return looked(gate)


def finished(gate: Gate, slower: float = 0.0, new: str = NEW) -> Gate:
    """All boots of the comparison, whose side B is slower by this share."""
    host = gate.benchmark.host
    assert host is not None
    for _ in range(40):
        if gate.benchmark.is_over:
            break
        kernel = OLD if f"into {OLD}" in gate.benchmark.message else new
        host.refresh_from_db()
        restart(host, kernel)
        gate = measured(gate, slower if kernel == new else 0.0)
    return gate
