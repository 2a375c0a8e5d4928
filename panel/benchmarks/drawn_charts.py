"""Charts of benchmarks as the browser draws them (`static/js/benchmark.js`). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import log2, log10
from typing import Any, Final, Literal

from panel.benchmarks.contests import Contest, Entrant
from panel.benchmarks.measured import MeasuredRun
from storage.benchmarks.summary import PERCENTILES

Values = Sequence[float | None]
MOST_POINTS: Final = 1200
LOG_FROM: Final = 20.0
"""From this ratio between the largest figure and the smallest on, an axis of ratios says more."""
MS_IN_SECOND: Final = 1000.0
SHOWN_PERCENTILES: Final = (1.0, 50.0, 90.0, 99.0, 99.9, 99.99)
LEAST_SWEEP: Final = 2
"""Sizes of data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLine:
    """A line: its points lie at `xs`, or at `start` and each `step` further."""

    name: str
    label: str
    colour: str
    dash: str
    values: Values
    xs: Sequence[float] | None = None
    start: float = 0.0
    step: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As the script reads it."""
        where: dict[str, Any] = (
            {"xs": self.xs} if self.xs is not None else {"start": self.start, "step": self.step}
        )
        return {
            "name": self.name,
            "label": self.label,
            "colour": self.colour,
            "dash": self.dash,
            "values": [_rounded(value) for value in self.values],
            **where,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnChart:
    """A chart. `across` says what its lower axis counts; `ticks` are places of it with their words,
    and `span` its ends. `top` is the end of the upright axis, None where the figures say it."""

    name: str
    title: str
    across: Literal["time", "percentile", "ratio"]
    across_title: str
    unit: str
    lines: tuple[DrawnLine, ...]
    span: tuple[float, float]
    ticks: tuple[tuple[float, str], ...] = ()
    top: float | None = None
    is_log: bool = False
    may_be_log: bool = False
    note: str = field(default="")

    def to_json(self) -> dict[str, Any]:
        """As the script reads it."""
        return {
            "name": self.name,
            "title": self.title,
            "across": self.across,
            "across_title": self.across_title,
            "unit": self.unit,
            "lines": [line.to_json() for line in self.lines],
            "span": self.span,
            "ticks": self.ticks,
            "top": self.top,
            "is_log": self.is_log,
        }

    @property
    def rows(self) -> Iterator[tuple[str, str, float, float]]:
        """For a table: the line, the place in words, its number, the value."""
        words = dict(self.ticks)
        for line in self.lines:
            for n, value in enumerate(line.values):
                at = line.xs[n] if line.xs is not None else line.start + n * line.step
                if value is not None:
                    yield line.label, words.get(at, f"{at:g}"), at, value


@dataclass(frozen=True, slots=True)
class TimedSeries:
    """Figures each `step_ms` from `start_ms` after the beginning of the measured part on."""

    step_ms: float
    iops: Values
    hit_rate: Values = ()
    start_ms: float = 0.0


def series_of(run: MeasuredRun) -> TimedSeries:
    """Of a run's summary."""
    series = run.summary.series
    return TimedSeries(series.step_ms, series.iops, series.hit_rate)


def charts_of(contest: Contest, sweep: Sequence[Contest] = ()) -> tuple[DrawnChart, ...]:
    """All charts of a contest that its runs have figures for; `sweep` are the contests of the same
    load on other sizes of data."""
    timed = time_charts(contest, {each.key: series_of(each.middle) for each in contest.entrants})
    others = (latency_chart(contest), *sweep_charts(sweep))
    return (*timed, *(chart for chart in others if chart is not None))


def time_charts(
    contest: Contest,
    series: Mapping[str, TimedSeries],
    span: tuple[float, float] | None = None,
) -> tuple[DrawnChart, ...]:
    """IOPS and hit rates over time, of the entrants by their keys; of all of it, or from one second
    to another."""
    iops, hits = list[DrawnLine](), list[DrawnLine]()
    for entrant in contest.entrants:
        of = series.get(entrant.key)
        if of is None:
            continue
        if any(value is not None for value in of.iops):
            iops.append(_timed(entrant, of, of.iops, 1.0))
        if any(value is not None for value in of.hit_rate):
            hits.append(_timed(entrant, of, of.hit_rate, 100.0))
    charts = []
    if iops:
        charts.append(
            DrawnChart(
                name="iops",
                title="IOPS over time",
                across="time",
                across_title="",
                unit="IOPS",
                lines=tuple(iops),
                span=span or _span(iops),
                is_log=_is_wide(iops),
                may_be_log=True,
            )
        )
    if hits:
        charts.append(
            DrawnChart(
                name="hits",
                title="Reads from SSD over time",
                across="time",
                across_title="",
                unit="%",
                lines=tuple(hits),
                span=span or _span([*iops, *hits]),
                top=100.0,
                note="From the counters of the disks below the cache.",
            )
        )
    return tuple(charts)


