"""A sparkline: a few figures over time as a small line for a table row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

from storage.language import gettext

EDGE = 2.0
"""Room in pixels between the line and the border, so that a thick stroke is not cut."""


@dataclass(frozen=True, slots=True)
class Spark:
    """What `{% spark %}` draws, in pixels from the upper left corner.

    `lines` are the points of one polyline each ("x,y x,y"), a gap lies between two of them;
    `dots` are figures alone between two gaps; `text` says the same in words. `span` has
    the lowest and the highest figure with their units ("" without a figure), `mark` where an
    upright line stands ("" for none).
    """

    width: int
    height: int
    lines: tuple[str, ...]
    dots: tuple[tuple[str, str], ...]
    text: str
    span: str = ""
    mark: str = ""


def spark(
    values: Sequence[float | None],
    width: int = 96,
    height: int = 24,
    top: float | None = None,
    *,
    say: Callable[[float], str] = "{:g}".format,
    mark: int | None = None,
) -> Spark:
    """Return the line through `values`, evenly spaced, oldest first.

    None (or a figure that is not finite) is a gap and stays one. The axis begins at 0 and ends at
    `top`, or at the highest figure where `top` is None: two sparklines of one table compare only
    with the same `top`. `say` writes a figure with its unit (`storage.formatting`); `mark` is the
    value before which something changed.
    """
    known = [value for value in values if value is not None and isfinite(value)]
    highest = top if top is not None else max(known, default=0.0)
    pitch = (width - 2 * EDGE) / max(1, len(values) - 1)
    room = height - 2 * EDGE
    lines: list[str] = []
    dots: list[tuple[str, str]] = []
    run: list[tuple[str, str]] = []
    scale = room / highest if highest > 0 else 0.0
    for n, value in enumerate((*values, None)):
        if value is not None and isfinite(value):
            part = value * scale
            low = EDGE + room - (part if 0.0 <= part <= room else min(room, max(0.0, part)))
            run.append((f"{EDGE + n * pitch:.1f}", f"{low:.1f}"))
        elif len(run) == 1:
            dots.append(run.pop())
        elif run:
            lines.append(" ".join([f"{x},{y}" for x, y in run]))
            run = []
    return Spark(
        width,
        height,
        tuple(lines),
        tuple(dots),
        _in_words(known, len(values), say),
        _span(known, say),
        "" if mark is None else f"{EDGE + max(0.0, mark - 0.5) * pitch:.1f}",
    )


def _span(known: list[float], say: Callable[[float], str]) -> str:
    if not known:
        return ""
    low, high = say(min(known)), say(max(known))
    return low if low == high else gettext("{low} to {high}").format(low=low, high=high)


def _in_words(known: list[float], count: int, say: Callable[[float], str]) -> str:
    if not known:
        return gettext("no data")
    missing = count - len(known)
    text = gettext("from {low} to {high}, last {last}")
    if missing:
        text = gettext(
            "from {low} to {high}, last {last}, {missing} of {count} data points missing"
        )
    return text.format(
        low=say(min(known)),
        high=say(max(known)),
        last=say(known[-1]),
        missing=missing,
        count=count,
    )
