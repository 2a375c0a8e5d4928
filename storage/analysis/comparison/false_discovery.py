"""Many targets compared at once: which differences are alarms.

Of 20 comparisons at 5 % one is a false alarm. The share of false ones among the differences that
are named is controlled (Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate",
J. R. Statist. Soc. B 57, 1995); with no difference anywhere that is the chance of any alarm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from storage.analysis.comparison.benchmark_verdict import BenchmarkVerdict, Word


def q_values(p_values: Sequence[float]) -> list[float]:
    """For each p the least false discovery rate at which it is named, in the same order."""
    descending = sorted(range(len(p_values)), key=lambda n: p_values[n], reverse=True)
    q_of, least = dict[int, float](), 1.0
    for above, n in enumerate(descending):
        least = min(least, p_values[n] * len(p_values) / (len(p_values) - above))
        q_of[n] = least
    return [q_of[n] for n in range(len(p_values))]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTarget:
    """The verdicts on one target: on its IOPS, and on its mean latency where it was measured."""

    iops: BenchmarkVerdict
    mean_latency: BenchmarkVerdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOutcome:
    """`q` is None where nothing was compared. An alarm is a slow-down that holds among all targets,
    and is confirmed by the mean latency or by an earlier gate. `lacks` says why a slow-down of the
    IOPS is no alarm yet."""

    target: str
    measured: MeasuredTarget
    q: float | None
    is_alarm: bool
    lacks: str = ""


def outcomes(
    targets: Mapping[str, MeasuredTarget], repeated: Collection[str] = ()
) -> list[TargetOutcome]:
    """Of each target, in the order given. `repeated`: targets whose IOPS an earlier comparison of
    the same two sides, with other boots, called slower."""
    compared = {name: each for name, each in targets.items() if _p(each) is not None}
    qs = dict(zip(compared, q_values([_p(each) or 0.0 for each in compared.values()]), strict=True))
    return [
        _outcome(name, each, qs.get(name), is_repeat=name in repeated)
        for name, each in targets.items()
    ]


def _p(target: MeasuredTarget) -> float | None:
    verdict = target.iops
    return None if verdict.change is None or verdict.refusals else verdict.change.p


def _outcome(
    name: str, target: MeasuredTarget, q: float | None, *, is_repeat: bool
) -> TargetOutcome:
    lacks = ""
    if target.iops.word is Word.SLOWER:
        if q is None or q > target.iops.rule.alpha:
            lacks = "among so many targets it may be chance"
        elif not (is_repeat or _is_longer(target.mean_latency)):
            lacks = "the mean latency does not confirm it: repeat it with new boots"
    return TargetOutcome(
        target=name,
        measured=target,
        q=q,
        is_alarm=target.iops.word is Word.SLOWER and not lacks,
        lacks=lacks,
    )


def _is_longer(mean_latency: BenchmarkVerdict | None) -> bool:
    """Whether the mean latency rose at all; how sure that is, the IOPS say already."""
    change = None if mean_latency is None else mean_latency.change
    return change is not None and change.mean > 0
