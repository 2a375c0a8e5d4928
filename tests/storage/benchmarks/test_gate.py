"""A kernel gate: which boot comes next, how many it takes, and what is said of each target; the
whole gate on itself, with boots that do not differ and with slower ones."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, log1p
from random import Random

import pytest

from storage.analysis.comparison import Conditions, Word
from storage.analysis.comparison.power import BootTimes, order_of_boots
from storage.benchmarks.boot_part import BootPart
from storage.benchmarks.gate import (
    LEAST_BOOTS,
    BootFigures,
    GatePlan,
    GateProgress,
    GateTarget,
    RunFigures,
    effect_of,
    figures_of,
    judge_gate,
    judge_step,
    plan_gate,
    runs_of_part,
)
from storage.benchmarks.settling import has_settled
from storage.benchmarks.summary import DirectionSummary, RunSeries, RunSummary

P, A, B = BootPart.PILOT, BootPart.A, BootPart.B
OLD, NEW, OTHER = "6.1.0-28-amd64", "6.12.9-amd64", "6.16.4-amd64"
TIMES = BootTimes(until_ready_seconds=300, run_seconds=60)
LABELS = ("ssd", "hdd", "lvmcache")


def progress(*parts: BootPart, side: int | None = 4, new: str = NEW) -> GateProgress:
    return GateProgress(kernel_a=OLD, kernel_b=new, boots_a_side=side, parts=parts)


def boot(
    part: BootPart,
    chance: Random,
    *,
    slower: float = 0,
    runs: int = 3,
    of_boots: float = 0.01,
    of_runs: float = 0.02,
    only: str = "",
) -> BootFigures:
    """Boots and runs scatter by these shares; `only` this target is slower."""
    cells = {}
    for n, label in enumerate(LABELS, 1):
        centre = log(10_000 * n) + chance.gauss(0, of_boots)
        centre += log1p(-slower) if only in ("", label) else 0
        drawn = [exp(centre + chance.gauss(0, of_runs)) for _ in range(runs)]
        cells[label] = [RunFigures(iops=iops, mean_ns=16e9 / iops) for iops in drawn]
    return BootFigures(part=part, kernel=NEW if part is B else OLD, cells=cells)


def played(plan: GatePlan, chance: Random, slower: float, only: str = "") -> list[BootFigures]:
    return [
        boot(A, chance, runs=plan.runs_a_boot)
        if side == "A"
        else boot(B, chance, runs=plan.runs_a_boot, slower=slower, only=only)
        for side in order_of_boots(plan.boots_a_side)
    ]


def piloted(chance: Random, slower: float = 0.1, power: float = 0.95) -> GatePlan:
    plan = plan_gate([boot(P, chance), boot(P, chance)], TIMES, slower, power)
    assert plan is not None
    return plan


def test_two_boots_of_the_running_kernel_are_the_pilot() -> None:
    first = progress(side=None)
    assert (first.next_part, first.next_kernel, first.boots_left) == (P, OLD, None)
    assert first.part_of(NEW) is None and first.part_of(OLD) is P
    done = progress(P, P, side=None)
    assert done.is_piloted and done.next_part is None and done.part_of(OLD) is None


def test_boots_follow_each_other_as_abba() -> None:
    parts: list[BootPart] = [P, P]
    while (part := progress(*parts).next_part) is not None:
        assert progress(*parts).part_of(progress(*parts).next_kernel) is part
        parts.append(part)
    assert "".join(parts[2:]) == "abbaabba" and progress(*parts).is_over
    assert progress(*parts).part_of(OLD) is None


def test_a_boot_of_the_other_kernel_counts_but_not_three_in_a_row() -> None:
    assert progress(A).part_of(OLD) is A
    assert progress(A, A).part_of(OLD) is None and progress(A, A).next_part is B
    assert progress(A, A).part_of(OTHER) is None
    # Where the other side is full, there is no other way.
    assert progress(A, A, B, B, side=2).is_over
    assert progress(A, B, B, A, B, B).part_of(OLD) is A
    assert progress(A, B, B, A, B, B, A, A, side=4).is_over
    assert progress(A, B, B, A, B, B, A).boots_left == 1


def test_the_other_kernel_may_be_unknown_until_the_host_runs_it() -> None:
    unknown = progress(A, new="")
    assert unknown.next_kernel == "" and unknown.part_of(OTHER) is B
    assert progress(A, B, new=OTHER).part_of(NEW) is None


def test_a_pilot_says_how_many_boots_and_hours_it_takes() -> None:
    plan = piloted(Random(1))
    assert LEAST_BOOTS <= plan.boots_a_side <= 12 and plan.runs_a_boot >= 2
    assert plan.seconds == 2 * plan.boots_a_side * TIMES.of_boot(plan.runs_a_boot)
    assert f"{plan.boots_a_side} boots of each kernel" in plan.sentence
    assert "a slow-down by 10 % is named in 95 % of all cases" in plan.sentence
    assert GatePlan.from_json(plan.to_json()) == plan
    smaller = piloted(Random(1), slower=0.05)
    assert smaller.seconds > plan.seconds


def test_of_boots_that_differ_by_half_no_number_is_enough() -> None:
    chance = Random(2)
    wild = [boot(P, chance, of_boots=0.6) for _ in range(4)]
    assert plan_gate(wild, TIMES, 0.05, 0.95) is None


def test_a_pilot_of_one_boot_makes_no_plan() -> None:
    with pytest.raises(ValueError, match="two boots"):
        plan_gate([boot(P, Random(3))], TIMES, 0.1, 0.95)


def test_the_whole_gate_names_a_tenth_and_nothing_where_nothing_differs() -> None:
    """The plan is that of a pilot; 1,000 splits of a pool and other scatter are those of
    `comparison.method_check`, which judges by the same rule."""
    chance = Random(20261127)
    plans = [piloted(chance) for _ in range(4)]
    false = named = confirmed = 0
    for n in range(100):
        plan = plans[n % 4]
        same = judge_gate(played(plan, chance, 0))
        false += any(target.is_alarm for target in same)
        tenth = judge_gate(played(plan, chance, 0.1, only="hdd"))
        by_label = {target.label: target for target in tenth}
        named += by_label["hdd"].is_alarm
        confirmed += effect_of(tenth) == "loss"
    assert false <= 2
    assert named >= 95 and confirmed >= 95


def test_a_twentieth_is_named_in_four_of_five_gates_that_were_planned_for_it() -> None:
    chance = Random(20261128)
    plans = [piloted(chance, slower=0.05, power=0.8) for _ in range(4)]
    named = 0
    for n in range(40):
        judged = judge_gate(played(plans[n % 4], chance, 0.05, only="lvmcache"))
        named += any(target.is_alarm for target in judged)
    assert named >= 32


def test_a_verdict_says_what_was_lost() -> None:
    chance = Random(5)
    plan = piloted(chance)
    ssd, hdd, _ = judge_gate(played(plan, chance, 0.2, only="hdd"))
    assert (ssd.word is Word.SLOWER, hdd.word, hdd.is_alarm) == (False, Word.SLOWER, True)
    assert hdd.percents is not None and hdd.percents[0] < -15 and hdd.percents[1] > -25
    assert hdd.q is not None and hdd.q < 0.01
    assert hdd.lost.startswith("hdd: slower by ") and "IOPS became" in hdd.lost
    assert hdd.mean_ms is not None and hdd.mean_ms[1] > hdd.mean_ms[0]
    assert GateTarget.from_json(hdd.to_json()) == hdd


def test_a_slow_down_that_the_mean_latency_does_not_confirm_is_no_alarm_until_repeated() -> None:
    chance = Random(6)
    boots = [
        replace(
            each,
            cells={
                label: [replace(run, mean_ns=1e6 * (0.98 if each.part is B else 1)) for run in runs]
                for label, runs in each.cells.items()
            },
        )
        for each in played(piloted(chance), chance, 0.2)
    ]
    first = judge_gate(boots)
    assert {target.word for target in first} == {Word.SLOWER}
    assert not any(target.is_alarm for target in first) and "repeat" in first[0].lacks
    assert effect_of(first) == ""
    assert all(target.is_alarm for target in judge_gate(boots, repeated=LABELS))


def test_what_a_kernel_brings_along_is_compared_and_what_it_does_not_is_refused() -> None:
    chance = Random(7)
    boots = played(piloted(chance), chance, 0.2)

    def under(**of_b: str) -> tuple[GateTarget, ...]:
        return judge_gate(
            replace(
                each,
                cells={
                    label: [
                        replace(run, conditions=Conditions(**(of_b if each.part is B else {})))
                        for run in runs
                    ]
                    for label, runs in each.cells.items()
                },
            )
            for each in boots
        )

    assert effect_of(under(kernel=NEW, io_scheduler="none")) == "loss"
    other = under(fio_version="3.36")
    assert {target.word for target in other} == {Word.CANNOT_TELL}
    assert "fio version" in other[0].sentence and effect_of(other) == ""


def test_no_loss_is_known_only_where_every_target_is_sure() -> None:
    chance = Random(8)
    sure = judge_gate(played(piloted(chance, slower=0.05), chance, 0))
    assert [target.word for target in sure] == [Word.NO_DIFFERENCE] * 3
    assert effect_of(sure) == "none"
    assert effect_of((*sure[:2], replace(sure[2], word=Word.CANNOT_TELL))) == ""
    assert effect_of(()) == ""


def test_one_boot_of_a_bisect_is_compared_with_all_boots_of_the_good_end() -> None:
    chance = Random(9)
    pool = [boot(A, chance) for _ in range(6)]
    step = BootPart.STEP
    assert judge_step(pool, boot(step, chance, slower=0.2), "hdd") is Word.SLOWER
    assert judge_step(pool, boot(step, chance), "hdd") is not Word.SLOWER


def test_a_run_that_stood_still_for_neighbours_is_void() -> None:
    reads = DirectionSummary(ios=300, iops=3.0, bytes_s=0.0, mean_ns=1e6)
    writes = DirectionSummary(ios=100, iops=1.0, bytes_s=0.0, mean_ns=5e6)
    series = RunSeries(step_ms=500)
    whole = RunSummary(100, 100.0, 1000.0, 1, 1.0, reads, writes, (), series)
    figures = figures_of(whole, Conditions())
    assert figures is not None and figures.mean_ns == 2e6
    assert figures_of(replace(whole, pauses=((0, 5_000),)), Conditions()) is not None
    assert figures_of(replace(whole, pauses=((0, 3_000), (9_000, 11_100))), Conditions()) is None
    assert figures_of(replace(whole, iops=0.0), Conditions()) is None


def test_a_pilot_has_three_runs_in_a_boot_and_others_what_the_plan_says() -> None:
    assert (runs_of_part(P, None), runs_of_part(A, 5), runs_of_part(BootPart.STEP, None)) == (
        3,
        5,
        2,
    )


@pytest.mark.parametrize(
    ("seconds", "readings", "is_sampled", "expected"),
    [
        (59, [], False, False),
        (60, [], False, True),
        (60, [10, 10], True, False),
        (200, [900, 10, 12, 11], True, True),
        (200, [900, 800, 500], True, False),
        (200, [2000, 900, 1000, 1100], True, True),
        (1200, [900, 100], True, True),
    ],
)
def test_load_has_settled_once_readings_are_alike_or_low(
    seconds: float, readings: list[float], is_sampled: bool, expected: bool
) -> None:
    assert has_settled(seconds, readings, is_sampled=is_sampled) is expected
