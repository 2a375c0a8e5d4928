"""Which units may be compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storage.analysis.comparison import Conditions, conditions_that_differ

HERE = Conditions(fio_version="3.33", kernel="6.1", chunk_bytes=65536, data_to_cache=4.0)


def test_what_is_the_same_or_unknown_on_both_sides_may_be_compared() -> None:
    assert conditions_that_differ([HERE, HERE], [HERE]) == ()


def test_what_is_compared_may_differ_between_the_sides_but_not_within_one() -> None:
    newer, newest = replace(HERE, kernel="6.12"), replace(HERE, kernel="6.18")
    assert conditions_that_differ([HERE, HERE], [newer, newer], {"kernel"}) == ()
    assert conditions_that_differ([HERE, HERE], [newer, newest], {"kernel"}) == (
        "differs: within side B: kernel, 6.12 and 6.18",
    )


def test_what_is_known_of_one_side_alone_differs() -> None:
    assert conditions_that_differ([HERE], [replace(HERE, fio_version=None)]) == (
        "differs: fio version, 3.33 and unknown",
    )


def test_a_unit_of_the_label_is_left_out() -> None:
    assert conditions_that_differ([HERE], [replace(HERE, chunk_bytes=131072)]) == (
        "differs: chunk, 65536 and 131072",
    )


def test_what_is_true_or_false_is_answered_with_yes_and_no() -> None:
    assert conditions_that_differ([Conditions(is_guest=True)], [Conditions(is_guest=False)]) == (
        "differs: guest, yes and no",
    )


def test_a_ratio_of_data_to_cache_may_be_rounded_to_chunks() -> None:
    assert conditions_that_differ([HERE], [replace(HERE, data_to_cache=4.05)]) == ()
    assert conditions_that_differ([HERE], [replace(HERE, data_to_cache=4.5)]) != ()


def test_a_condition_that_does_not_exist_is_no_reason_to_compare() -> None:
    with pytest.raises(ValueError, match="kernle"):
        conditions_that_differ([HERE], [HERE], {"kernle"})
