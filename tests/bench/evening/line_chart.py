"""A chart of lines as SVG, for a page of documentation: readable on a light and a dark page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log10
from typing import Final

Line = Sequence[tuple[float, float]]
WIDTH, HEIGHT = 760, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 44
COLOURS: Final = ("#2f7ed8", "#8a8a8a", "#d9822b", "#b03a2e", "#2e9b5b", "#8e5bb5")
MOST_POINTS: Final = 300


def line_chart(
    lines: Mapping[str, Line], across: str, upwards: str, *, is_log: bool = False
) -> str:
    """`across` and `upwards` are the words of the axes, with units. On a logarithmic axis what is
    below 1 lies at 1."""
    points = [point for line in lines.values() for point in line]
    right = max((x for x, _ in points), default=1) or 1
    top = max((y for _, y in points), default=1) or 1
    rows = _ticks_of_log(top) if is_log else _ticks(top)
    highest = rows[-1]

    def place(x: float, y: float) -> tuple[float, float]:
        share = log10(max(1, y)) / log10(highest) if is_log else y / highest
        return (
            LEFT + x / right * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM),
        )

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 20 * len(lines)}" '
        'font-family="sans-serif" font-size="12">'
        "<style>text{fill:#444}.grid{stroke:#ccc}"
        "@media(prefers-color-scheme:dark){text{fill:#ccc}.grid{stroke:#555}}</style>"
    ]
    for value in rows:
        _, y = place(0, value)
        drawn.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:,g}</text>'
        )
    for value in _ticks(right):
        if value <= right:
            x, y = place(value, 0)
            drawn.append(
                f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                f"{value:g}</text>"
            )
    middle = (LEFT + WIDTH - RIGHT) / 2
    drawn.append(
        f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>'
        f'<text transform="translate(14 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(upwards)}</text>"
    )
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in thinned(line)))
        y = HEIGHT + 20 * number + 6
        drawn.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{path}"/>'
            f'<line x1="{LEFT}" x2="{LEFT + 24}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" '
            f'stroke-width="3"/><text x="{LEFT + 32}" y="{y}">{escape(name)}</text>'
        )
    return "\n".join((*drawn, "</svg>\n"))


def thinned(line: Line) -> list[tuple[float, float]]:
    """At most `MOST_POINTS`, each the mean of those that it stands for."""
    step = -(-len(line) // MOST_POINTS) or 1
    groups = [line[start : start + step] for start in range(0, len(line), step)]
    return [
        (sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group))
        for group in groups
    ]


def _ticks(top: float) -> list[float]:
    """From 0 in steps of 1, 2 or 5 times a power of ten, the last of them not below `top`."""
    power = 10 ** int(log10(top) // 1)
    step = next(each for each in (power / 5, power / 2, power, 2 * power) if top / each <= 6)
    count = -(-top // step)
    return [round(step * number, 10) for number in range(int(count) + 1)]


def _ticks_of_log(top: float) -> list[float]:
    return [10.0**power for power in range(int(log10(max(10, top)) - 1e-9) + 2)]
