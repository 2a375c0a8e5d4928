"""A volume's figures over a time in buckets of one length: what charts and the API draw.

Bucket n covers the time after `start + n * step` up to and with `start + (n + 1) * step`. An
interval of the samples belongs whole to the bucket in which it ends, also where it began in an
earlier one. Every rate is a sum over a sum within its bucket (`storage.metrics.rates.figures`), so
no average is ever taken of averages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from django.conf import settings
from django.utils import timezone

from storage.inventory.cache_counts import COLUMNS
from storage.metrics.buckets import BANDED, SIZES, Buckets, Figures
from storage.metrics.rates.figure_columns import (
    HIT_RATES,
    QUANTILES,
    Line,
    Rates,
    percentiles_ms,
    ratio,
)
from storage.metrics.samples.aggregate import (
    CHARTED,
    AggregateColumns,
    Column,
    columns_of,
    intervals,
    listed,
)
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.samples.codec import NULL
from storage.metrics.samples.window import kept, sampled_every
from storage.models import Resolution, Volume

MAX_POINTS: Final = 2000
YEAR: Final = timedelta(days=368)
DAY_SECONDS: Final = 86_400
MOST_OF_USUAL: Final = 1.5
"""A longer interval is a gap."""
# Steps that people read easily on a time axis, in seconds.
STEPS: Final = (10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200)
UNITS: Final = {
    "read_iops": "1/s",
    "write_iops": "1/s",
    "read_ms": "ms",
    "write_ms": "ms",
    "latency_p50_ms": "ms",
    "latency_p95_ms": "ms",
    "latency_p99_ms": "ms",
    "hit_rate": "ratio",
    "write_hit_rate": "ratio",
    "accesses_per_s": "1/s",
    "write_accesses_per_s": "1/s",
    "read_bytes_per_s": "B/s",
    "write_bytes_per_s": "B/s",
    "promotions_per_s": "1/s",
    "demotions_per_s": "1/s",
    "ssd_write_bytes_per_s": "B/s",
    "dirty_bytes": "B",
    "used_bytes": "B",
    "cache_size_bytes": "B",
}
COUNTER_RATES: Final = {
    f"{name}_per_s": name
    for name, each in COLUMNS.items()
    if each.has_rate and f"{name}_per_s" not in UNITS
}
"""Of caches, but for those that hosts and the fleet have too."""
INSIDE_UNITS: Final = {
    "bypass_share": "ratio",
    "metadata_share": "ratio",
    "flushes_per_s": "1/s",
    "flush_ms": "ms",
    "discards_per_s": "1/s",
    "suspended_share": "ratio",
    **dict.fromkeys(COUNTER_RATES, "1/s"),
}
"""For staff: the share of accesses that went by a cache (bcache), how full its metadata was
(dm-cache), flushes with how long one took, discards, the share of the time in which I/O was
frozen, and the `COUNTER_RATES`."""
LEGS: Final = {"hdd_leg": "slow_latency_counts", "ssd_leg": "fast_latency_counts"}
"""The histograms of latencies below a cache: on the volume's own disk, and on the cache's SSD."""
LEG_UNITS: Final = {f"{leg}_{name[8:]}": "ms" for leg in LEGS for name in QUANTILES}
LEG_LATENCIES: Final = VOLUMES.only(*LEGS.values())
LONGEST_LEGS: Final = timedelta(days=7)
"""The histograms of legs are in intervals as they were measured alone, of which a day costs as much
to read as a year of all other figures."""
Values = Mapping[str, float | None]
UNKNOWN: Final[Values] = dict.fromkeys(UNITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """`columns` has, under each name of `units`, a figure for each bucket; in whole numbers `NULL`
    and in others NaN where it is not known, as where no sample ended (a gap). `totals` is the same
    over all samples, None where it is not known, `seconds` the time they cover.

    Latencies without percentile are averages; the percentiles are of reads and writes together
    and None for bcache. Hit rates are None where fewer than `MIN_ACCESSES` say nothing; `faint` has
    those for a chart that fades them. Sizes are of the end of the bucket. Only dm-cache counts
    `moves` (promotions, demotions), writes and the SSD on their own.
    """

    start: datetime
    end: datetime
    step_seconds: int
    columns: Mapping[str, Column]
    totals: Values
    seconds: float
    faint: Mapping[str, Column] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=lambda: UNITS)
    timed_share: float | None = None
    """The share of all I/O that the percentiles are of; None without I/O."""
    least: Mapping[str, Column] = field(default_factory=dict)
    most: Mapping[str, Column] = field(default_factory=dict)
    """Of the intervals in each bucket, under the names of `BANDED`."""
    histograms: Sequence[list[int] | None] = ()
    """Of the latencies in each bucket, in the classes of `LATENCY_BOUNDS_NS`; None in a gap."""
    leg_histograms: Mapping[str, Sequence[list[int] | None]] = field(default_factory=dict)
    """The same by the names of `LEGS`; none where they were not asked for."""

    @property
    def points(self) -> int:
        """How many buckets there are."""
        return len(next(iter(self.columns.values())))

    @property
    def values(self) -> list[Values]:
        """One mapping of the names of `units` for each bucket; None = not known."""
        lists = [listed(each) for each in self.columns.values()]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*lists, strict=True)]

    @property
    def is_empty(self) -> bool:
        """True without any sample."""
        return self.seconds == 0

    @property
    def has_cache(self) -> bool:
        """True if the volume had a cache at any time of the series."""
        return self.knows("cache_size_bytes")

    def knows(self, name: str) -> bool:
        """Whether the figure is known of any bucket."""
        return bool(_known(self.columns[name]).any())

    def knows_few(self, name: str) -> bool:
        """Whether `faint` has the figure of any bucket."""
        return name in self.faint and bool(_known(self.faint[name]).any())

    def at(self, n: int) -> datetime:
        """When bucket `n` ends; the last one ends with the series."""
        return min(self.start + timedelta(seconds=(n + 1) * self.step_seconds), self.end)

    def to_json(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Columns of the `names`, or of all: `series[name][n]` is a number or null. Bucket n ends
        (n + 1) steps after t0."""
        names = tuple(self.units) if names is None else names
        return {
            "t0": self.start.isoformat(),
            "step_seconds": self.step_seconds,
            "points": self.points,
            "series": {name: _rounded(self.columns[name]) for name in names},
            "units": {name: self.units[name] for name in names},
            "totals": {
                **{name: _rounded_total(self.totals[name]) for name in names},
                "covered_seconds": self.seconds,
            },
        }

    def faint_json(self) -> dict[str, list[float | None]]:
        """The columns of `faint`."""
        return {name: _rounded(each) for name, each in self.faint.items()}

    def band_json(self) -> dict[str, dict[str, list[float | None]]]:
        """The columns of `least` and `most`."""
        return {
            "least": {name: _rounded(each) for name, each in self.least.items()},
            "most": {name: _rounded(each) for name, each in self.most.items()},
        }


