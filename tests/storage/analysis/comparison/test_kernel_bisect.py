"""The bisect of kernels."""

from __future__ import annotations

from itertools import product

import pytest

from storage.analysis.comparison import Word
from storage.analysis.comparison.kernel_bisect import KernelAnswer, KernelBisect, answer_of

KERNELS = tuple(f"6.{n}" for n in range(1, 17))


def finished(
    kernels: tuple[str, ...], first_bad: int, skipped: set[str]
) -> tuple[KernelBisect, int]:
    """The end of a bisect, and how many kernels were booted."""
    bisect, boots = KernelBisect(kernels=kernels), 0
    while (kernel := bisect.next_kernel) is not None:
        boots += 1
        is_bad = kernels.index(kernel) >= first_bad
        answer = KernelAnswer.BAD if is_bad else KernelAnswer.GOOD
        bisect = bisect.answered(kernel, KernelAnswer.SKIPPED if kernel in skipped else answer)
    return bisect, boots


@pytest.mark.parametrize("first_bad", range(1, 16))
def test_the_first_bad_kernel_is_found_within_the_boots_that_were_announced(first_bad: int) -> None:
    bisect, boots = finished(KERNELS, first_bad, set())
    assert bisect.sentence == f"first bad {KERNELS[first_bad]}, {KERNELS[first_bad - 1]} is good"
    assert boots <= KernelBisect(kernels=KERNELS).boots_left == 4


def test_after_each_answer_fewer_boots_are_left() -> None:
    bisect = KernelBisect(kernels=KERNELS)
    assert bisect.next_kernel == "6.9"
    assert bisect.sentence == (
        "first bad between 6.1 and 6.16: next 6.9, at most 4 boots if none is skipped"
    )
    bisect = bisect.answered("6.9", KernelAnswer.BAD)
    assert (bisect.next_kernel, bisect.boots_left) == ("6.5", 3)
    bisect = bisect.answered("6.5", KernelAnswer.GOOD)
    assert (bisect.last_good, bisect.first_bad, bisect.boots_left) == ("6.5", "6.9", 2)


def test_a_kernel_without_a_clear_answer_is_skipped_and_named_in_the_result() -> None:
    bisect, _ = finished(KERNELS, 8, {"6.7", "6.8"})
    assert bisect.skipped == ("6.7", "6.8")
    assert bisect.sentence == "first bad between 6.6 and 6.9 (skipped 6.7, 6.8)"


def test_skipped_kernels_away_from_the_first_bad_one_do_not_matter() -> None:
    bisect, _ = finished(KERNELS, 8, {"6.3", "6.13"})
    assert bisect.sentence == "first bad 6.9, 6.8 is good"


def test_whatever_is_skipped_the_first_bad_kernel_lies_between_the_two_that_are_named() -> None:
    kernels = KERNELS[:7]
    for first_bad, chosen in product(range(1, 7), product((False, True), repeat=5)):
        skipped = {k for k, is_chosen in zip(kernels[1:-1], chosen, strict=True) if is_chosen}
        bisect, boots = finished(kernels, first_bad, skipped)
        good, bad = kernels.index(bisect.last_good), kernels.index(bisect.first_bad)
        assert good < first_bad <= bad
        assert set(kernels[good + 1 : bad]) == set(bisect.skipped) <= skipped
        assert boots <= 5


def test_two_neighbours_need_no_boot() -> None:
    bisect = KernelBisect(kernels=("6.1", "6.2"))
    assert (bisect.next_kernel, bisect.boots_left) == (None, 0)
    assert bisect.sentence == "first bad 6.2, 6.1 is good"


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        (Word.SLOWER, KernelAnswer.BAD),
        (Word.FASTER, KernelAnswer.GOOD),
        (Word.NO_DIFFERENCE, KernelAnswer.GOOD),
        (Word.CANNOT_TELL, KernelAnswer.SKIPPED),
    ],
)
def test_only_slower_is_bad_and_cannot_tell_is_skipped(word: Word, answer: KernelAnswer) -> None:
    assert answer_of(word) is answer


def test_lists_and_answers_that_make_no_sense_are_refused() -> None:
    for kernels in (("6.1",), ("6.1", "6.2", "6.1")):
        with pytest.raises(ValueError, match="each once"):
            KernelBisect(kernels=kernels)
    for kernel in ("6.1", "5.15"):
        with pytest.raises(ValueError, match="not between the ends"):
            KernelBisect(kernels=KERNELS).answered(kernel, KernelAnswer.GOOD)
