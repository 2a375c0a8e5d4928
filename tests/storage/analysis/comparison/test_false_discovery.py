"""Which of many differences are alarms."""

from __future__ import annotations

import numpy as np
import pytest

from storage.analysis.comparison import BenchmarkVerdict, Conditions, Unit, compare_units
from storage.analysis.comparison.false_discovery import MeasuredTarget, outcomes, q_values

BOOTS = (1.0, 1.02, 0.98, 1.01, 0.99)


def verdict(
    factor: float, *, of_latency: bool = False, conditions: Conditions | None = None
) -> BenchmarkVerdict:
    a = [Unit(runs=(each,)) for each in BOOTS]
    b = [Unit(runs=(factor * each,), conditions=conditions or Conditions()) for each in BOOTS]
    return compare_units(a, b, more_is_better=not of_latency)


SLOWER = MeasuredTarget(iops=verdict(0.9), mean_latency=verdict(1.1, of_latency=True))
SAME = MeasuredTarget(iops=verdict(1.0), mean_latency=verdict(1.0, of_latency=True))


def test_q_values_are_those_of_the_published_example() -> None:
    """Benjamini and Hochberg, table of 15 p values: four are named at 5 %."""
    p_values = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.0000,
    ]  # fmt: skip
    q = q_values(p_values)
    assert [each <= 0.05 for each in q].count(True) == 4
    assert q[:4] == pytest.approx([0.0015, 0.003, 0.0095, 0.035625])
    assert q_values(p_values[::-1]) == q[::-1]


def test_a_slow_down_of_iops_that_the_mean_latency_confirms_is_an_alarm() -> None:
    ssd, hdd = outcomes({"SSD": SLOWER, "HDD": SAME})
    assert (ssd.target, ssd.is_alarm, hdd.is_alarm) == ("SSD", True, False)
    assert ssd.q is not None and ssd.q < 0.01


def test_a_slow_down_of_iops_alone_has_to_be_repeated() -> None:
    target = MeasuredTarget(iops=verdict(0.9), mean_latency=verdict(0.99, of_latency=True))
    (once,), (again,) = outcomes({"SSD": target}), outcomes({"SSD": target}, repeated=["SSD"])
    assert not once.is_alarm and once.lacks.endswith("repeat it with new boots")
    assert again.is_alarm and again.lacks == ""


def test_without_a_mean_latency_a_slow_down_has_to_be_repeated() -> None:
    (once,) = outcomes({"SSD": MeasuredTarget(iops=verdict(0.9))})
    assert not once.is_alarm


def test_what_would_be_an_alarm_of_one_target_may_be_chance_among_fifty() -> None:
    near = MeasuredTarget(iops=verdict(0.955), mean_latency=verdict(1.05, of_latency=True))
    (alone,) = outcomes({"one": near})
    assert alone.is_alarm
    first, *_ = outcomes({"one": near} | {f"other {n}": SAME for n in range(49)})
    assert not first.is_alarm and first.lacks == "among so many targets it may be chance"


def test_what_was_not_compared_has_no_q_and_takes_no_part() -> None:
    other = MeasuredTarget(iops=verdict(0.9, conditions=Conditions(fio_version="3.36")))
    ssd, hdd = outcomes({"SSD": SLOWER, "HDD": other})
    (alone,) = outcomes({"SSD": SLOWER})
    assert hdd.q is None and not hdd.is_alarm
    assert ssd.q == alone.q


def test_without_a_difference_anywhere_alarms_stay_as_seldom_as_with_one_target() -> None:
    rng = np.random.default_rng(20261127)
    alarms = sum(min(q_values(rng.uniform(size=20).tolist())) <= 0.01 for _ in range(2000))
    assert alarms / 2000 <= 0.015
