"""A worker's part of a kernel gate or bisect: notice each new boot of the host, have its runs done
once the load has settled, ask a person for the next restart, and judge.

A person restarts the host; the panel never does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db.models import F, Max, QuerySet
from django.db.models.fields.json import KeyTextTransform

from jobs.benchmarks.gate_figures import boot_figures, gate_progress_of, whole_boots
from storage.analysis.comparison import Word
from storage.analysis.comparison.kernel_bisect import KernelAnswer, KernelBisect, answer_of
from storage.analysis.comparison.power import BootTimes
from storage.benchmarks.boot_part import BootPart
from storage.benchmarks.gate import (
    LEAST_RUNS,
    effect_of,
    judge_gate,
    judge_step,
    plan_gate,
    runs_of_part,
)
from storage.benchmarks.matrix import Cell, label_of
from storage.benchmarks.settling import LEAST_SECONDS, has_settled
from storage.database_clock import database_now
from storage.discovery.host_timeline import kernel_of
from storage.models import (
    Benchmark,
    BenchmarkPurpose,
    BenchmarkRun,
    BenchmarkState,
    BootState,
    Gate,
    GateBoot,
    GateKind,
    Host,
    HostActivity,
    RunState,
)
from storage.models.kernel_gate import BOOT_AT_WORK

LOOK: Final = timedelta(seconds=20)
MOST_TRIES: Final = 3
"""So often a run of a boot is done again that failed or is void."""
SLOW_DOWNS: Final = (0.05, 0.1, 0.2)
"""A person chooses one of them, once it is known what each takes."""
RESTART_SECONDS: Final = 300
"""From the end of a boot's runs until the host is up again; what a person takes is not known."""


@dataclass(frozen=True, slots=True)
class GateRest:
    """No run can begin now. A worker looks again after `again`; None: once the host has another
    boot, or a person wants something. `is_over`: there is nothing left to measure."""

    message: str = ""
    again: timedelta | None = None
    is_over: bool = False


def resting_gates() -> QuerySet[Benchmark]:
    """Benchmarks of gates whose host has a boot at which they have not looked."""
    return (
        Benchmark.objects.filter(
            purpose=BenchmarkPurpose.GATE,
            state__in=(BenchmarkState.WANTED, BenchmarkState.RUNNING),
            not_before=None,
        )
        .annotate(boot=KeyTextTransform("boot_id", "host__hello"))
        .filter(boot__isnull=False)
        .exclude(boot=F("gate__looked_at_boot"))
    )


def announce_boots() -> None:
    """Have a worker look at each new boot."""
    resting_gates().update(not_before=database_now())


def advance_gate(held: Benchmark, host: Host) -> GateRest | None:
    """Bring the gate as far as it gets without a run; None where the next wanted run may begin now.
    The caller holds the row of the benchmark."""
    gate = Gate.objects.select_related("baseline__benchmark").get(benchmark=held)
    boot = gate.boots.filter(state__in=BOOT_AT_WORK).first()
    if boot is not None and not _is_running(boot, host):
        _end_boot(gate, boot)
        boot = None
    if boot is not None and boot.state == BootState.SETTLING:
        if not _settles(boot):
            return GateRest("Waits until the load after the restart has settled.", LOOK)
        _order_runs(held, gate, boot)
    if boot is not None and boot.runs.filter(state=RunState.WANTED).exists():
        return None
    if boot is not None:
        if _repeat_missing(held, gate, boot):
            return None
        _end_boot(gate, boot)
    return _next_boot(gate, host)


def _is_running(boot: GateBoot, host: Host) -> bool:
    """What a run says of its boot may be newer than what the host was last heard of."""
    last = boot.runs.exclude(boot_id="").order_by("-ended_at").first()
    return host.hello.get("boot_id") == boot.boot_id and (
        last is None or last.boot_id == boot.boot_id
    )


def _settles(boot: GateBoot) -> bool:
    now = database_now()
    activity = HostActivity.objects.filter(host=boot.gate.benchmark.host_id).first()
    if activity is not None and activity.at > boot.seen_at:
        at = activity.at.isoformat()
        if all(reading[0] != at for reading in boot.load):
            iops = (activity.read_iops or 0.0) + (activity.write_iops or 0.0)
            boot.load = [*boot.load, [at, iops]]
    seconds = (now - boot.seen_at).total_seconds()
    readings = [iops for _, iops in boot.load]
    settled = has_settled(seconds, readings, is_sampled=activity is not None)
    if settled:
        boot.state, boot.settled_at = BootState.MEASURING, now
    boot.save(update_fields=["load", "state", "settled_at"])
    return settled


def cells_of(gate: Gate) -> tuple[Cell, ...]:
    """What is measured in each boot."""
    return gate.benchmark.matrix.cells


def _order_runs(held: Benchmark, gate: Gate, boot: GateBoot) -> None:
    """The cells of a repeat follow each other, every second time backwards; repeats have the same
    seeds in each boot."""
    cells = cells_of(gate)
    runs = runs_of_part(BootPart(boot.part), gate.runs_a_boot)
    for repeat in range(runs):
        for cell in cells if repeat % 2 == 0 else reversed(cells):
            _want(held, boot, cell, repeat)


def _want(held: Benchmark, boot: GateBoot, cell: Cell, repeat: int) -> None:
    last = held.runs.aggregate(last=Max("number"))["last"] or 0
    BenchmarkRun.objects.create(
        benchmark=held, number=last + 1, cell=cell.to_json(), repeat=repeat, gate_boot=boot
    )


