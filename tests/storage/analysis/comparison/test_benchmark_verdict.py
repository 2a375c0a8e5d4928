"""Three words on two sides of a benchmark."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from storage.analysis.comparison import Conditions, Rule, Unit, Word, compare_units
from storage.analysis.comparison.welch import differences

CALM = (1.0, 1.01, 0.99, 1.005, 0.995)
WILD = (1.0, 1.2, 0.85, 1.1, 0.9)
HERE = Conditions(fio_version="3.33", data_to_cache=4.0, kernel="6.1")


def side(
    level: float, spread: tuple[float, ...] = CALM, conditions: Conditions = HERE
) -> list[Unit]:
    """Boots with two runs each, which differ by 1 %."""
    return [
        Unit(runs=(level * each, level * each * 1.01), conditions=conditions) for each in spread
    ]


def test_fewer_iops_are_slower_and_the_sentence_says_between_which_bounds() -> None:
    verdict = compare_units(side(10_000), side(8_500), more_is_better=True)
    assert verdict.word is Word.SLOWER
    assert verdict.ratio == pytest.approx((0.85, 0.8402, 0.8600), abs=0.001)
    assert verdict.sentence == "slower by 14-16 %"


def test_more_latency_is_slower_and_less_is_faster() -> None:
    slower = compare_units(side(100), side(115), more_is_better=False)
    faster = compare_units(side(100), side(85), more_is_better=False)
    assert (slower.word, faster.word) == (Word.SLOWER, Word.FASTER)
    assert slower.sentence == "slower by 14-16 %"


def test_a_difference_that_surely_is_small_is_none() -> None:
    verdict = compare_units(side(10_000), side(9_750), more_is_better=True)
    assert verdict.change is not None and verdict.change.high < 0
    assert verdict.word is Word.NO_DIFFERENCE
    assert verdict.sentence == "no difference over 5 %"


def test_units_that_scatter_leave_it_open_and_the_sentence_says_what_would_settle_it() -> None:
    verdict = compare_units(side(10_000, WILD), side(9_000, WILD), more_is_better=True)
    assert verdict.word is Word.CANNOT_TELL
    assert verdict.sentence == (
        "cannot tell: these runs would have seen 34 %, 39 more boots a side would settle it"
    )


def test_where_no_reasonable_number_of_units_would_settle_it_the_sentence_says_so() -> None:
    wild = tuple(each**3 for each in WILD)
    verdict = compare_units(side(10_000, wild), side(9_750, wild), more_is_better=True)
    assert verdict.more_units is None
    assert verdict.sentence.endswith("even 100 more boots a side would not settle it")


def test_a_bound_below_one_percent_is_not_shown_as_none() -> None:
    spread = tuple(each**5 for each in CALM) * 4
    verdict = compare_units(side(10_000, spread), side(9_680, spread), more_is_better=True)
    assert verdict.sentence == "slower by 0.9-5 %"


def test_runs_of_one_boot_are_one_unit_however_many_they_are() -> None:
    once = [Unit(runs=(each,)) for each in WILD]
    often = [Unit(runs=(each,) * 20) for each in WILD]
    other = [Unit(runs=(0.8 * each,)) for each in WILD]
    few, many = (compare_units(each, other, more_is_better=True) for each in (once, often))
    assert few.change is not None and many.change is not None
    assert many.change.error == pytest.approx(few.change.error)


@pytest.mark.parametrize("boots", [0, 1])
def test_one_boot_says_nothing_of_how_boots_differ(boots: int) -> None:
    verdict = compare_units(side(10_000), side(5_000)[:boots], more_is_better=True)
    assert verdict.sentence == "cannot tell: at least 2 boots a side are needed"


def test_one_boot_is_enough_where_boots_of_both_kernels_are_taken_to_scatter_alike() -> None:
    for level, word in ((8_000, Word.SLOWER), (9_990, Word.NO_DIFFERENCE)):
        verdict = compare_units(side(10_000), side(level)[:1], more_is_better=True, is_pooled=True)
        assert verdict.word is word


def test_one_boot_against_eight_is_called_different_no_more_often_than_many() -> None:
    rng = np.random.default_rng(20261127)
    a, b = (rng.normal(0, 0.03, (8000, boots)) for boots in (8, 1))
    less, more = differences(a, b, is_pooled=True).named(Rule())
    assert (less | more).mean() == pytest.approx(0.01, abs=0.004)


@pytest.mark.parametrize("figure", [0.0, -1.0, float("nan"), float("inf")])
def test_a_run_without_a_figure_is_not_compared(figure: float) -> None:
    verdict = compare_units(
        side(10_000), [*side(10_000), Unit(runs=(figure,), conditions=HERE)], more_is_better=True
    )
    assert verdict.sentence == "cannot tell: a boot has no figures above 0"


def test_boots_that_are_alike_by_chance_are_not_certain() -> None:
    a, b = ([Unit(runs=(level,))] * 3 for level in (10_000.0, 9_990.0))
    verdict = compare_units(a, b, more_is_better=True)
    assert verdict.change is not None
    assert verdict.change.low < -0.001 < verdict.change.high


def test_other_conditions_are_named_and_nothing_is_claimed() -> None:
    other = replace(HERE, fio_version="3.36", data_to_cache=2.0, kernel="6.12")
    verdict = compare_units(
        side(10_000), side(5_000, conditions=other), more_is_better=True, varied=["kernel"]
    )
    assert verdict.word is Word.CANNOT_TELL
    assert verdict.refusals == (
        "differs: fio version, 3.33 and 3.36",
        "differs: data to cache, 4.0 and 2.0",
    )
    assert verdict.sentence.startswith("cannot tell: differs: fio version, 3.33 and 3.36; ")
    assert verdict.ratio is not None


def test_the_interval_is_that_of_welch() -> None:
    """The example of Welch's test in R's documentation: t.test(extra ~ group, data = sleep)."""
    a = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    b = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    found = differences(a, b)
    assert float(found.mean / found.error) == pytest.approx(1.8608, abs=1e-4)
    assert float(found.freedom) == pytest.approx(17.776, abs=1e-3)


@pytest.mark.parametrize("boots", [2, 4, 8])
def test_what_these_runs_would_have_seen_is_seen_in_four_of_five_comparisons(boots: int) -> None:
    """By boots that scatter exactly as all boots of their kernel do."""
    rng, spread = np.random.default_rng(20261127), 0.04
    typical = rng.normal(size=boots)
    typical = spread * (typical - typical.mean()) / typical.std(ddof=1)
    same = of_figures(np.exp(typical))
    verdict = compare_units(same, same, more_is_better=True)
    assert verdict.detectable is not None
    a, b = (rng.normal(0, spread, (8000, boots)) for _ in range(2))
    less, _ = differences(a, b + np.log(1 - verdict.detectable)).named(Rule())
    assert less.mean() == pytest.approx(0.8, abs=0.03)


def test_what_these_runs_would_have_seen_is_never_less_than_what_matters() -> None:
    verdict = compare_units(side(10_000), side(10_000), more_is_better=True)
    assert verdict.detectable == 0.05


@pytest.mark.parametrize("difference", [0.0, -0.03, -0.08])
def test_so_many_more_units_settle_it_in_about_four_of_five_comparisons(difference: float) -> None:
    rng, spread = np.random.default_rng(20261127), 0.05
    boots = spread * np.array([-1.0, 1.0, -1.0, 1.0, 0.0])
    verdict = compare_units(
        of_figures(np.exp(boots)), of_figures(np.exp(boots + difference)), more_is_better=True
    )
    assert verdict.word is Word.CANNOT_TELL and verdict.more_units is not None
    a, b = (rng.normal(0, spread, (4000, 5 + verdict.more_units)) for _ in range(2))
    found = differences(a, b + difference)
    less, more = found.named(Rule())
    assert (less | more | found.equal(Rule())).mean() == pytest.approx(0.8, abs=0.05)


def of_figures(figures: np.ndarray) -> list[Unit]:
    return [Unit(runs=(float(each),)) for each in figures]