def latency_chart(contest: Contest) -> DrawnChart | None:
    """Latency by percentile: equal distances are equal numbers of nines."""
    lines = [line for each in contest.entrants if (line := _latency(each)) is not None]
    if not lines:
        return None
    places = [x for line in lines for x in line.xs or ()]
    return DrawnChart(
        name="latency",
        title="Latency by percentile",
        across="percentile",
        across_title="share of requests that took less",
        unit="ms",
        lines=tuple(lines),
        span=(0.0, max(places)),
        ticks=tuple((nines(each), f"{each:g} %") for each in SHOWN_PERCENTILES),
        is_log=True,
        note="The slowest of 10,000 requests are at the right end.",
    )


def _latency(entrant: Entrant) -> DrawnLine | None:
    run = entrant.middle
    known = [
        (nines(percent), latency_ms)
        for percent in PERCENTILES
        if (latency_ms := run.percentile_ms(percent)) is not None
    ]
    if len(known) < len(("from", "to")):
        return None
    return DrawnLine(
        name=entrant.key,
        label=entrant.name,
        colour=entrant.colour,
        dash=entrant.dash,
        xs=[x for x, _ in known],
        values=[value for _, value in known],
    )


def nines(percent: float) -> float:
    """Where a percentile stands: 90 % at 1, 99 % at 2, 99.9 % at 3."""
    return round(-log10(1 - percent / 100), 6)


def sweep_charts(contests: Sequence[Contest]) -> tuple[DrawnChart, ...]:
    """IOPS and hit rates by the ratio of data to cache, where at least two were measured: where the
    data outgrows the cache, there is a knee."""
    lines: dict[tuple[str, str, str], list[tuple[float, Entrant]]] = {}
    for entrant in chain.from_iterable(each.entrants for each in contests):
        ratio = entrant.setup.data_to_cache
        if ratio is not None:
            label = _without_sizes(entrant)
            lines.setdefault((label, entrant.colour, entrant.dash), []).append((ratio, entrant))
    swept = {
        key: sorted(entries, key=lambda each: each[0])
        for key, entries in lines.items()
        if len({ratio for ratio, _ in entries}) >= LEAST_SWEEP
    }
    if not swept:
        return ()
    ratios = sorted({ratio for entries in swept.values() for ratio, _ in entries})
    ticks = tuple((log2(ratio), f"{ratio:.3g}") for ratio in ratios)
    span = (ticks[0][0], ticks[-1][0])
    iops = tuple(
        _swept(n, key, entries, [each.iops for _, each in entries])
        for n, (key, entries) in enumerate(swept.items())
    )
    hits = tuple(
        _swept(n, key, entries, [_percent(each.middle.summary.hit_rate) for _, each in entries])
        for n, (key, entries) in enumerate(swept.items())
    )
    shared = {"across": "ratio", "across_title": "data : cache", "span": span, "ticks": ticks}
    charts = [
        DrawnChart(
            **shared,  # type: ignore[arg-type]
            name="sweep",
            title="IOPS as the data outgrows the cache",
            unit="IOPS",
            lines=iops,
            is_log=_is_wide(iops),
            may_be_log=True,
        )
    ]
    if any(value is not None for line in hits for value in line.values):
        charts.append(
            DrawnChart(
                **shared,  # type: ignore[arg-type]
                name="sweep-hits",
                title="Reads from SSD as the data outgrows the cache",
                unit="%",
                lines=hits,
                top=100.0,
            )
        )
    return tuple(charts)


def _without_sizes(entrant: Entrant) -> str:
    """What it is called where each point has another size."""
    sizes = (entrant.setup.parts["data"], entrant.setup.parts["cache"])
    return ", ".join(word for word in entrant.name.split(", ") if word not in sizes)


def _swept(
    number: int,
    key: tuple[str, str, str],
    entries: Sequence[tuple[float, Entrant]],
    values: Values,
) -> DrawnLine:
    label, colour, dash = key
    xs = [log2(ratio) for ratio, _ in entries]
    return DrawnLine(name=f"s{number}", label=label, colour=colour, dash=dash, xs=xs, values=values)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _timed(entrant: Entrant, series: TimedSeries, values: Values, factor: float) -> DrawnLine:
    every = -(-len(values) // MOST_POINTS)
    step_ms = series.step_ms * every
    return DrawnLine(
        name=entrant.key,
        label=entrant.name,
        colour=entrant.colour,
        dash=entrant.dash,
        values=[None if value is None else value * factor for value in thinned(values, every)],
        start=(series.start_ms + step_ms / 2) / MS_IN_SECOND,
        step=step_ms / MS_IN_SECOND,
    )


def thinned(values: Values, every: int) -> list[float | None]:
    """The means of so many values each; of those that are known."""
    groups = (values[n : n + every] for n in range(0, len(values), every))
    means = list[float | None]()
    for group in groups:
        known = [value for value in group if value is not None]
        means.append(sum(known) / len(known) if known else None)
    return means


def _span(lines: Sequence[DrawnLine]) -> tuple[float, float]:
    starts = [line.start - line.step / 2 for line in lines]
    ends = [line.start + (len(line.values) - 0.5) * line.step for line in lines]
    return min(starts), max(ends)


def _is_wide(lines: Sequence[DrawnLine]) -> bool:
    means = [mean for line in lines if (mean := _mean(line.values)) > 0]
    return bool(means) and max(means) >= LOG_FROM * min(means)


def _mean(values: Values) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
