"""The curve over sizes of SSD as a drawing."""

from __future__ import annotations

import itertools

from panel.charts.size_chart import HEIGHT, LEFT, RIGHT, WIDTH, size_chart
from storage.byte_sizes import GIB
from tests.storage.analysis.forecast.test_owntraffic import prospect


def test_sizes_reach_over_the_whole_width_and_rates_lie_within_the_height() -> None:
    chart = size_chart([prospect(n) for n in (1, 2, 4, 8)], 2 * GIB, 4 * GIB)
    xs = [float(point.split(",")[0]) for point in chart.line.split()]
    ys = [float(point.split(",")[1]) for point in chart.band.split()]
    assert (xs[0], xs[-1]) == (LEFT, WIDTH - RIGHT)
    # A power of two is the same way each time.
    assert len({round(b - a) for a, b in itertools.pairwise(xs)}) == 1
    assert all(0 <= y <= HEIGHT for y in ys)
    assert (chart.now, chart.enough) == (f"{xs[1]:.1f}", f"{xs[2]:.1f}")
    assert [tick.text for tick in chart.shares] == ["0 %", "25 %", "50 %", "75 %", "100 %"]


def test_labels_that_would_overlap_are_left_out() -> None:
    chart = size_chart([prospect(n) for n in range(1, 40)], None, None)
    shown = [float(tick.at) for tick in chart.sizes if tick.text]
    assert 2 < len(shown) < 8
    assert all(later - sooner >= 108 for sooner, later in itertools.pairwise(shown))
    assert (chart.now, chart.enough) == ("", "")


def test_plans_lie_on_the_line_and_their_names_do_not_overlap() -> None:
    sizes = [prospect(n) for n in (1, 2, 4, 8)]
    chart = size_chart(sizes, None, None, [(f"Plan {n}, 4.90 EUR", sizes[n]) for n in range(4)])
    points = chart.line.split()
    assert [f"{dot.x},{dot.y}" for dot in chart.plans] == points
    rows = {dot.text_y for dot in chart.plans}
    assert 1 < len(rows) <= 4
    assert chart.height > HEIGHT
    # The name of the largest one ends where its line is.
    assert [dot.is_last for dot in chart.plans] == [False, False, False, True]


def test_one_size_is_drawn_too() -> None:
    assert size_chart([prospect(4)], None, None).line.startswith(f"{LEFT:.1f},")
