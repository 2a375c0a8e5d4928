"""Lengths of bars."""

from __future__ import annotations

import pytest

from panel.templatetags.bars import is_tight, less, width_of


@pytest.mark.parametrize(
    ("part", "whole", "width"),
    [(1, 4, "25.0"), (5, 4, "100.0"), (-1, 4, "0.0"), (None, 4, "0"), (1, 0, "0"), (1, "", "0")],
)
def test_a_bar_is_as_long_as_the_share_and_never_leaves_its_box(
    part: object, whole: object, width: str
) -> None:
    assert width_of(part, whole) == width


def test_a_bar_warns_once_nearly_all_is_used() -> None:
    assert is_tight(90, 100)
    assert not is_tight(89, 100)
    assert not is_tight(None, 100)


def test_what_is_left_is_unknown_where_the_whole_is() -> None:
    assert less(10, 4) == 6
    assert less(10, None) == 10
    assert less(10, 40) == 0
    assert less(None, 4) is None