def series(
    volume: Volume,
    start: datetime,
    end: datetime,
    points: int = 600,
    *,
    step: int | None = None,
    since: datetime | None = None,
    inside: bool = False,
) -> Series:
    """The volume's figures from `start` to `end` in buckets of `step` seconds, or in at most
    `points` of them; what was before `since` is a gap. With `inside` it has those of `INSIDE_UNITS`
    too.

    Raises ValueError, with a text for people, for a range that ends before it starts or is longer
    than `longest_range`, and for points outside 1 to 2000.
    """
    if step is None:
        step = step_seconds(start, end, points, every=partial(sampled_every, volume.pk))
    count = ceil((end - start).total_seconds() / step)
    table = intervals([volume.pk], start, end, kind=CHARTED, step=step, since=since)
    columns = columns_of(table, start, step) if len(table) else None
    buckets = None if columns is None else _buckets(columns, start.timestamp())
    measured = in_buckets(buckets, start=start, end=end, step=step, count=count)
    if not inside:
        return measured
    if columns is None:
        return overlay_series(measured, {}, INSIDE_UNITS)
    by_bucket, totals = _inside(columns)
    further = {name: np.full(count, np.nan) for name in INSIDE_UNITS}
    for name, figures in by_bucket.items():
        further[name][columns.numbers] = figures
    wider = overlay_series(measured, further, INSIDE_UNITS)
    known = {name: listed(total)[0] for name, total in totals.items()}
    return replace(wider, totals={**wider.totals, **known})


