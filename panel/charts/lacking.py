"""The charts of a page as it begins: which have anything to draw in its time, and why the others
have not. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from panel.charts.definitions import LATENCIES, ChartLack, ChartLine, ChartPanel
from storage.language import gettext
from storage.metrics.series import Series


def lack_words(lack: ChartLack) -> str:
    """The reason in the language spoken now."""
    match lack:
        case ChartLack.NO_CACHE:
            return gettext("no cache in this period")
        case ChartLack.AT_REST:
            return gettext("no reads or writes in this period")
        case ChartLack.NO_LATENCIES:
            return gettext("no individual latencies recorded in this period")
        case ChartLack.NO_FIGURES:
            return gettext("no data for this period")


def as_begun(
    panels: Sequence[ChartPanel], measured: Series, labels: Mapping[str, str], laid: Series | None
) -> tuple[ChartPanel, ...]:
    """The panels with what each has to draw (`known`), or why it has nothing (`lack`). Figures that
    are `laid` over count as known; `labels` are those that lines have in this time.

    Of a volume at rest the first chart says so, and no other one draws its zeros.
    """
    both = [measured] if laid is None else [measured, laid]
    is_at_rest = not any(_has_figures(line, both) for line in panels[0].lines)
    return tuple(
        replace(
            panel,
            known=tuple(
                labels.get(line.name, line.label) for line in panel.lines if _is_known(line, both)
            ),
            lack=_lack(panel, both, is_at_rest=is_at_rest, is_first=panel is panels[0]),
        )
        for panel in panels
    )


def _lack(
    panel: ChartPanel, both: Sequence[Series], *, is_at_rest: bool, is_first: bool
) -> ChartLack | None:
    measured = both[0]
    if panel.of_cache and not measured.has_cache:
        return ChartLack.NO_CACHE
    if panel.is_heat:
        rest = ChartLack.AT_REST if is_at_rest else ChartLack.NO_LATENCIES
        return None if _is_mapped(panel, measured) else rest
    if not any(_is_known(line, both) for line in panel.lines):
        return ChartLack.NO_FIGURES
    if is_at_rest and not is_first and not any(_has_figures(line, both) for line in panel.lines):
        return ChartLack.AT_REST
    return None


def _is_mapped(panel: ChartPanel, measured: Series) -> bool:
    of_panel = {LATENCIES.name: measured.histograms, **measured.leg_histograms}
    return any(counts is not None and any(counts) for counts in of_panel.get(panel.name, ()))


def _is_known(line: ChartLine, both: Sequence[Series]) -> bool:
    return any(
        each.knows(line.name) or each.knows_few(line.name)
        for each in both
        if line.name in each.units
    )


def _has_figures(line: ChartLine, both: Sequence[Series]) -> bool:
    """Whether anything but zeros is there to draw."""
    return any(
        bool((column > 0).any())
        for each in both
        for column in (each.columns.get(line.name), each.faint.get(line.name))
        if column is not None
    )
