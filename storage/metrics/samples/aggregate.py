"""The one reader of samples: what subjects did over a time, in buckets of one length.

It takes the longest buckets that are stored and fit, and shorter ones at the two ends, so that it
reads little and its sums are those of the very intervals asked for, wherever these are still kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
from django.utils import timezone

from storage.inventory.cache_counts import COLUMNS
from storage.metrics.rates import CachedBy, Sums
from storage.metrics.rates.delta import MAX_INTERVAL_MS
from storage.metrics.rates.figure_columns import Line, Rates
from storage.metrics.samples.chunk_store import (
    SECONDS,
    VOLUMES,
    SampleKind,
    TimeSection,
    bounds,
    fetch,
    kept_for,
)
from storage.metrics.samples.codec import NULL, Matrix
from storage.metrics.samples.columns import (
    BAND,
    BEGAN,
    ENDED,
    FIRST_ENDED,
    INTERVALS,
    LEAST,
    MOST,
    code,
)
from storage.metrics.samples.interval_table import (
    EPOCH,
    SECOND,
    Groups,
    IntervalTable,
    known_ms,
    microseconds,
    rate_of,
    time_of_microseconds,
)
from storage.models import Resolution

Mask = npt.NDArray[np.bool_]
Column = Line | Rates
SUMMED: Final = tuple(field.name for field in fields(Sums))
FIGURES: Final = VOLUMES.only(
    *SUMMED, "slow_read_sectors", "fast_write_sectors", "used_bytes", "dirty_bytes"
)
"""Volumes with what their `Sums` are made of."""
CHARTED: Final = VOLUMES.only(
    *FIGURES.rows.layout.counters,
    *FIGURES.rows.layout.histograms,
    *FIGURES.rows.layout.gauges,
    *COLUMNS,
    "metadata_used_bytes",
    "metadata_total_bytes",
    "flushes",
    "flush_ms",
    "discards",
    "suspended_ms",
)
"""With all that charts draw."""
LEGS: Final = (
    "dt_ms",
    "slow_read_sectors",
    "read_sectors",
    "read_hits",
    "read_misses",
    "promotions",
)
# A reader that leaves out what began too early looks at the first intervals one by one.
LONGEST: Final = timedelta(milliseconds=MAX_INTERVAL_MS)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What the intervals of a subject that ended in bucket `n` add up to.

    `began` is when the first began, `first_ended` when it ended, `ended` when the last one did, in
    seconds since 1970. `counts` are the sums of the counters, `ms` the time in which each was
    known, `histograms` sums too. `last`, `least` and `most` are of gauges; the rates of
    `storage.metrics.samples.columns.BAND` have a least and a most too, over intervals, to within
    two percent. None = not known.
    """

    subject_id: int
    n: int
    began: float
    first_ended: float
    ended: float
    counts: Mapping[str, int]
    ms: Mapping[str, int]
    histograms: Mapping[str, tuple[int, ...]]
    last: Mapping[str, int | None]
    least: Mapping[str, float | None]
    most: Mapping[str, float | None]

    @property
    def sums(self) -> Sums:
        """The counts as sums of deltas."""
        parts: dict[str, Any] = {**self.counts, **self.histograms}
        return Sums(**{name: parts[name] for name in SUMMED if name in parts})


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateColumns:
    """Many of them, side by side: the same fields, each a column or columns by name. What is not
    known is `NULL` in whole numbers and NaN in rates; a histogram has a line for each class."""

    subjects: Line
    numbers: Line
    began: Rates
    first_ended: Rates
    ended: Rates
    counts: Mapping[str, Line]
    ms: Mapping[str, Line]
    histograms: Mapping[str, Matrix]
    last: Mapping[str, Line]
    least: Mapping[str, Column]
    most: Mapping[str, Column]

    def rows(self) -> list[Aggregate]:
        """One by one."""
        histograms = {name: map(tuple, each.T.tolist()) for name, each in self.histograms.items()}
        parts = (self.counts, self.ms, histograms, self.last, self.least, self.most)
        return [
            Aggregate(*row)
            for row in zip(
                *(each.tolist() for each in (self.subjects, self.numbers)),
                *(each.tolist() for each in (self.began, self.first_ended, self.ended)),
                *(_by_row(each, len(self.numbers)) for each in parts),
                strict=True,
            )
        ]