def with_legs(volume: Volume, measured: Series) -> Series:
    """The series with the latencies on the legs of the volume's cache (`LEG_UNITS`), as far as its
    time is kept as measured; of more than `LONGEST_LEGS` there are none."""
    start = max(measured.start, timezone.now() - kept() + timedelta(minutes=1))
    if measured.end - measured.start > LONGEST_LEGS or start >= measured.end:
        return overlay_series(measured, {}, LEG_UNITS)
    raw = Resolution.RAW
    table = intervals([volume.pk], start, measured.end, kind=LEG_LATENCIES, resolution=raw)
    if not len(table):
        return overlay_series(measured, {}, LEG_UNITS)
    of = columns_of(table, measured.start, measured.step_seconds)
    columns = {name: np.full(measured.points, np.nan) for name in LEG_UNITS}
    totals: dict[str, float | None] = {}
    histograms: dict[str, list[list[int] | None]] = {}
    for leg, histogram in LEGS.items():
        counts = of.histograms[histogram]
        whole = counts.sum(axis=1, keepdims=True)
        names = [name for name in LEG_UNITS if name.startswith(leg)]
        quantiles = list(QUANTILES.values())
        figures = zip(
            percentiles_ms(counts, quantiles), percentiles_ms(whole, quantiles), strict=True
        )
        for name, (by_bucket, of_all) in zip(names, figures, strict=True):
            columns[name][of.numbers] = by_bucket
            totals[name] = listed(of_all)[0]
        histograms[leg] = [None] * measured.points
        for number, each in zip(of.numbers.tolist(), counts.T.tolist(), strict=True):
            histograms[leg][number] = each
    wider = overlay_series(measured, columns, LEG_UNITS)
    return replace(wider, totals={**wider.totals, **totals}, leg_histograms=histograms)


def overlay_series(
    measured: Series,
    columns: Mapping[str, Sequence[float | None] | Column],
    units: Mapping[str, str],
) -> Series:
    """The series with further figures; a name of `units` without a column is not known. Totals are
    averages over the buckets that are."""
    unknown = np.full(measured.points, np.nan)
    further = {name: np.array(columns.get(name, unknown), np.float64) for name in units}
    known = {name: each[~np.isnan(each)] for name, each in further.items()}
    return replace(
        measured,
        columns={**measured.columns, **further},
        totals={
            **measured.totals,
            **{name: float(each.mean()) if len(each) else None for name, each in known.items()},
        },
        units={**measured.units, **units},
    )


def longest_range() -> timedelta:
    """What may be asked for at once: all that is kept, and never less than a year in whole
    buckets."""
    return max(YEAR, kept() + timedelta(days=2))


def step_seconds(
    start: datetime,
    end: datetime,
    points: int,
    *,
    least: int = 0,
    every: Callable[[datetime, datetime], int] | None = None,
) -> int:
    """The length of a bucket: the shortest easy step that gives at most `points` of them and is
    no shorter than `least` and the interval of the samples. `every` returns that of a time that
    needs a shorter one than usual. Raises ValueError as `series` does."""
    if end <= start:
        raise ValueError("The range must end after it starts.")
    longest = longest_range()
    if end - start > longest:
        raise ValueError(f"The range must be at most {longest.days} days long.")
    if not 1 <= points <= MAX_POINTS:
        raise ValueError(f"The number of points must be from 1 to {MAX_POINTS:,}.")
    shortest = max((end - start).total_seconds() / points, least)
    usual = settings.TIERCEL_SAMPLE_SECONDS
    if shortest < usual:
        shortest = max(shortest, usual if every is None else every(start, end))
    days = ceil(shortest / DAY_SECONDS)
    return next((step for step in STEPS if step >= shortest), days * DAY_SECONDS)


def in_buckets(
    buckets: Buckets | None,
    *,
    start: datetime,
    end: datetime,
    step: int,
    count: int,
    units: Mapping[str, str] = UNITS,
) -> Series:
    """The series of `count` buckets, of which those with samples are given."""
    if buckets is None:
        unknown = np.full(count, np.nan)
        return Series(
            start=start,
            end=end,
            step_seconds=step,
            columns=dict.fromkeys(units, unknown),
            totals=dict.fromkeys(units),
            seconds=0.0,
            faint=dict.fromkeys(HIT_RATES, unknown),
            units=units,
            least=dict.fromkeys(BANDED, unknown),
            most=dict.fromkeys(BANDED, unknown),
            histograms=[None] * count,
        )
    places = _places(buckets, step, count)
    figures, faint = buckets.figures()
    histograms = buckets.latency_counts.T.tolist()
    total = buckets.total()
    timed, done = (
        int(each.sum())
        for each in (total.latency_counts, total.sums["reads"] + total.sums["writes"])
    )
    return Series(
        start=start,
        end=end,
        step_seconds=step,
        columns={name: _at(figures[name], places) for name in units},
        totals={name: listed(each)[0] for name, each in total.figures()[0].items()},
        seconds=int(total.sums["dt_ms"][0]) / 1000,
        faint={name: _at(each, places) for name, each in faint.items()},
        units=units,
        timed_share=min(1.0, timed / done) if done else None,
        least={name: _at(buckets.least[name], places) for name in BANDED},
        most={name: _at(buckets.most[name], places) for name in BANDED},
        histograms=[None if place < 0 else histograms[place] for place in places.tolist()],
    )


