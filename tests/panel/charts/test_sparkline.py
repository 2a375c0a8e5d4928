"""The shape of a sparkline: gaps stay gaps, and words say the same."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from panel.charts.sparkline import spark
from storage.formatting import percent

FIGURES = st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True), max_size=40)


def test_a_line_goes_from_edge_to_edge_and_from_nothing_to_the_top() -> None:
    drawn = spark([0.0, 0.5, 1.0], width=96, height=24, top=1.0)
    assert drawn.lines == ("2.0,22.0 48.0,12.0 94.0,2.0",)
    assert drawn.dots == ()


def test_a_gap_parts_the_line_and_a_figure_alone_is_a_dot() -> None:
    drawn = spark([1.0, 1.0, None, 1.0, None, 1.0, 1.0])
    assert len(drawn.lines) == 2
    assert len(drawn.dots) == 1


def test_without_a_top_the_highest_figure_is_the_top() -> None:
    assert spark([5.0, 50.0]).lines[0].endswith(",2.0")
    assert not spark([5.0, 50.0], top=100.0).lines[0].endswith(",2.0")


def test_figures_of_zero_lie_on_the_ground() -> None:
    assert spark([0.0, 0.0]).lines == ("2.0,22.0 94.0,22.0",)


def test_the_words_tell_range_last_figure_and_gaps() -> None:
    said = spark([0.5, None, 0.9, 0.75], top=1.0, say=percent).text
    assert said == "from 50 % to 90 %, last 75 %, 1 of 4 data points missing"
    assert spark([None, None]).text == "no data"
    assert spark([]).text == "no data"


@given(FIGURES)
def test_nothing_is_drawn_outside_the_box_and_no_figure_is_lost(
    figures: list[float | None],
) -> None:
    drawn = spark(figures, width=50, height=20, top=1.0)
    points = [tuple(point.split(",")) for line in drawn.lines for point in line.split()]
    known = [value for value in figures if value is not None and math.isfinite(value)]
    assert len(points) + len(drawn.dots) == len(known)
    for x, y in (*points, *drawn.dots):
        assert 0 <= float(x) <= 50
        assert 0 <= float(y) <= 20


def test_a_change_stands_between_its_value_and_the_one_before_it() -> None:
    drawn = spark([5.0, 5.0, 1.0], width=96, say=lambda value: f"{value:g} ms", mark=2)
    assert drawn.mark == "71.0"
    assert spark([5.0], mark=0).mark == "2.0"


def test_its_span_has_figures_alone_not_the_ends_of_the_axis() -> None:
    def say(value: float) -> str:
        return f"{value:g} ms"

    assert spark([22.0, None, 25.5], top=100.0, say=say).span == "22 ms to 25.5 ms"
    assert spark([5.0, 5.0], say=say).span == "5 ms"
    assert spark([None]).span == ""
