"""What people do with kernel gates and bisects: order one, choose its plan, skip a kernel, and
accept a loss. Pausing and cancelling are those of each benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.db import transaction

from jobs import notify_workers
from jobs.benchmarks.benchmark_order import create_benchmark
from jobs.benchmarks.gate_figures import whole_boots
from jobs.benchmarks.gate_steps import bisect_of
from jobs.requester import Requester
from storage.analysis.comparison.benchmark_verdict import LEAST_POOLED
from storage.analysis.comparison.kernel_bisect import KernelAnswer, KernelBisect
from storage.benchmarks.boot_part import BootPart
from storage.benchmarks.gate import LEAST_BOOTS, LEAST_RUNS, GatePlan
from storage.benchmarks.matrix import Cell, ProfileChoice, Spec, TargetChoice, label_of
from storage.database_clock import database_now
from storage.discovery.host_timeline import kernel_of
from storage.models import Benchmark, BenchmarkPurpose, Gate, GateEffect, GateKind, Host
from storage.models.benchmark import UNFINISHED
from storage.models.kernel_gate import KERNEL_LIMIT
from storage.planner import Refused
from storage.planner.daily_window import DailyWindow

REASON_LIMIT: Final = 200
MOST_CELLS: Final = 8
"""More would share the false alarms among so many that too many boots would be needed."""
MOST_BOOTS_A_SIDE: Final = 60
MOST_KERNELS: Final = 64


@transaction.atomic
def order_gate(
    host: Host,
    spec: Spec,
    requester: Requester,
    *,
    kernel_b: str = "",
    boots_a_side: int | None = None,
    runs_a_boot: int = LEAST_RUNS,
    title: str = "",
    window: DailyWindow | None = None,
) -> Gate:
    """Compare the kernel that the host runs now (A) with another one; `kernel_b` "": with the next
    one into which it is started. Without `boots_a_side`, a pilot says how many it takes. Raises
    `Refused`."""
    kernel_a = _demand_kernel(host)
    if kernel_b == kernel_a:
        raise _bad("Both kernels are the same.", "Name the one that is to be judged, or none.")
    if len(spec.cells) > MOST_CELLS:
        raise _bad(
            f"This makes {len(spec.cells)} targets.", f"Choose {MOST_CELLS} of them at most."
        )
    if boots_a_side is not None and not LEAST_BOOTS <= boots_a_side <= MOST_BOOTS_A_SIDE:
        raise _bad(
            f"{boots_a_side} boots of each kernel are not possible.",
            f"Choose {LEAST_BOOTS} to {MOST_BOOTS_A_SIDE}, or let a pilot say how many.",
        )
    if runs_a_boot < LEAST_RUNS:
        raise _bad("One run in a boot is too few.", f"Choose {LEAST_RUNS} or more.")
    return Gate.objects.create(
        benchmark=_created(host, spec, requester, title or f"Kernel gate of {host}", window),
        kernels=[kernel_a, kernel_b[:KERNEL_LIMIT]],
        boots_a_side=boots_a_side,
        runs_a_boot=None if boots_a_side is None else runs_a_boot,
    )


@transaction.atomic
def order_bisect(
    baseline: Gate,
    label: str,
    kernels: Sequence[str],
    requester: Requester,
    *,
    title: str = "",
    window: DailyWindow | None = None,
) -> Gate:
    """Find the kernel of `kernels` that brought a loss of one target (`label`): the first one is
    kernel A of the gate `baseline`, whose boots are compared with, the last one is slower. Raises
    `Refused`."""
    host = baseline.benchmark.host
    cell = next((c for c in baseline.benchmark.matrix.cells if label_of(c) == label), None)
    if host is None or cell is None:
        raise _bad("The gate has not measured this target.", "Choose one of its targets.")
    if len(whole_boots(baseline, BootPart.A)) < LEAST_POOLED - 1:
        raise _bad("The gate has too few boots of kernel A.", "Wait until it has ended.")
    _demand_kernel(host)
    if len(kernels) > MOST_KERNELS or any(len(kernel) > KERNEL_LIMIT for kernel in kernels):
        raise _bad("The list of kernels is too long.", f"At most {MOST_KERNELS} are possible.")
    try:
        KernelBisect(kernels=tuple(kernels))
    except ValueError as error:
        raise _bad(f"This is no list of kernels: {error}.", "Each once, in their order.") from None
    if kernels[0] != baseline.kernel_a:
        raise _bad(
            f"The first kernel is {kernels[0]}.",
            f"It must be {baseline.kernel_a}, which the gate measured as kernel A.",
        )
    spec = _of_one(baseline.benchmark.matrix, cell)
    title = title or f"Bisect of kernels of {host}"
    return Gate.objects.create(
        benchmark=_created(host, spec, requester, title, window),
        kind=GateKind.BISECT,
        kernels=list(kernels),
        baseline=baseline,
        label=label,
    )


def _of_one(spec: Spec, cell: Cell) -> Spec:
    """The matrix with this cell alone."""
    return Spec(
        vg_uuid=spec.vg_uuid,
        vg_name=spec.vg_name,
        targets=(TargetChoice(cell.target, cell.mode, cell.chunk_kib, cell.sequential_cutoff_kib),),
        profiles=(
            ProfileChoice(cell.profile, cell.jobs, cell.iodepth, cell.block_bytes, cell.options),
        ),
        data_bytes=(cell.data_bytes,),
        seconds=cell.seconds,
        cache_bytes=(cell.cache_bytes,) if cell.cache_bytes else (),
        states=(cell.state,),
        warm_seconds=cell.warm_seconds,
        seed=spec.seed,
        slow_pvs=spec.slow_pvs,
        fast_pvs=spec.fast_pvs,
    )


def _created(
    host: Host, spec: Spec, requester: Requester, title: str, window: DailyWindow | None
) -> Benchmark:
    others = Benchmark.objects.unfinished().filter(host=host, purpose=BenchmarkPurpose.GATE)
    if others.exists():
        raise Refused(
            "busy",
            f"{host} has a gate that has not ended: two of them would want other kernels.",
            "Wait for its end, or cancel it.",
        )
    made = create_benchmark(
        host, spec, requester, title=title, purpose=BenchmarkPurpose.GATE, window=window
    )
    notify_workers.benchmark(made.pk)
    return made


def _demand_kernel(host: Host) -> str:
    kernel = kernel_of(host.hello)
    if not kernel or not host.hello.get("boot_id"):
        raise Refused(
            "unsupported", f"{host} has not said which kernel it runs.", "Refresh the host."
        )
    return kernel


@transaction.atomic
def choose_plan(gate: Gate, slower: float) -> None:
    """Begin with the plan that names a slow-down of this share. Raises `Refused`."""
    benchmark = _locked(gate)
    gate.refresh_from_db()
    if gate.boots_a_side is not None:
        raise Refused("too_late", "The plan was chosen already.", "Reload the page.")
    plans = (GatePlan.from_json(plan) for plan in gate.plans)
    plan = next((plan for plan in plans if abs(plan.slower - slower) < 1e-9), None)
    if plan is None:
        raise _bad("There is no such plan.", "Choose one of those that the gate shows.")
    gate.slower, gate.power = plan.slower, plan.power
    gate.boots_a_side, gate.runs_a_boot = plan.boots_a_side, plan.runs_a_boot
    gate.save(update_fields=["slower", "power", "boots_a_side", "runs_a_boot"])
    _wake(benchmark)


@transaction.atomic
def skip_kernel(gate: Gate, kernel: str) -> None:
    """A kernel of a bisect that cannot be measured, such as one that does not start, is open no
    longer. Raises `Refused`."""
    benchmark = _locked(gate)
    gate.refresh_from_db()
    if gate.kind != GateKind.BISECT or bisect_of(gate).next_kernel != kernel:
        raise Refused("too_late", "This kernel is not the next one.", "Reload the page.")
    gate.answers = {**gate.answers, kernel: KernelAnswer.SKIPPED.value}
    gate.save(update_fields=["answers"])
    _wake(benchmark)


def _locked(gate: Gate) -> Benchmark:
    """Its benchmark, which no worker changes until the end of the transaction. Raises `Refused` for
    one that is over."""
    locked = Benchmark.objects.select_for_update(of=("self",)).get(pk=gate.benchmark_id)
    if locked.state not in UNFINISHED:
        raise Refused("too_late", "The gate is over.", "Order another one.")
    return locked


def _wake(benchmark: Benchmark) -> None:
    rows = Benchmark.objects.filter(pk=benchmark.pk).exclude(state="paused")
    if rows.update(not_before=database_now()):
        notify_workers.benchmark(benchmark.pk)


def accept_regression(gate: Gate, who: str, reason: str, now: datetime) -> None:
    """The regression is a problem no more. Raises `Refused` where the gate found none."""
    kept = {"at": now.isoformat(), "by": who, "reason": reason[:REASON_LIMIT]}
    if not Gate.objects.filter(pk=gate.pk, effect=GateEffect.LOSS).update(acceptance=kept):
        raise Refused("not_found", "This gate found no loss.", "Open the page of the gate.")


def revoke_regression(gate: Gate) -> None:
    """The regression is a problem again. Raises `Refused` where it is not accepted."""
    if not Gate.objects.filter(pk=gate.pk).exclude(acceptance={}).update(acceptance={}):
        raise Refused("not_found", "This loss is not accepted.", "Reload the page.")


def _bad(message: str, correction: str) -> Refused:
    return Refused("invalid", message, correction)
