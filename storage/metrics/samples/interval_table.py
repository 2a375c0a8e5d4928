"""Intervals of many subjects as one matrix of whole numbers, and how they are added up. Pure.

An interval as it was measured is a bucket with one interval in it, and buckets are added up as
intervals are: what a bucket of an hour has is the same from the intervals of the hour and from its
buckets of five minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.metrics.samples.codec import NULL, Codes, Matrix
from storage.metrics.samples.columns import (
    AT,
    BAND,
    BEGAN,
    ENDED,
    FIRST_ENDED,
    INTERVALS,
    LEAST,
    MOST,
    ColumnLayout,
    code,
)

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND: Final = 1_000_000
"""All times are in microseconds since 1970."""
BAND_SHIFT: Final = 15
BAND_STEP: Final = 4
"""The numbers of a band are multiples of it: a chunk divides by it what it stores."""
GREATEST: Final = int(np.iinfo(np.int64).max)
Line = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Where each column of a layout lies in the matrix of a table."""

    layout: ColumnLayout

    @cached_property
    def codes(self) -> Codes:
        """Of all columns, ascending."""
        layout = self.layout
        parts = [code(name, part) for name in layout.gauges for part in (LEAST, MOST)]
        band = [code(name, part) for name in BAND for part in (LEAST, MOST)]
        times = [AT, INTERVALS, BEGAN, FIRST_ENDED, ENDED]
        return np.array(sorted([*times, *layout.summed, *layout.lasting, *parts, *band]), np.uint16)

    @cached_property
    def raw_codes(self) -> Codes:
        """Of those that an interval as it was measured has in a chunk."""
        return np.array(sorted([AT, *self.layout.summed, *self.layout.lasting]), np.uint16)

    @cached_property
    def at(self) -> int:
        return int(self.of([AT])[0])

    @cached_property
    def summed(self) -> npt.NDArray[np.intp]:
        return self.of([INTERVALS, *self.layout.summed])

    @cached_property
    def least(self) -> npt.NDArray[np.intp]:
        parts = [code(name, LEAST) for name in (*self.layout.gauges, *BAND)]
        return self.of([BEGAN, FIRST_ENDED, *parts])

    @cached_property
    def most(self) -> npt.NDArray[np.intp]:
        return self.of([ENDED, *(code(name, MOST) for name in (*self.layout.gauges, *BAND))])

    @cached_property
    def lasting(self) -> npt.NDArray[np.intp]:
        return self.of(self.layout.lasting)

    @cached_property
    def keys(self) -> npt.NDArray[np.intp]:
        return self.of([code(name) for name in self.layout.keys])

    @cached_property
    def heads(self) -> npt.NDArray[np.intp]:
        return self.of(self.layout.heads)

    @cached_property
    def raw_only(self) -> npt.NDArray[np.intp]:
        return self.of(self.layout.raw_only)

    @cached_property
    def raw(self) -> npt.NDArray[np.intp]:
        """Those of `raw_codes`."""
        return self.of(self.raw_codes.tolist())

    @cached_property
    def places(self) -> dict[int, int]:
        """Where the column with each code lies."""
        return {each: n for n, each in enumerate(self.codes.tolist())}

    def of(self, codes: Sequence[int]) -> npt.NDArray[np.intp]:
        """Where the columns with these codes lie."""
        return np.searchsorted(self.codes, np.array(codes, np.uint16))


