"""Where the intervals of a subject lie: rows of the last hours as they came (the inbox), and
chunks of them in `storage_samplechunk`. All SQL here is made of constants.

Each interval is in exactly one place for each resolution:

- as measured: chunks of an hour, and the inbox;
- 5 minutes: chunks of a day, and the inbox;
- 1 hour, 1 day: chunks of a month and of a year, chunks of 5 minutes of days that are not rolled up
  yet, and the inbox.

A chunk that cannot be read is a gap, never an error; it is noted where operators look.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from django.conf import settings
from django.core.cache import cache as shared_cache
from django.db import connection
from redis.exceptions import RedisError

from storage.metrics.samples.codec import NULL, BadChunk, Columns, pack, unpack
from storage.metrics.samples.columns import (
    AT,
    BEGAN,
    DEVICE_LAYOUT,
    ENDED,
    FIRST_ENDED,
    LOAD_LAYOUT,
    VOLUME_LAYOUT,
    code,
)
from storage.metrics.samples.interval_table import (
    SECOND,
    IntervalTable,
    Line,
    Rows,
    joined,
    measured,
    microseconds,
)
from storage.models import Resolution, SubjectKind

log = logging.getLogger(__name__)

FORMAT: Final = 2
"""Of the bytes of chunks (`storage.metrics.samples.codec`): another number with every change of
what `unpack` takes, or of what the numbers of a column mean."""
READABLE: Final = (1, FORMAT)
"""Chunks have had this codec since before its number was 2. What is older under number 1 is no
chunk to `unpack`, which says so."""
NOTED_SECONDS: Final = 86_400
NOTED_LIMIT: Final = 50
NOTED: Final = "samples:unreadable-chunks"
EPOCH_2000: Final = 946_684_800 * SECOND
"""What PostgreSQL counts from, in microseconds since 1970."""
SECONDS: Final = {Resolution.FIVE_MINUTES: 300, Resolution.HOUR: 3600, Resolution.DAY: 86_400}
"""The lengths of buckets."""
DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class SampleKind:
    """One kind of subject: its table of rows as they came, and what those have. `ended` is the
    column with the end of an interval, or with a time that is `lag` seconds before it. Rows stay
    rows for the time `settled`: one that comes later is late."""

    number: SubjectKind
    inbox: str
    subject: str
    rows: Rows
    ended: str = "ts"
    lag: int = 0
    settled: timedelta = timedelta(hours=2)

    def sql(self, template: str) -> str:
        """The template with the names of the inbox; {end} is the end of an interval, {within} is
        true for one between the two parameters of `within`."""
        lag = f"interval '{self.lag} seconds'"
        return template.format(
            inbox=self.inbox,
            subject=self.subject,
            ended=self.ended,
            lag=lag,
            end=f"{self.ended} + {lag}" if self.lag else self.ended,
            within=f"{self.ended} > %s AND {self.ended} <= %s",
        )

    def within(self, first: datetime, end: datetime) -> tuple[datetime, datetime]:
        """The parameters of {within}, for intervals that ended after `first`, up to and with `end`.
        PostgreSQL adds an interval to a time only when it executes, and would plan for the
        partitions of all days."""
        lag = timedelta(seconds=self.lag)
        return first - lag, end - lag

    def only(self, *names: str) -> SampleKind:
        """The same kind with these columns alone, and those that identify intervals: to read many
        subjects, or often."""
        return _only(self.number, frozenset(names))

    @property
    def scalars(self) -> tuple[str, ...]:
        """The columns of the inbox that are numbers, in the order of `rows_of`."""
        layout = self.rows.layout
        return (*layout.counters, *layout.keys, *layout.gauges)

    def rows_of(self, where: str) -> str:
        """SQL for the rows of the inbox as bytes: the values of one column after the other; no row
        without any."""
        values = (
            f"int8send({self.subject})",
            self.sql("timestamptz_send({end})"),
            *(f"int8send(coalesce({name}::int8, '{NULL}'))" for name in self.scalars),
            *(
                f"array_send(CASE WHEN cardinality({name}) = {count} THEN {name}"
                f" ELSE array_fill('{NULL}'::int8, ARRAY[{count}]) END)"
                for name, count in self.rows.layout.histograms.items()
            ),
        )
        columns = ", ".join(f"string_agg({each}, NULL)" for each in values)
        return (
            "(SELECT string_agg(part, NULL ORDER BY n) FROM unnest(parts) WITH ORDINALITY"  # noqa: S608
            f" AS each (part, n)) FROM (SELECT ARRAY[{columns}] AS parts FROM {where}"
            " HAVING count(*) > 0) AS inbox"
        )

    def table(self, data: bytes) -> IntervalTable:
        """What `rows_of` gave."""
        histograms = self.rows.layout.histograms
        scalars = len(self.scalars) + 2
        arrays = [_array(count) for count in histograms.values()]
        count = len(data) // (8 * scalars + sum(each.itemsize for each in arrays))
        numbers = np.frombuffer(data, ">i8", scalars * count).reshape(scalars, count)
        subjects, ended, *rest = numbers.astype(np.int64)
        lines = {code(name): line for name, line in zip(self.scalars, rest, strict=True)}
        lines[AT] = ended + EPOCH_2000
        at = numbers.nbytes
        for name, kind in zip(histograms, arrays, strict=True):
            elements = np.frombuffer(data, kind, count, at)["elements"]["value"].astype(np.int64)
            lines |= {code(name, n): elements[:, n] for n in range(histograms[name])}
            at += count * kind.itemsize
        raw = np.stack([lines[number] for number in self.rows.raw_codes.tolist()])
        return measured(self.rows, subjects, raw)


VOLUMES: Final = SampleKind(SubjectKind.VOLUME, "storage_sample", "volume_id", Rows(VOLUME_LAYOUT))
DEVICES: Final = SampleKind(
    SubjectKind.DEVICE, "storage_devicesample", "device_id", Rows(DEVICE_LAYOUT)
)
# The loads of the last week are rows: pages compare with them.
HOSTS: Final = SampleKind(
    SubjectKind.HOST,
    "storage_hostload",
    "host_id",
    Rows(LOAD_LAYOUT),
    ended="bucket",
    lag=300,
    settled=timedelta(days=8),
)
FLEET: Final = replace(
    HOSTS, number=SubjectKind.FLEET, inbox="storage_fleetload", subject="0::bigint"
)
KINDS: Final = (VOLUMES, DEVICES, HOSTS, FLEET)
ALWAYS: Final = frozenset(("dt_ms", "reads", "writes", "read_ms", "write_ms"))
"""Of these, and the keys, the band and the buckets are made."""


@cache
def _only(number: SubjectKind, names: frozenset[str]) -> SampleKind:
    kind = next(each for each in KINDS if each.number is number)
    layout, names = kind.rows.layout, names | ALWAYS
    smaller = replace(
        layout,
        counters=tuple(name for name in layout.counters if name in names),
        histograms={name: n for name, n in layout.histograms.items() if name in names},
        gauges=tuple(name for name in layout.gauges if name in names),
    )
    return replace(kind, rows=Rows(smaller))


def kept_for(resolution: Resolution) -> timedelta | None:
    """How long intervals are kept at a resolution, never shorter than at a finer one; None = for
    ever."""
    days = (
        settings.TIERCEL_SAMPLES_KEPT_DAYS,
        settings.TIERCEL_5M_KEPT_DAYS,
        settings.TIERCEL_1H_KEPT_DAYS,
    )
    return timedelta(days=max(days[: resolution + 1])) if resolution < len(days) else None


def chunk_start(resolution: Resolution, at: datetime) -> datetime:
    """When the chunk begins that has the bucket that begins at `at`, or the intervals that end
    just after it."""
    at = at.astimezone(UTC)
    if resolution is Resolution.RAW:
        return at.replace(minute=0, second=0, microsecond=0)
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if resolution is Resolution.FIVE_MINUTES:
        return midnight
    first = midnight.replace(day=1)
    return first if resolution is Resolution.HOUR else first.replace(month=1)


def chunk_end(resolution: Resolution, start: datetime) -> datetime:
    """When the chunk ends that begins at `start`."""
    if resolution is Resolution.RAW:
        return start + timedelta(hours=1)
    if resolution is Resolution.FIVE_MINUTES:
        return start + timedelta(days=1)
    if resolution is Resolution.DAY:
        return start.replace(year=start.year + 1)
    return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)


@dataclass(frozen=True, slots=True)
class TimeSection:
    """The time after `start` up to and with `end`, read at one resolution. Both are borders of its
    buckets."""

    resolution: Resolution
    start: datetime
    end: datetime


CHUNKS: Final = (
    "SELECT subject_id, resolution, start, is_rolled_up, format, data"
    " FROM storage_samplechunk WHERE kind = %s AND subject_id = ANY(%s) AND resolution = %s"
)
ROWS: Final = "{inbox} WHERE {subject} = ANY(%s) AND {within}"
# Hours that are packed and of which rows came again, or late. Without the borders the planner opens
# the partitions of all days.
LATE: Final = (
    " AND start >= %s AND start < %s AND start = ANY(ARRAY(SELECT DISTINCT"
    " date_bin('1 hour', {end} - interval '1 microsecond', 'epoch') FROM {inbox}"
    " WHERE {subject} = ANY(%s) AND {within}))"
)


def fetch(
    kind: SampleKind, subject_ids: Collection[int], sections: Sequence[TimeSection], now: datetime
) -> IntervalTable:
    """The intervals of these subjects that ended in these sections, which follow one another, each
    once. One statement, so that it sees everything at one moment, whatever is packed meanwhile."""
    keys = list(subject_ids)
    first, end = sections[0].start, sections[-1].end
    arms, parameters = [], list[Any]()
    for resolution, is_open, spans in _spans(sections):
        ranges = " OR ".join(["(start >= %s AND start < %s)"] * len(spans))
        unrolled = " AND NOT is_rolled_up" if is_open else ""
        arms.append(f"{CHUNKS}{unrolled} AND ({ranges})")
        parameters += [kind.number, keys, resolution]
        parameters += [each for span in spans for each in span]
    settled = min(end, now - kind.settled)
    if first < settled and any(each.resolution is not Resolution.RAW for each in sections):
        arms.append(CHUNKS + kind.sql(LATE))
        hours = chunk_start(Resolution.RAW, first), settled
        late = kind.within(first, settled)
        parameters += [kind.number, keys, Resolution.RAW, *hours, keys, *late]
    query = " UNION ALL ".join(arms)
    query += f" UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, {kind.rows_of(kind.sql(ROWS))}"
    with connection.cursor() as cursor:
        cursor.execute(query, [*parameters, keys, *kind.within(first, end)])
        return _gathered(kind, cursor.fetchall(), sections)


def bounds(
    kind: SampleKind, subject_id: int, start: datetime, end: datetime
) -> tuple[datetime | None, datetime | None]:
    """From when on, and until when, to look for the last interval before `start` and the first one
    after `end`: no interval lies between them and these times. None where there is none."""
    row = kind.sql("SELECT {{}} FROM {inbox} WHERE {subject} = %s AND {end}")
    chunk = "SELECT {} FROM storage_samplechunk WHERE kind = %s AND subject_id = %s AND start"
    query = (
        f"SELECT greatest(({row.format(kind.sql('max({end})'))} <= %s)"
        f" - interval '1 microsecond', ({chunk.format('max(start)')} < %s)),"
        f" least(({row.format(kind.sql('min({end})'))} > %s),"
        f" ({chunk.format('min(start)')} >= %s))"
    )
    of_chunk = [kind.number, subject_id]
    with connection.cursor() as cursor:
        cursor.execute(
            query,
            [subject_id, start, *of_chunk, start, subject_id, end, *of_chunk, end - DAY],
        )
        before, after = cursor.fetchone()
    return before, after


def _spans(
    sections: Sequence[TimeSection],
) -> Iterator[tuple[Resolution, bool, list[tuple[datetime, datetime]]]]:
    """Which chunks to ask for: their resolution, whether only those that are not rolled up, and
    from where to where they begin."""
    for resolution in Resolution:
        of_it = [each for each in sections if each.resolution is resolution]
        if of_it:
            yield (
                resolution,
                False,
                [(chunk_start(resolution, each.start), each.end) for each in of_it],
            )
    long = [each for each in sections if each.resolution > Resolution.FIVE_MINUTES]
    if long:
        days = [(chunk_start(Resolution.FIVE_MINUTES, each.start), each.end) for each in long]
        yield Resolution.FIVE_MINUTES, True, days


def _gathered(
    kind: SampleKind, chunks: Iterable[Sequence[Any]], sections: Sequence[TimeSection]
) -> IntervalTable:
    """The intervals of the rows of `fetch`, each once and at the resolution of its section."""
    tables: dict[tuple[Resolution, bool], list[IntervalTable]] = {}
    inbox, seen = None, set[tuple[int, Resolution, datetime]]()
    unread: dict[str, str] = {}
    for subject_id, number, start, is_rolled_up, written, data in chunks:
        if subject_id is None:
            inbox = kind.table(data)
            continue
        resolution = Resolution(number)
        if (subject_id, resolution, start) in seen:
            continue
        seen.add((subject_id, resolution, start))
        table = readable(kind, resolution, start, subject_id, written, data, unread)
        if table is None:
            continue
        is_open = resolution is Resolution.FIVE_MINUTES and not is_rolled_up
        tables.setdefault((resolution, is_open), []).append(table)
    note_unreadable(unread)
    gathered = []
    for (resolution, is_open), of_it in tables.items():
        spans = [
            each
            for each in sections
            if each.resolution is resolution
            or (is_open and each.resolution > Resolution.FIVE_MINUTES)
        ]
        table = joined(kind.rows, of_it)
        if resolution is Resolution.RAW:
            inbox = None if inbox is None else without(inbox, table)
        gathered.append(table.where(_within(table.line(ENDED), spans)))
    if inbox is not None:
        gathered.append(inbox)
    return joined(kind.rows, gathered)


def without(inbox: IntervalTable, packed: IntervalTable) -> IntervalTable:
    """The rows that are not packed already."""
    again = np.isin(inbox.line(ENDED), packed.line(ENDED))
    if not again.any():
        return inbox
    known = set(zip(packed.subjects.tolist(), packed.line(ENDED).tolist(), strict=True))
    rows = zip(inbox.subjects.tolist(), inbox.line(ENDED).tolist(), strict=True)
    return inbox.where(np.array([each not in known for each in rows]))


def _within(ended: Line, spans: Sequence[TimeSection]) -> npt.NDArray[np.bool_]:
    within = np.zeros(len(ended), bool)
    for each in spans:
        within |= (ended > microseconds(each.start)) & (ended <= microseconds(each.end))
    return within


def to_chunk(table: IntervalTable, resolution: Resolution, start: datetime) -> bytes:
    """The bytes of the intervals of one subject, in the order of time."""
    rows, begin = table.rows, microseconds(start)
    if resolution is Resolution.RAW:
        matrix = table.matrix[rows.raw]
        matrix[0] -= begin
        return pack(Columns(rows.raw_codes, matrix))
    matrix = table.matrix.copy()
    at = matrix[rows.at].copy()
    times = rows.of([BEGAN, FIRST_ENDED, ENDED])
    matrix[times] = (matrix[times] - at) // SECOND
    matrix[rows.at] = (at - begin) // (SECONDS[resolution] * SECOND)
    return pack(Columns(rows.codes, matrix))


def from_chunk(
    rows: Rows,
    resolution: Resolution,
    start: datetime,
    subject_id: int,
    written: int,
    data: bytes,
) -> IntervalTable:
    """What `to_chunk` was given, by the release that had the format `written`. Raises
    `BadChunk`."""
    if written not in READABLE:
        raise BadChunk(f"it has format {written}, and this release reads up to {FORMAT}")
    codes = rows.raw_codes if resolution is Resolution.RAW else rows.codes
    columns, begin = unpack(data, codes), microseconds(start)
    subjects = np.full(columns.rows, subject_id, np.int64)
    if resolution is Resolution.RAW:
        raw = columns.at(codes)
        raw[0] += begin
        return measured(rows, subjects, raw)
    matrix = columns.at(codes)
    matrix[rows.at] = matrix[rows.at] * (SECONDS[resolution] * SECOND) + begin
    times = rows.of([BEGAN, FIRST_ENDED, ENDED])
    matrix[times] = matrix[times] * SECOND + matrix[rows.at]
    return IntervalTable(rows, subjects, matrix)


def readable(
    kind: SampleKind,
    resolution: Resolution,
    start: datetime,
    subject_id: int,
    written: int,
    data: bytes,
    unread: dict[str, str],
) -> IntervalTable | None:
    """As `from_chunk`; None of a chunk that cannot be read, whose name and why go into `unread`."""
    try:
        return from_chunk(kind.rows, resolution, start, subject_id, written, data)
    except BadChunk as error:
        name = f"{kind.number.label} {subject_id}, {resolution.label}, {start:%Y-%m-%d %H:%M} UTC"
        unread[name] = str(error)
        return None


def unreadable_chunks() -> dict[str, str]:
    """Some requested chunks that cannot be read, with why. They are noted for a day after the last
    one was found."""
    try:
        noted: dict[str, str] = shared_cache.get(NOTED, {})
    except RedisError:
        return {}
    return noted


def note_unreadable(unread: dict[str, str]) -> None:
    """Note for operators which chunks a call could not read, each once. Thousands of them have one
    reason, so only a few are noted."""
    if not unread:
        return
    new = unread
    try:
        noted: dict[str, str] = shared_cache.get(NOTED, {})
        free = NOTED_LIMIT - len(noted)
        new = dict([each for each in unread.items() if each[0] not in noted][:free])
        if new:
            shared_cache.set(NOTED, {**noted, **new}, NOTED_SECONDS)
    except RedisError:
        pass  # it is in the log
    if new:
        name, why = next(iter(new.items()))
        others = f" and {len(new) - 1} more" if len(new) > 1 else ""
        log.error("a chunk of samples cannot be read (%s%s): %s", name, others, why)


def _array(count: int) -> np.dtype[np.void]:
    """What `array_send` makes of so many numbers: a head, and of each its length and its value."""
    element = [("length", ">i4"), ("value", ">i8")]
    return np.dtype([("head", "V20"), ("elements", element, (count,))])