class Window(TypedDict, total=False):
    """Which intervals are added up (`aggregate`)."""

    kind: SampleKind
    step: int | None
    begun_since: datetime | None
    since: datetime | Mapping[int, datetime] | None
    resolution: Resolution | None


def aggregate(
    subject_ids: Collection[int],
    start: datetime,
    end: datetime,
    *,
    apart: bool = False,
    **window: Unpack[Window],
) -> list[Aggregate]:
    """What the subjects did after `start`, up to and with `end`, by subject and bucket; where
    nothing is known there is none. One statement.

    Bucket n is the time after `start + n * step` seconds up to and with `start + (n + 1) * step`;
    without a step there is one. An interval belongs whole to the bucket in which it ends;
    what began before `begun_since` is left out. What ended at `since`, or that of its subject, or
    before it is left out too. `resolution`: no longer stored buckets than these.
    `apart`: intervals of different caches are not added up; `last` says whose they are.
    """
    table = intervals(subject_ids, start, end, **window)
    return added_up(table, start, window.get("step"), apart=apart)


def intervals(
    subject_ids: Collection[int],
    start: datetime,
    end: datetime,
    *,
    kind: SampleKind = VOLUMES,
    step: int | None = None,
    begun_since: datetime | None = None,
    since: datetime | Mapping[int, datetime] | None = None,
    resolution: Resolution | None = None,
) -> IntervalTable:
    """The intervals, or stored buckets of them, that `aggregate` adds up."""
    limits = since if isinstance(since, Mapping) else {}
    first = max(start, since) if isinstance(since, datetime) else start
    end = max(end, first + timedelta(microseconds=1))
    longest = _longest([start, *limits.values()], step, resolution)
    now = timezone.now()
    sections = [
        TimeSection(_kept_at(each.resolution, each.start, now), each.start, each.end)
        for each in _sections(first, end, longest, begun_since)
    ]
    table = fetch(kind, subject_ids, sections, now)
    if limits:
        ended_after = [limits.get(each, first) for each in table.subjects.tolist()]
        microseconds_of = {each: microseconds(each) for each in set(ended_after)}
        table = table.where(
            table.line(ENDED) > np.array([microseconds_of[each] for each in ended_after], np.int64)
        )
    if begun_since is not None:
        table = table.begun_since(begun_since)
    return table


def _longest(
    borders: Sequence[datetime], step: int | None, resolution: Resolution | None
) -> Resolution:
    """The longest stored buckets of which none has such a border within it."""
    longest = Resolution.RAW
    for each, seconds in SECONDS.items():
        is_even = step is None or all(
            microseconds(border) % (seconds * SECOND) == 0 for border in borders
        )
        if is_even and (step or 0) % seconds == 0 and (resolution is None or each <= resolution):
            longest = each
    return longest


def _sections(
    first: datetime, end: datetime, longest: Resolution, begun_since: datetime | None
) -> list[TimeSection]:
    """How to read the time from `first` to `end`: the first intervals one by one, where some may
    have begun too early."""
    if begun_since is None or longest is Resolution.RAW or begun_since + LONGEST <= first:
        return _split(first, end, longest)
    border = _border(max(first, begun_since) + LONGEST, Resolution.FIVE_MINUTES, up=True)
    if border >= end:
        return [TimeSection(Resolution.RAW, first, end)]
    return [TimeSection(Resolution.RAW, first, border), *_split(border, end, longest)]


