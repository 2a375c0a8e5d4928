"""Kernel gates and bisects: boots that a person makes are noticed and measured, planned, judged,
and what was lost becomes a problem."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.alerts import alert_judge
from jobs.benchmarks.benchmark_order import cancel_benchmark
from jobs.benchmarks.gate_figures import gate_progress_of
from jobs.benchmarks.gate_order import (
    accept_regression,
    choose_plan,
    order_bisect,
    order_gate,
    revoke_regression,
    skip_kernel,
)
from jobs.benchmarks.gate_steps import bisect_of
from jobs.models import Alert
from jobs.problems import problems_of
from storage.benchmarks.gate import GatePlan
from storage.benchmarks.matrix import TargetKind
from storage.models import BenchmarkState, BootState, Gate, Host, HostActivity, RunState
from storage.planner import Refused
from tests import make
from tests.jobs.benchmarks.gating import (
    NEW,
    NEWER,
    OLD,
    end_runs,
    finished,
    gate_host,
    gate_spec,
    looked,
    measured,
    ordered_gate,
    restart,
    settle,
)
from tests.jobs.benchmarks.playing import NO_ONE

pytestmark = pytest.mark.django_db
HDD = TargetKind.HDD


@pytest.fixture
def host() -> Host:
    return gate_host()


def codes(host: Host) -> list[str]:
    return [problem.code for problem in problems_of([host.pk], timezone.now())[host.pk]]


def states(gate: Gate) -> list[tuple[str, str]]:
    return list(gate.boots.values_list("part", "state"))


def test_a_pilot_says_what_it_takes_and_begins_once_a_person_has_chosen(host: Host) -> None:
    gate = looked(ordered_gate(host))
    assert gate.benchmark.message.startswith("Waits until the load")
    assert settle(gate).boots.get().state == BootState.MEASURING
    assert end_runs(gate) == 6
    gate = looked(gate)
    assert f"Restart the host into {OLD} once more" in gate.benchmark.message
    assert (gate.benchmark.state, gate.benchmark.not_before) == (BenchmarkState.RUNNING, None)
    assert gate.plans == []
    restart(host, OLD)
    gate = measured(gate)
    assert states(gate) == [("pilot", "done"), ("pilot", "done")]
    plans = [GatePlan.from_json(plan) for plan in gate.plans]
    assert [plan.slower for plan in plans] == [0.05, 0.1, 0.2]
    assert plans[0].seconds > plans[2].seconds and "Choose what is to be named" in (
        gate.benchmark.message
    )
    with pytest.raises(Refused, match="no such plan"):
        choose_plan(gate, 0.03)
    choose_plan(gate, 0.2)
    gate = looked(gate)
    assert (gate.slower, gate.boots_a_side) == (0.2, plans[2].boots_a_side)
    assert f"Restart the host into {OLD} once more" in gate.benchmark.message
    with pytest.raises(Refused, match="chosen already"):
        choose_plan(gate, 0.1)


def test_boots_are_noticed_measured_in_turn_and_what_was_lost_becomes_a_problem(
    host: Host,
) -> None:
    gate = measured(ordered_gate(host, boots_a_side=4))
    assert "into the kernel that is to be judged" in gate.benchmark.message
    gate = finished(gate, slower=0.1)
    assert gate.benchmark.state == BenchmarkState.DONE
    assert "".join(part for part, _ in states(gate)) == "abbaabba"
    assert gate.kernels == [OLD, NEW] and gate.effect == "loss"
    assert [target["is_alarm"] for target in gate.targets] == [True, True]
    [problem] = problems_of([host.pk], timezone.now())[host.pk]
    assert problem.code == "kernel_regression"
    assert f"found {NEW} slower than {OLD}: hdd, zipf_read, 128 MiB: slower by" in problem.message
    assert "IOPS became" in problem.message and "ms became" in problem.message
    alert_judge.judge()
    assert Alert.objects.get().code == "kernel_regression"


def test_the_problem_ends_by_a_later_gate_that_can_tell_or_by_a_person(host: Host) -> None:
    first = finished(measured(ordered_gate(host, HDD, boots_a_side=4)), slower=0.2)
    accept_regression(first, "ada@example.org", "Mitigations stay on", timezone.now())
    assert codes(host) == []
    revoke_regression(first)
    with pytest.raises(Refused, match="not accepted"):
        revoke_regression(first)
    unsure = finished(measured(ordered_gate(host, HDD, boots_a_side=4)), new=NEWER)
    Gate.objects.filter(pk=unsure.pk).update(effect="")
    assert codes(host) == ["kernel_regression"]
    Gate.objects.filter(pk=unsure.pk).update(effect="none")
    assert codes(host) == []
    with pytest.raises(Refused, match="found no loss"):
        accept_regression(unsure, "ada@example.org", "x", timezone.now())


def test_without_a_difference_nothing_is_wrong(host: Host) -> None:
    gate = finished(measured(ordered_gate(host, HDD, boots_a_side=8)))
    assert gate.effect == "none" and gate.targets[0]["word"] == "no difference"
    assert codes(host) == []


def test_a_kernel_that_is_not_wanted_is_not_measured(host: Host) -> None:
    gate = measured(ordered_gate(host, HDD, kernel_b=NEW, boots_a_side=4))
    assert f"Restart the host into {NEW}. It runs {OLD}" in gate.benchmark.message
    restart(host, NEWER)
    gate = looked(gate)
    assert f"into {NEW}. It runs {NEWER}" in gate.benchmark.message
    assert gate.boots.count() == 1 and gate.benchmark.not_before is None
    restart(host, NEW)
    assert measured(gate).boots.count() == 2


def test_load_after_a_restart_settles_before_anything_is_measured(host: Host) -> None:
    make.activity(host, at=timezone.now() + timedelta(seconds=1), read_iops=5000.0)
    gate = looked(ordered_gate(host, HDD))
    for iops in (900.0, 400.0):
        gate = settle(gate)
        assert gate.boots.get().state == BootState.SETTLING
        HostActivity.objects.update(at=timezone.now(), read_iops=iops, write_iops=0)
    for iops in (410.0, 420.0, 400.0):
        HostActivity.objects.update(at=timezone.now(), read_iops=iops)
        gate = settle(gate)
    assert gate.boots.get().state == BootState.MEASURING


def test_a_restart_in_the_midst_of_a_boot_makes_it_void_unless_it_is_whole(host: Host) -> None:
    gate = settle(looked(ordered_gate(host, HDD, boots_a_side=4, runs_a_boot=3)))
    first, *_ = gate.benchmark.runs.all()
    end_runs(gate)
    gate.benchmark.runs.exclude(pk=first.pk).update(
        state=RunState.WANTED, ended_at=None, summary=None
    )
    restart(host, OLD)
    gate = looked(gate)
    assert states(gate) == [("a", "void"), ("a", "settling")]
    assert gate_progress_of(gate).parts == ()
    assert not gate.benchmark.runs.filter(state=RunState.WANTED).exists()
    gate = settle(gate)
    end_runs(gate)
    last = gate.benchmark.runs.last()
    assert last is not None
    gate.benchmark.runs.filter(pk=last.pk).update(
        state=RunState.WANTED, ended_at=None, summary=None
    )
    restart(host, NEW)
    assert states(looked(gate)) == [("a", "void"), ("a", "done"), ("b", "settling")]


def test_a_run_of_another_boot_does_not_count(host: Host) -> None:
    gate = settle(looked(ordered_gate(host, HDD, boots_a_side=4)))
    end_runs(gate, boot_id="elsewhere")
    assert states(looked(gate)) == [("a", "void")]


def test_a_failed_run_is_done_again_and_not_for_ever(host: Host) -> None:
    gate = settle(looked(ordered_gate(host, HDD, boots_a_side=4)))
    end_runs(gate, summary=None)
    gate = looked(gate)
    assert gate.benchmark.runs.count() == 3
    for _ in range(8):
        end_runs(gate, summary=None)
        gate = looked(gate)
    assert gate.benchmark.runs.count() == 6
    assert states(gate) == [("a", "void")]
    assert "once more" not in gate.benchmark.message or OLD in gate.benchmark.message


def test_what_cannot_be_a_gate_is_refused(host: Host) -> None:
    def refused(text: str, **options: object) -> None:
        with pytest.raises(Refused, match=text):
            ordered_gate(host, HDD, **options)

    refused("Both kernels are the same", kernel_b=OLD)
    refused("2 boots of each kernel", boots_a_side=2)
    refused("too few", boots_a_side=4, runs_a_boot=1)
    sizes = tuple((128 << 20) * n for n in range(1, 10))
    with pytest.raises(Refused, match="9 targets"):
        order_gate(host, gate_spec(HDD, data_bytes=sizes), NO_ONE)
    ordered_gate(host, HDD)
    refused("has a gate that has not ended")
    Host.objects.update(hello={})
    host.refresh_from_db()
    refused("not said which kernel|knows no benchmarks")


def test_a_cancelled_gate_ends(host: Host) -> None:
    gate = settle(looked(ordered_gate(host, HDD, boots_a_side=4)))
    end_runs(gate)
    cancel_benchmark(gate.benchmark, NO_ONE)
    gate = looked(gate)
    assert gate.benchmark.ended_at is not None and gate.effect == ""


KERNELS = [OLD, "6.1.90", "6.5.1", "6.6.2", "6.8.3", NEW]


def test_a_bisect_finds_between_which_kernels_a_loss_came(host: Host) -> None:
    first = finished(measured(ordered_gate(host, HDD, boots_a_side=6)), slower=0.2)
    bisect = order_bisect(first, "hdd, zipf_read, 128 MiB", KERNELS, NO_ONE)
    for _ in range(6):
        bisect = looked(bisect)
        kernel = bisect_of(bisect).next_kernel
        if bisect.benchmark.is_over or kernel is None:
            break
        assert f"Restart the host into {kernel}" in bisect.benchmark.message
        restart(host, kernel)
        bisect = measured(bisect, 0.2 if KERNELS.index(kernel) >= 3 else 0.0)
    assert bisect.benchmark.state == BenchmarkState.DONE
    assert bisect_of(bisect).sentence == "first bad 6.6.2, 6.5.1 is good"
    assert bisect.boots.count() == 2


def test_a_kernel_that_does_not_start_is_skipped(host: Host) -> None:
    first = finished(measured(ordered_gate(host, HDD, boots_a_side=4)), slower=0.2)
    label = "hdd, zipf_read, 128 MiB"
    bisect = looked(order_bisect(first, label, [OLD, "6.5.1", NEW], NO_ONE))
    with pytest.raises(Refused, match="not the next one"):
        skip_kernel(bisect, "6.6.2")
    skip_kernel(bisect, "6.5.1")
    bisect = looked(bisect)
    assert bisect.benchmark.state == BenchmarkState.DONE
    assert "skipped 6.5.1" in bisect_of(bisect).sentence


def test_what_cannot_be_bisected_is_refused(host: Host) -> None:
    first = finished(measured(ordered_gate(host, HDD, boots_a_side=4)), slower=0.2)
    label = "hdd, zipf_read, 128 MiB"
    for text, args in (
        ("not measured this target", ("ssd", [OLD, NEW])),
        ("no list of kernels", (label, [OLD, OLD])),
        ("The first kernel is", (label, [NEW, OLD])),
    ):
        with pytest.raises(Refused, match=text):
            order_bisect(first, *args, NO_ONE)