def _places(buckets: Buckets, step: int, count: int) -> npt.NDArray[np.intp]:
    """Of each bucket of the series, at which place its figures are, or -1: nowhere. One without the
    end of an interval that one of usual length covers has its figures too. An interval of more than
    one and a half times the usual length leaves a gap; beside those of a close watch, the others
    are as usual.

    Where a volume is sampled less often than the chart has buckets, an interval covers many. Where
    it is not, a round that comes moments late may leave one bucket without an end and two in the
    next; that one is filled only if there were samples before it.
    """
    numbers, lengths = buckets.numbers, buckets.ended - buckets.began
    places = np.full(count, -1)
    places[numbers] = np.arange(len(numbers))
    ends = places >= 0
    median = np.sort(lengths)[(len(lengths) - 1) // 2]
    usual = max(float(median), settings.TIERCEL_SAMPLE_SECONDS)
    is_long = lengths > MOST_OF_USUAL * step
    for place in np.flatnonzero(is_long & (lengths <= MOST_OF_USUAL * usual)).tolist():
        covered = np.arange(max(0, round(float(buckets.began[place]) / step)), numbers[place])
        places[covered[~ends[covered]]] = place
    before = numbers - 1
    off = np.abs(buckets.began - before * step), np.abs(buckets.ended - numbers * step)
    late = np.flatnonzero(~is_long & (numbers >= 2) & (np.maximum(*off) < step / 2))
    late = late[ends[numbers[late] - 2] & ~ends[before[late]]]
    places[before[late]] = late
    return places


def _at(column: Column, places: npt.NDArray[np.intp]) -> Column:
    """The column's values at those places; what is nowhere is not known."""
    unknown = np.nan if column.dtype == np.float64 else NULL
    return np.where(places < 0, unknown, column[places])


def _known(column: Column) -> npt.NDArray[np.bool_]:
    return ~np.isnan(column) if column.dtype == np.float64 else column != NULL


def _buckets(of: AggregateColumns, start: float) -> Buckets:
    return Buckets(
        numbers=of.numbers,
        began=of.began - start,
        ended=of.first_ended - start,
        cache_ms=of.counts["cache_ms"],
        moves_ms=of.ms["promotions"],
        ssd_ms=of.ms["fast_write_sectors"],
        ssd_write_sectors=of.counts["fast_write_sectors"],
        sums=of.counts,
        latency_counts=of.histograms["latency_counts"],
        sizes={name: of.last[name] for name in SIZES},
        least=of.least,
        most=of.most,
    )


def _inside(of: AggregateColumns) -> tuple[dict[str, Rates], dict[str, Rates]]:
    """The figures of `INSIDE_UNITS`: of each bucket, and of all in one."""

    def figures(counts: Mapping[str, Line], ms: Mapping[str, Line], sizes: Figures) -> list[Rates]:
        bypassed = counts["bypass_hits"] + counts["bypass_misses"]
        counted = bypassed + counts["counted_hits"] + counts["counted_misses"]
        used, total = (sizes[f"metadata_{name}_bytes"] for name in ("used", "total"))
        is_known = (used != NULL) & (total != NULL)
        return [
            ratio(bypassed, counted),
            ratio(used, np.where(is_known, total, 0)),
            ratio(counts["flushes"] * 1000, ms["flushes"]),
            ratio(counts["flush_ms"], counts["flushes"]),
            ratio(counts["discards"] * 1000, ms["discards"]),
            ratio(counts["suspended_ms"], ms["suspended_ms"]),
            *(ratio(counts[each] * 1000, ms[each]) for each in COUNTER_RATES.values()),
        ]

    counts, ms = (
        {name: each.sum(keepdims=True) for name, each in columns.items()}
        for columns in (of.counts, of.ms)
    )
    by_bucket = figures(of.counts, of.ms, of.last)
    totals = figures(counts, ms, {name: each[-1:] for name, each in of.last.items()})
    return (
        dict(zip(INSIDE_UNITS, by_bucket, strict=True)),
        dict(zip(INSIDE_UNITS, totals, strict=True)),
    )


def _rounded(column: Column) -> list[float | None]:
    """Four digits after the point are enough for a chart and a third of the bytes."""
    if column.dtype == np.int64:
        return listed(column)
    rounded: npt.NDArray[np.float64] = np.round(column, 4)
    return listed(rounded)


def _rounded_total(value: float | None) -> float | None:
    return value if value is None or isinstance(value, int) else round(value, 4)