@dataclass(frozen=True, slots=True)
class IntervalTable:
    """A row of the matrix is a column of `rows`, a column of it an interval or bucket of
    `subjects`. `AT` is when a bucket starts, of an interval by itself when it ended."""

    rows: Rows
    subjects: Line
    matrix: Matrix

    def __len__(self) -> int:
        return len(self.subjects)

    def __getitem__(self, name: str) -> Line:
        return self.line(code(name))

    def line(self, number: int) -> Line:
        """The values of the column with this code."""
        values: Line = self.matrix[self.rows.places[number]]
        return values

    def where(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> IntervalTable:
        """Those intervals alone, or in that order."""
        return replace(self, subjects=self.subjects[chosen], matrix=self.matrix[:, chosen])

    def begun_since(self, start: datetime) -> IntervalTable:
        """Those alone that began then or later."""
        return self.where(self.line(BEGAN) >= microseconds(start))

    def ended_after(self, start: datetime) -> IntervalTable:
        """Those alone that ended later."""
        return self.where(self.line(ENDED) > microseconds(start))

    def ended_by(self, end: datetime) -> IntervalTable:
        """Those alone that ended then or earlier."""
        return self.where(self.line(ENDED) <= microseconds(end))


def microseconds(at: datetime) -> int:
    """Since 1970."""
    return (at - EPOCH) // timedelta(microseconds=1)


def time_of_microseconds(microseconds: int) -> datetime:
    """The other way round."""
    return EPOCH + timedelta(microseconds=microseconds)


def empty(rows: Rows) -> IntervalTable:
    return IntervalTable(rows, np.zeros(0, np.int64), np.zeros((len(rows.codes), 0), np.int64))


def joined(rows: Rows, tables: Sequence[IntervalTable]) -> IntervalTable:
    """All in one."""
    if not tables:
        return empty(rows)
    if len(tables) == 1:
        return tables[0]
    return IntervalTable(
        rows,
        np.concatenate([each.subjects for each in tables]),
        np.concatenate([each.matrix for each in tables], axis=1),
    )


def measured(rows: Rows, subjects: Line, raw: Matrix) -> IntervalTable:
    """Intervals as they were measured; `raw` has the columns of `Rows.raw_codes`."""
    matrix = np.full((len(rows.codes), raw.shape[1]), NULL, np.int64)
    matrix[rows.raw] = raw
    table = IntervalTable(rows, subjects, matrix)
    at, dt_ms = table.line(AT), table["dt_ms"]
    matrix[rows.of([INTERVALS])] = 1
    matrix[rows.of([BEGAN])] = at - dt_ms * 1000
    matrix[rows.of([FIRST_ENDED, ENDED])] = at
    for name in rows.layout.gauges:
        matrix[rows.of([code(name, LEAST), code(name, MOST)])] = table[name]
    for name, (least, most) in _rates(table).items():
        matrix[rows.of([code(name, LEAST)])[0]] = least
        matrix[rows.of([code(name, MOST)])[0]] = most
    return table


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows of a table that belong together: how to order them (None: as they are), where each group
    starts then and where its last row is, which is the one that ended last."""

    order: npt.NDArray[np.intp] | None
    starts: npt.NDArray[np.intp]
    lasts: npt.NDArray[np.intp]

    @classmethod
    def of(cls, table: IntervalTable, *by: Line) -> Groups:
        """One for each combination of the `by`, ascending. The table has rows."""
        ended = table.line(ENDED)
        varying = [each for each in by if (each != each[0]).any()]
        order = None
        if not _ascend([*varying, ended]):
            order = np.lexsort((ended, *reversed(varying)))
            varying = [each[order] for each in varying]
        is_new = np.zeros(len(ended), bool)
        is_new[0] = True
        for each in varying:
            is_new[1:] |= each[1:] != each[:-1]
        starts = np.flatnonzero(is_new)
        return cls(order, starts, np.append(starts[1:], len(ended)) - 1)

    def ordered(self, values: Matrix) -> Matrix:
        """A line or a matrix in the order of the groups."""
        return values if self.order is None else values[..., self.order]

    def sums(self, values: Matrix) -> Matrix:
        """Of each group; what is not known counts as nothing."""
        values = self.ordered(values)
        return np.add.reduceat(np.where(values == NULL, 0, values), self.starts, axis=-1)

    def least(self, values: Matrix) -> Matrix:
        """Of each group, of what is known."""
        values = self.ordered(values)
        values = np.where(values == NULL, GREATEST, values)
        least = np.minimum.reduceat(values, self.starts, axis=-1)
        return np.where(least == GREATEST, NULL, least)

    def most(self, values: Matrix) -> Matrix:
        """Of each group, of what is known."""
        return np.maximum.reduceat(self.ordered(values), self.starts, axis=-1)

    def first(self, values: Matrix) -> Matrix:
        """Of each group."""
        first: Matrix = self.ordered(values)[..., self.starts]
        return first

    def last(self, values: Matrix) -> Matrix:
        """Of each group."""
        last: Matrix = self.ordered(values)[..., self.lasts]
        return last


def bucketed(table: IntervalTable, seconds: int) -> IntervalTable:
    """In buckets of so many seconds since 1970; an interval belongs to the one in which it ends,
    also with its end. Intervals of different caches, and those in which a counter is known and
    those in which it is not, stay apart. Times are widened to whole seconds."""
    if not len(table):
        return table
    rows = table.rows
    start = bucket_start(table.line(ENDED), seconds)
    known = table.matrix[rows.heads] != NULL
    patterns: list[Line] = []
    if not (known == known[:, :1]).all():
        patterns.append(np.unique(known, axis=1, return_inverse=True)[1].reshape(-1))
    keys = (table.matrix[key] for key in rows.keys)
    groups = Groups.of(table, table.subjects, start, *keys, *patterns)
    matrix = np.empty((len(rows.codes), len(groups.starts)), np.int64)
    # In a group all is known or nothing.
    unknown = groups.last(table.matrix[rows.summed]) == NULL
    matrix[rows.summed] = np.where(unknown, NULL, groups.sums(table.matrix[rows.summed]))
    matrix[rows.raw_only] = NULL
    matrix[rows.least] = groups.least(table.matrix[rows.least])
    matrix[rows.most] = groups.most(table.matrix[rows.most])
    matrix[rows.lasting] = groups.last(table.matrix[rows.lasting])
    matrix[rows.at] = groups.last(start)
    begins, ends = rows.of([BEGAN]), rows.of([FIRST_ENDED, ENDED])
    matrix[begins] = matrix[begins] // SECOND * SECOND
    matrix[ends] = -(-matrix[ends] // SECOND) * SECOND
    return IntervalTable(rows, groups.last(table.subjects), matrix)


def bucket_start(ended: Line, seconds: int) -> Line:
    """When the bucket began in which something ended."""
    length = seconds * SECOND
    start: Line = (ended - 1) // length * length
    return start


def known_ms(table: IntervalTable, names: Sequence[str]) -> Matrix:
    """For each of these counters and each interval: the time in which it is known, in ms."""
    known = table.matrix[table.rows.of([code(name) for name in names])] != NULL
    lasted: Matrix = known * table["dt_ms"]
    return lasted


def rate_of(packed: Matrix) -> npt.NDArray[np.float64]:
    """The rates that a band holds; 0 where there is none."""
    bits = (np.maximum(packed, 0) << BAND_SHIFT).astype(np.uint32)
    return bits.view(np.float32).astype(np.float64)


def _rates(table: IntervalTable) -> dict[str, tuple[Line, Line]]:
    """Of each rate of the band a number just below and one just above: the first bits of a float,
    which ascend as it does. They are within two percent of it: what a chart shows is a shade."""
    dt_ms = table["dt_ms"]
    band = {}
    for kind in ("read", "write"):
        count, spent = table[f"{kind}s"], table[f"{kind}_ms"]
        band[f"{kind}_iops"] = _packed(1000 * count.astype(np.float64), dt_ms)
        band[f"{kind}_ms"] = _packed(spent.astype(np.float64), count)
    return band


def _packed(above: npt.NDArray[np.float64], below: Line) -> tuple[Line, Line]:
    rates = np.maximum(above, 0.0) / np.maximum(below, 1)
    bits = rates.astype(np.float32).view(np.uint32).astype(np.int64)
    step = BAND_STEP << BAND_SHIFT
    unknown = below <= 0
    return (
        np.where(unknown, NULL, bits // step * BAND_STEP),
        np.where(unknown, NULL, (bits + step - 1) // step * BAND_STEP),
    )


def _ascend(keys: Sequence[Line]) -> bool:
    equal = np.ones(len(keys[0]) - 1, bool)
    for key in keys:
        if (equal & (key[1:] < key[:-1])).any():
            return False
        equal &= key[1:] == key[:-1]
    return True
