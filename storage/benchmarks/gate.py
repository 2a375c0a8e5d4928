"""A kernel gate: one small set of cells, measured in boots of kernel A and of kernel B. Pure.

Boots are the unit, because runs in one boot share what that boot dealt. A pilot of two boots of
kernel A says how many boots of each side it takes. Its boots are not counted again: a number of
boots that is chosen by the same figures that are then tested has more false alarms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any, Final, Self

import msgspec

from storage.analysis.comparison import Conditions, Rule, Unit, Word, compare_units
from storage.analysis.comparison.false_discovery import MeasuredTarget, TargetOutcome, outcomes
from storage.analysis.comparison.power import (
    PILOT_BOOTS,
    PILOT_RUNS,
    RUNS_A_BOOT,
    BootTimes,
    boots_needed,
    order_of_boots,
    spread_of,
)
from storage.benchmarks.boot_part import BootPart
from storage.benchmarks.summary import DirectionSummary, RunSummary
from storage.formatting import counted
from storage.formatting import seconds as seconds_text

LEAST_BOOTS: Final = 4
"""On each side. Two boots of a pilot may happen to be alike, and promise that fewer are enough."""
LEAST_RUNS: Final = RUNS_A_BOOT.start
MOST_PAUSED: Final = 0.05
"""A run that stood still for neighbours for a larger part of its time is void."""
MOST_IN_A_ROW: Final = 2
"""The most boots of one kernel in a row (A B B A): what drifts with time then hits both alike."""
OF_KERNELS: Final = frozenset(
    {"cpu_governor", "io_scheduler", "kernel", "mitigations", "nr_requests", "read_ahead_kb"}
)
"""What a kernel brings along, and is compared with it."""
NS_IN_MS: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """Of one run. `mean_ns` is the mean completion latency of its reads and writes."""

    iops: float
    mean_ns: float | None = None
    conditions: Conditions = field(default_factory=Conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootFigures:
    """What was measured in one boot: the runs of each cell, by its label."""

    part: BootPart
    kernel: str
    cells: Mapping[str, Sequence[RunFigures]]

    def is_whole(self, labels: Collection[str], runs: int = LEAST_RUNS) -> bool:
        """Whether each cell has so many runs."""
        return all(len(self.cells.get(label, ())) >= runs for label in labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan:
    """What the pilot says that it takes, before it starts: so many boots of each side, with so many
    runs of each cell, and `seconds` altogether, without the time until a person restarts the host.
    They name a slow-down of any one cell by `slower` in the share `power` of all cases."""

    boots_a_side: int
    runs_a_boot: int
    slower: float
    power: float
    seconds: float

    @property
    def sentence(self) -> str:
        """What it takes."""
        return (
            f"{counted(self.boots_a_side, 'boot')} of each kernel with "
            f"{counted(self.runs_a_boot, 'run')} of each target, "
            f"{seconds_text(self.seconds)} altogether: a slow-down by {100 * self.slower:.0f} % is "
            f"named in {100 * self.power:.0f} % of all cases."
        )

    def to_json(self) -> dict[str, Any]:
        """As it is kept."""
        json: dict[str, Any] = msgspec.to_builtins(self)
        return json

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The inverse of `to_json`."""
        return msgspec.convert(data, cls)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateProgress:
    """How far a gate is. `kernel_b` is "" where it is the next one that is not A, whatever it is.
    `boots_a_side` is None before a person confirmed the plan. `parts` are those of the boots that
    are whole, in their order."""

    kernel_a: str
    kernel_b: str
    boots_a_side: int | None
    parts: tuple[BootPart, ...] = ()

    @property
    def is_piloted(self) -> bool:
        """Whether the plan can be made."""
        return self._count[BootPart.PILOT] >= PILOT_BOOTS

    @property
    def is_over(self) -> bool:
        """Whether all boots are measured."""
        return self.boots_a_side is not None and all(map(self._is_full, (BootPart.A, BootPart.B)))

    @property
    def next_part(self) -> BootPart | None:
        """What to measure next; None for nothing, or not before the plan is confirmed."""
        if self.boots_a_side is None:
            return None if self.is_piloted else BootPart.PILOT
        wanted = [BootPart(side.lower()) for side in order_of_boots(self.boots_a_side)]
        done = [part for part in self.parts if part in (BootPart.A, BootPart.B)]
        for part in wanted[len(done) :] + wanted:
            if self._fits(part):
                return part
        return None

    @property
    def next_kernel(self) -> str:
        """The kernel into which the host must be started next; "" for any other than A."""
        return self.kernel_b if self.next_part is BootPart.B else self.kernel_a

    def part_of(self, kernel: str) -> BootPart | None:
        """What a boot of this kernel is measured for now; None where it is of no use. The other
        side's may come first, as long as no side has too many in a row."""
        if self.next_part is None:
            return None
        if self.next_part is BootPart.PILOT:
            return BootPart.PILOT if kernel == self.kernel_a else None
        if kernel == self.kernel_a:
            part = BootPart.A
        elif kernel == self.kernel_b or not self.kernel_b:
            part = BootPart.B
        else:
            return None
        return part if self._fits(part) else None

    @property
    def boots_left(self) -> int | None:
        """None before the plan is confirmed."""
        if self.boots_a_side is None:
            return None
        return 2 * self.boots_a_side - self._count[BootPart.A] - self._count[BootPart.B]

    @property
    def _count(self) -> Counter[BootPart]:
        return Counter(self.parts)

    def _is_full(self, part: BootPart) -> bool:
        return self._count[part] >= (self.boots_a_side or 0)

    def _fits(self, part: BootPart) -> bool:
        if self._is_full(part):
            return False
        other = BootPart.B if part is BootPart.A else BootPart.A
        last = [each for each in self.parts if each in (BootPart.A, BootPart.B)][-MOST_IN_A_ROW:]
        return self._is_full(other) or last != [part] * MOST_IN_A_ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class GateTarget:
    """The verdict on one cell, as it is kept. `q` is None where nothing was compared; `percents`
    are how much more or less IOPS B has, least and most. Figures are geometric means over boots,
    None where they are not known."""

    label: str
    word: Word
    sentence: str
    q: float | None
    is_alarm: bool
    lacks: str
    percents: tuple[float, float] | None
    iops: tuple[float, float]
    mean_ms: tuple[float, float] | None

    @property
    def lost(self) -> str:
        """What was lost, in figures: "SSD: slower by 9-12 %, 41,200 IOPS became 36,900"."""
        became = f"{self.iops[0]:,.0f} IOPS became {self.iops[1]:,.0f}"
        times = ""
        if self.mean_ms is not None:
            times = f", {self.mean_ms[0]:.3g} ms became {self.mean_ms[1]:.3g} ms"
        return f"{self.label}: {self.sentence}, {became}{times}"

    def to_json(self) -> dict[str, Any]:
        """As it is kept, with `lost` for those who only read it."""
        json: dict[str, Any] = msgspec.to_builtins(self)
        return {**json, "lost": self.lost}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The inverse of `to_json`."""
        return msgspec.convert(data, cls)


def figures_of(summary: RunSummary, conditions: Conditions) -> RunFigures | None:
    """What the gate takes of a run; None where the rule that was fixed beforehand makes it void."""
    paused = sum(until - since for since, until in summary.pauses) / 1000
    if summary.iops <= 0 or paused > MOST_PAUSED * summary.seconds:
        return None
    return RunFigures(
        iops=summary.iops, mean_ns=_mean_ns(summary.read, summary.write), conditions=conditions
    )


def _mean_ns(*directions: DirectionSummary | None) -> float | None:
    known = [(each.ios, each.mean_ns) for each in directions if each is not None and each.ios]
    total = sum(ios for ios, _ in known)
    if not total or any(mean is None for _, mean in known):
        return None
    return sum(ios * mean for ios, mean in known if mean is not None) / total


def plan_gate(
    pilot: Sequence[BootFigures],
    times: BootTimes,
    slower: float,
    power: float,
    rule: Rule | None = None,
) -> GatePlan | None:
    """The plan that takes the least time for all cells of the pilot; None where each would have
    more than `power.MOST_BOOTS`. `times.run_seconds` are those of one run of each cell. A slow-down
    of one cell alone must hold among all of them, so that each has its share of the false alarms.
    Raises ValueError for fewer than two boots, or without a boot of several runs."""
    rule = rule or Rule()
    labels = list(pilot[0].cells) if pilot else []
    shared = Rule(alpha=rule.alpha / max(1, len(labels)), least=rule.least)
    spreads = [
        spread_of([[run.iops for run in boot.cells[label]] for boot in pilot]) for label in labels
    ]
    plans = []
    for runs in RUNS_A_BOOT:
        worst = max((spread.of_boot_mean(runs) for spread in spreads), default=0.0)
        needed = boots_needed(worst, slower, power, shared)
        if needed is not None:
            boots = max(needed, LEAST_BOOTS)
            plans.append(
                GatePlan(
                    boots_a_side=boots,
                    runs_a_boot=runs,
                    slower=slower,
                    power=power,
                    seconds=2 * boots * times.of_boot(runs),
                )
            )
    return min(plans, key=lambda plan: plan.seconds, default=None)


def judge_gate(
    boots: Iterable[BootFigures], repeated: Collection[str] = (), rule: Rule | None = None
) -> tuple[GateTarget, ...]:
    """The verdict on each cell, kernel B against kernel A. `repeated`: the cells that an earlier
    gate of the same two kernels called slower."""
    kept = list(boots)
    sides = [[boot for boot in kept if boot.part is part] for part in (BootPart.A, BootPart.B)]
    labels = list(dict.fromkeys(label for boot in (*sides[0], *sides[1]) for label in boot.cells))
    measured = {label: _measured(sides[0], sides[1], label, rule) for label in labels}
    return tuple(_target(outcome, sides[0], sides[1]) for outcome in outcomes(measured, repeated))


def _measured(
    a: Sequence[BootFigures],
    b: Sequence[BootFigures],
    label: str,
    rule: Rule | None,
    *,
    is_pooled: bool = False,
) -> MeasuredTarget:
    iops = compare_units(
        _units(a, label),
        _units(b, label),
        more_is_better=True,
        varied=OF_KERNELS,
        rule=rule,
        is_pooled=is_pooled,
    )
    has_latency = all(run.mean_ns for boot in (*a, *b) for run in boot.cells.get(label, ()))
    if not has_latency:
        return MeasuredTarget(iops=iops)
    latency = compare_units(
        _units(a, label, is_latency=True),
        _units(b, label, is_latency=True),
        more_is_better=False,
        varied=OF_KERNELS,
        rule=rule,
        is_pooled=is_pooled,
    )
    return MeasuredTarget(iops=iops, mean_latency=latency)


def _units(boots: Sequence[BootFigures], label: str, *, is_latency: bool = False) -> list[Unit]:
    return [
        Unit(
            runs=tuple((run.mean_ns or 0.0) if is_latency else run.iops for run in runs),
            conditions=runs[0].conditions,
        )
        for boot in boots
        if (runs := boot.cells.get(label, ()))
    ]


def _target(
    outcome: TargetOutcome, a: Sequence[BootFigures], b: Sequence[BootFigures]
) -> GateTarget:
    verdict, label = outcome.measured.iops, outcome.target
    means = [_mean(_units(side, label)) for side in (a, b)]
    mean_ms = None
    if outcome.measured.mean_latency is not None:
        first, second = (_mean(_units(side, label, is_latency=True)) / NS_IN_MS for side in (a, b))
        mean_ms = first, second
    return GateTarget(
        label=label,
        word=verdict.word,
        sentence=verdict.sentence,
        q=outcome.q,
        is_alarm=outcome.is_alarm,
        lacks=outcome.lacks,
        percents=verdict.percents,
        iops=(means[0], means[1]),
        mean_ms=mean_ms,
    )


def _mean(units: Sequence[Unit]) -> float:
    known = [unit.log_mean for unit in units if unit.is_measured]
    return exp(sum(known) / len(known)) if known else 0.0


def judge_step(pool: Sequence[BootFigures], boot: BootFigures, label: str) -> Word:
    """One boot of a kernel against the boots of the good end of a bisect."""
    return _measured(pool, [boot], label, None, is_pooled=True).iops.word


def effect_of(targets: Sequence[GateTarget]) -> str:
    """The loss ("loss") or its absence ("none") that alerts go by; "" where the runs show neither:
    what is unknown is never healthy."""
    if any(target.is_alarm for target in targets):
        return "loss"
    sure = (Word.FASTER, Word.NO_DIFFERENCE)
    return "none" if targets and all(target.word in sure for target in targets) else ""


def runs_of_part(part: BootPart, runs_a_boot: int | None) -> int:
    """How often each cell is measured in a boot."""
    return PILOT_RUNS if part is BootPart.PILOT else runs_a_boot or LEAST_RUNS