def _split(start: datetime, end: datetime, longest: Resolution) -> list[TimeSection]:
    """The longest buckets that lie between, and shorter ones before and after them."""
    if start >= end:
        return []
    if longest is Resolution.RAW:
        return [TimeSection(longest, start, end)]
    shorter = Resolution(longest - 1)
    low, high = _border(start, longest, up=True), _border(end, longest)
    if low >= high:
        return _split(start, end, shorter)
    return [
        *_split(start, low, shorter),
        TimeSection(longest, low, high),
        *_split(high, end, shorter),
    ]


def _border(at: datetime, resolution: Resolution, *, up: bool = False) -> datetime:
    length = timedelta(seconds=SECONDS[resolution])
    over = (at - EPOCH) % length
    return at - over + (length if up and over else timedelta())


def _kept_at(resolution: Resolution, at: datetime, now: datetime) -> Resolution:
    """That one, or the next longer one of which intervals as old as that are kept."""
    for each in Resolution:
        keeping = kept_for(each)
        if each >= resolution and (keeping is None or at >= now - keeping):
            return each
    return Resolution.DAY


def added_up(
    table: IntervalTable, start: datetime, step: int | None, *, apart: bool = False
) -> list[Aggregate]:
    """As of `aggregate`."""
    return columns_of(table, start, step, apart=apart).rows() if len(table) else []


def columns_of(
    table: IntervalTable, start: datetime, step: int | None, *, apart: bool = False
) -> AggregateColumns:
    """As of `aggregate`, in columns; the table has rows."""
    rows, layout = table.rows, table.rows.layout
    began = microseconds(start)
    ended = table.line(ENDED)
    number = np.zeros_like(ended) if step is None else (ended - began - 1) // (step * SECOND)
    caches = [table[name] for name in layout.keys] if apart else []
    groups = Groups.of(table, table.subjects, number, *caches)
    conditions = _conditions(table)
    of_counters = rows.of([INTERVALS, *(code(name) for name in layout.counters)])
    counts = groups.sums(np.vstack([table.matrix[of_counters], *conditions.values()]))
    heads = (*layout.counters, *layout.histograms)
    held = (*layout.keys, *layout.gauges)
    last = groups.last(table.matrix[rows.of([code(name) for name in held])])
    return AggregateColumns(
        subjects=groups.last(table.subjects),
        numbers=groups.last(number),
        began=groups.least(table.line(BEGAN)) / SECOND,
        first_ended=groups.least(table.line(FIRST_ENDED)) / SECOND,
        ended=groups.most(ended) / SECOND,
        counts=dict(zip(("intervals", *layout.counters, *conditions), counts, strict=True)),
        ms=dict(zip(heads, groups.sums(known_ms(table, heads)), strict=True)),
        histograms={
            name: groups.sums(table.matrix[rows.of([code(name, n) for n in range(count)])])
            for name, count in layout.histograms.items()
        },
        last=dict(zip(held, last, strict=True)),
        least=_band(layout.gauges, groups.least(table.matrix[_parts(table, LEAST)])),
        most=_band(layout.gauges, groups.most(table.matrix[_parts(table, MOST)])),
    )


def _parts(table: IntervalTable, part: int) -> Any:
    return table.rows.of([code(name, part) for name in (*table.rows.layout.gauges, *BAND)])


def _band(gauges: Sequence[str], values: Matrix) -> dict[str, Column]:
    """The first rows are of gauges, the others are rates."""
    of_gauges, packed = values[: len(gauges)], values[len(gauges) :]
    rates = np.where(packed == NULL, np.nan, rate_of(packed))
    return dict(zip((*gauges, *BAND), (*of_gauges, *rates), strict=True))


def listed(column: Column) -> list[Any]:
    """Its values, None for those that are not known."""
    unknown = np.isnan(column) if column.dtype == np.float64 else column == NULL
    values: list[Any] = column.tolist()
    for n in np.flatnonzero(unknown).tolist():
        values[n] = None
    return values