def _repeat_missing(held: Benchmark, gate: Gate, boot: GateBoot) -> bool:
    """Have those runs done again that failed or are void; False where there are none, or they were
    tried too often."""
    figures = boot_figures(boot)
    runs = runs_of_part(BootPart(boot.part), gate.runs_a_boot)
    wanted = False
    for cell in cells_of(gate):
        have = len(figures.cells.get(label_of(cell), ()))
        tried = boot.runs.filter(cell=cell.to_json()).count()
        if have < runs and tried < runs * MOST_TRIES:
            _want(held, boot, cell, tried % runs)
            wanted = True
    return wanted


def _end_boot(gate: Gate, boot: GateBoot) -> None:
    """Whole boots count, also where the host restarted before the last run."""
    now = database_now()
    boot.runs.filter(state=RunState.WANTED).update(state=RunState.CANCELLED, ended_at=now)
    labels = [label_of(cell) for cell in cells_of(gate)]
    figures = boot_figures(boot)
    is_whole = figures.is_whole(labels, LEAST_RUNS)
    boot.state = BootState.DONE if is_whole else BootState.VOID
    boot.message = "" if is_whole else f"Fewer than {LEAST_RUNS} runs of each target count."
    boot.ended_at = now
    boot.save(update_fields=["state", "message", "ended_at"])
    if is_whole and gate.kind == GateKind.BISECT and gate.baseline is not None:
        pool = whole_boots(gate.baseline, BootPart.A)
        _answer(gate, boot.kernel, answer_of(judge_step(pool, figures, gate.label)))


def _answer(gate: Gate, kernel: str, answer: KernelAnswer) -> None:
    gate.answers = {**gate.answers, kernel: answer.value}
    gate.save(update_fields=["answers"])


def bisect_of(gate: Gate) -> KernelBisect:
    """Its kernels and what is known of them."""
    return KernelBisect(
        kernels=tuple(gate.kernels),
        answers={kernel: KernelAnswer(answer) for kernel, answer in gate.answers.items()},
    )


def _next_boot(gate: Gate, host: Host) -> GateRest:
    """Take the boot that the host is in, if it is of use."""
    kernel, boot_id = kernel_of(host.hello), str(host.hello.get("boot_id") or "")
    gate.looked_at_boot = boot_id
    gate.save(update_fields=["looked_at_boot"])
    if gate.kind == GateKind.BISECT:
        bisect = bisect_of(gate)
        if bisect.next_kernel is None:
            return GateRest(is_over=True)
        wanted, part = bisect.next_kernel, BootPart.STEP if kernel == bisect.next_kernel else None
    else:
        progress = gate_progress_of(gate)
        if progress.is_over:
            _judge(gate)
            return GateRest(is_over=True)
        if progress.next_part is None:
            return _plan(gate)
        wanted, part = progress.next_kernel, progress.part_of(kernel)
    if part is None or gate.boots.filter(boot_id=boot_id).exists():
        return GateRest(_restart_into(wanted, kernel))
    if part is BootPart.B and not gate.kernel_b:
        gate.kernels = [gate.kernel_a, kernel]
        gate.save(update_fields=["kernels"])
    last = gate.boots.aggregate(last=Max("number"))["last"] or 0
    GateBoot.objects.create(
        gate=gate,
        number=last + 1,
        part=part,
        kernel=kernel,
        boot_id=boot_id,
        seen_at=database_now(),
    )
    return GateRest("Waits until the load after the restart has settled.", LOOK)


def _restart_into(wanted: str, running: str) -> str:
    """What a person is to do."""
    into = wanted or "the kernel that is to be judged"
    again = " once more" if wanted == running else ""
    return f"Restart the host into {into}{again}. It runs {running}; measuring then begins."


def _plan(gate: Gate) -> GateRest:
    """What the pilot says that each choice takes; a person chooses one."""
    if not gate.plans:
        pilot = whole_boots(gate, BootPart.PILOT)
        times = _times(gate)
        plans = (
            plan_gate(pilot, times, slower, gate.power if slower > SLOW_DOWNS[0] else 0.8)
            for slower in SLOW_DOWNS
        )
        gate.plans = [plan.to_json() for plan in plans if plan is not None]
        gate.save(update_fields=["plans"])
    if not gate.plans:
        return GateRest(
            "Boots of this host differ so much that no number of them would name a slow-down by "
            f"{100 * SLOW_DOWNS[-1]:.0f} %. Measure longer runs, or other targets."
        )
    return GateRest("The pilot is measured. Choose what is to be named, and how long it may take.")


def _times(gate: Gate) -> BootTimes:
    """As the pilot went."""
    runs = BenchmarkRun.objects.filter(gate_boot__gate=gate, state=RunState.DONE)
    taken = [
        (run.ended_at - run.begun_at).total_seconds()
        for run in runs
        if run.ended_at is not None and run.begun_at is not None
    ]
    each = sum(taken) / len(taken) if taken else gate.benchmark.matrix.seconds
    return BootTimes(
        until_ready_seconds=RESTART_SECONDS + LEAST_SECONDS,
        run_seconds=each * len(cells_of(gate)),
    )


def _judge(gate: Gate) -> None:
    targets = judge_gate(whole_boots(gate, BootPart.A, BootPart.B), _repeated(gate))
    gate.targets = [target.to_json() for target in targets]
    gate.effect = effect_of(targets)
    gate.save(update_fields=["targets", "effect"])


def _repeated(gate: Gate) -> set[str]:
    """Targets that an earlier gate of the same two kernels on this host called slower."""
    earlier = Gate.objects.filter(
        kind=GateKind.GATE,
        benchmark__host=gate.benchmark.host_id,
        kernels=gate.kernels,
        pk__lt=gate.pk,
    )
    return {
        target["label"]
        for targets in earlier.values_list("targets", flat=True)
        for target in targets
        if target["word"] == Word.SLOWER
    }