def _by_row(columns: Mapping[str, Any], rows: int) -> Iterable[dict[str, Any]]:
    """A mapping of the names for each of the rows."""
    if not columns:
        return [{} for _ in range(rows)]
    lists = [listed(each) if isinstance(each, np.ndarray) else each for each in columns.values()]
    return (dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True))


def _conditions(table: IntervalTable) -> dict[str, Line]:
    """What counts only where something else is known, of each interval. The sectors of bcache
    intervals do where the backing device's are known; `leg_` figures where both that and accesses
    are; without a cache every read is one that none served."""
    layout = table.rows.layout
    if not {"slow_read_sectors", "read_hits"} <= set(layout.counters):
        return {}
    slow = table["slow_read_sectors"]
    is_bcache = _is_bcache(table)
    has_legs = (table["read_hits"] != NULL) & (slow != NULL)
    legs = {
        f"leg_{name}": np.where(has_legs, table[name], 0)
        for name in LEGS
        if name in layout.counters
    }
    return {
        "cache_ms": np.where(has_accesses(table), table["dt_ms"], 0),
        "bcache_reads": np.where(is_bcache, table["reads"], 0),
        "bcache_read_sectors": np.where(is_bcache, table["read_sectors"], 0),
        "backing_read_sectors": np.where(is_bcache, slow, 0),
        "uncached_reads": np.where(is_uncached(table), table["reads"], 0),
        **legs,
    }


def has_accesses(table: IntervalTable) -> Mask:
    """Of which intervals it is known how many reads the cache served."""
    has_accesses: Mask = (table["read_hits"] != NULL) | _is_bcache(table)
    return has_accesses


def is_uncached(table: IntervalTable) -> Mask:
    """Which intervals were without a cache."""
    is_uncached: Mask = (table["technology"] == CachedBy.NONE) & (table["cache_size_bytes"] == NULL)
    return is_uncached


def _is_bcache(table: IntervalTable) -> Mask:
    slow = table["slow_read_sectors"]
    is_bcache: Mask = (table["technology"] == CachedBy.BCACHE) & (slow != NULL)
    return is_bcache


def first_of(table: IntervalTable, gauge: str) -> dict[int, int | None]:
    """A gauge at the end of the first interval of each subject."""
    if not len(table):
        return {}
    groups = Groups.of(table, table.subjects)
    values = listed(groups.first(table[gauge]))
    return dict(zip(groups.last(table.subjects).tolist(), values, strict=True))


def last_known(
    subject_id: int, gauge: str, until: datetime, *, kind: SampleKind = VOLUMES
) -> tuple[datetime, int] | None:
    """The last value of a gauge, and when it was read, or up to when it was read last in its stored
    bucket."""
    begin = datetime(until.year - 1, 1, 1, tzinfo=UTC)
    for start in (until - kind.settled - timedelta(hours=1), begin):
        table = intervals([subject_id], start, until, kind=kind.only(gauge))
        table = table.where(table[gauge] != NULL)
        if len(table):
            last = int(np.argmax(table.line(ENDED)))
            return time_of_microseconds(int(table.line(ENDED)[last])), int(table[gauge][last])
    return None


def nearest(
    subject_id: int,
    start: datetime,
    end: datetime,
    *,
    since: datetime | None = None,
    kind: SampleKind = VOLUMES,
) -> datetime | None:
    """When the last interval before `start` ended; without one, the first after `end`. Nothing up
    to `since` counts."""
    low = EPOCH if since is None else since
    before, after = bounds(kind, subject_id, start, end)
    while before is not None and low < start:
        table = intervals([subject_id], max(low, before), start, kind=kind.only())
        if len(table):
            return time_of_microseconds(int(table.line(ENDED).max()))
        start = before
        before, _after = bounds(kind, subject_id, start, end)
    if after is not None:
        first = max(low, end)
        until = max(first, after) + timedelta(days=1)
        table = intervals([subject_id], first, until, kind=kind.only())
        if len(table):
            return time_of_microseconds(int(table.line(ENDED).min()))
    return None
