"""Packs rows of samples into chunks and adds them up in longer and longer buckets.

Every batch is one transaction that moves intervals from one place to another and leaves everything
readable (`storage.metrics.samples.chunk_store`): a crash in the middle changes nothing, the same
again changes nothing, and a row that comes late is work that is still to do. Newest hours first, so
that a panel with a month of rows packs them in the background while its charts stay right.
A chunk that cannot be read is set aside, as it is, before its place is written anew.
All SQL here is made of constants.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np
from django.db import connection, transaction

from storage.metrics.samples.chunk_store import (
    FORMAT,
    SECONDS,
    SampleKind,
    chunk_start,
    kept_for,
    note_unreadable,
    readable,
    to_chunk,
    without,
)
from storage.metrics.samples.columns import AT, ENDED
from storage.metrics.samples.interval_table import (
    IntervalTable,
    bucketed,
    empty,
    joined,
    microseconds,
)
from storage.models import UNREADABLE_CHUNK, Resolution

BATCH: Final = 250
"""Subjects in one transaction."""
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
LOCK: Final = "SELECT pg_try_advisory_xact_lock(hashtext('storage.packer'))"
# Of an empty partition, and of an hour without rows, the question costs nearly nothing.
PENDING_TIMES: Final = (
    "SELECT first FROM generate_series(%s::timestamptz, %s, %s::interval) AS first WHERE EXISTS"
    " (SELECT FROM {inbox} WHERE {ended} > first - {lag}"
    " AND {ended} <= least(first + %s::interval, %s) - {lag})"
    " ORDER BY first DESC"
)
PENDING: Final = "SELECT DISTINCT {subject} FROM {inbox} WHERE {within} ORDER BY 1 LIMIT %s"
TAKE: Final = (
    "WITH taken AS (DELETE FROM {inbox} WHERE {within} AND {subject} = ANY(%s) RETURNING *) SELECT "
)
READ: Final = (
    "SELECT subject_id, is_rolled_up, format, data FROM storage_samplechunk"
    " WHERE kind = %s AND subject_id = ANY(%s) AND resolution = %s AND start = %s"
)
WRITE: Final = (
    "INSERT INTO storage_samplechunk"
    " (kind, subject_id, resolution, start, format, rows, is_rolled_up, data)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (kind, subject_id, start, resolution) DO UPDATE SET format = excluded.format,"
    " rows = excluded.rows, is_rolled_up = excluded.is_rolled_up, data = excluded.data"
)
SET_ASIDE: Final = (
    "UPDATE storage_samplechunk AS chunk SET is_rolled_up = true, kind = kind + %s * (1 + ("
    "SELECT count(*) FROM storage_samplechunk AS aside WHERE aside.kind >= %s"
    " AND aside.kind %% %s = chunk.kind AND aside.subject_id = chunk.subject_id"
    " AND aside.resolution = chunk.resolution AND aside.start = chunk.start))"
    " WHERE kind = %s AND subject_id = ANY(%s) AND resolution = %s AND start = %s"
)
TO_ROLL_UP: Final = (
    "SELECT subject_id FROM storage_samplechunk WHERE NOT is_rolled_up AND kind = %s"
    " AND resolution = %s AND start = %s ORDER BY 1 LIMIT %s"
)
DAYS_TO_ROLL_UP: Final = (
    "SELECT DISTINCT start FROM storage_samplechunk WHERE NOT is_rolled_up AND kind = %s"
    " AND resolution = %s AND start <= %s ORDER BY 1 DESC"
)
ROLLED_UP: Final = (
    "UPDATE storage_samplechunk SET is_rolled_up = true WHERE kind = %s AND subject_id = ANY(%s)"
    " AND resolution = %s AND start = %s"
)


@dataclass(frozen=True, slots=True)
class PackedCount:
    """What a call did: `rows` of intervals packed in `hours` of subjects, `days` of subjects rolled
    up. `is_done`: nothing is left to do."""

    rows: int = 0
    hours: int = 0
    days: int = 0
    is_done: bool = False


def pack_samples(kind: SampleKind, now: datetime, seconds: float = 20.0) -> PackedCount:
    """Pack what is settled, for about so many seconds. Only one process does at a time."""
    until = time.monotonic() + seconds
    rows = hours = days = 0
    for hour in _pending_hours(kind, now):
        while True:
            batch = _pack_batch(kind, hour, now)
            if batch is None or time.monotonic() > until:
                done = batch or (0, 0)
                return PackedCount(rows + done[0], hours + done[1], days)
            rows, hours = rows + batch[0], hours + batch[1]
            if not batch[1]:
                break
    for day in _days_to_roll_up(kind, now):
        while True:
            count = _roll_up_batch(kind, day)
            if count is None or time.monotonic() > until:
                return PackedCount(rows, hours, days + (count or 0))
            days += count
            if not count:
                break
    return PackedCount(rows, hours, days, is_done=True)


def oldest_pending(kind: SampleKind, now: datetime) -> date | None:
    """The first day of which rows are not packed; None where all are that are settled."""
    days = _pending_times(kind, *_pending_span(kind, now), DAY)
    return days[-1].date() if days else None


def _pending_span(kind: SampleKind, now: datetime) -> tuple[datetime, datetime]:
    """From the first day of which there may be rows to the end of the last hour that is settled."""
    keeping = kept_for(Resolution.RAW) or timedelta()
    return (
        chunk_start(Resolution.FIVE_MINUTES, now - keeping - WEEK),
        chunk_start(Resolution.RAW, now - kind.settled),
    )


def _pending_times(
    kind: SampleKind, first: datetime, settled: datetime, step: timedelta
) -> list[datetime]:
    with connection.cursor() as cursor:
        query = kind.sql(PENDING_TIMES)
        seconds = f"{step.total_seconds():.0f} seconds"
        cursor.execute(query, [first, settled, seconds, seconds, settled])
        return [row[0].astimezone(UTC) for row in cursor.fetchall()]


def _pending_hours(kind: SampleKind, now: datetime) -> Iterator[datetime]:
    """The newest first."""
    first, settled = _pending_span(kind, now)
    for day in _pending_times(kind, first, settled, DAY):
        yield from _pending_times(kind, day, min(day + DAY, settled), HOUR)


def _days_to_roll_up(kind: SampleKind, now: datetime) -> list[datetime]:
    with connection.cursor() as cursor:
        over = now - kind.settled - DAY - HOUR
        cursor.execute(DAYS_TO_ROLL_UP, [kind.number, Resolution.FIVE_MINUTES, over])
        return [row[0].astimezone(UTC) for row in cursor.fetchall()]


@transaction.atomic
def _pack_batch(kind: SampleKind, hour: datetime, now: datetime) -> tuple[int, int] | None:
    """Pack the rows that ended in the hour after `hour`, of some subjects: how many rows, and of
    how many subjects; None where another process packs."""
    if not _is_ours():
        return None
    end = hour + HOUR
    with connection.cursor() as cursor:
        cursor.execute(kind.sql(PENDING), [*kind.within(hour, end), BATCH])
        subject_ids = [row[0] for row in cursor.fetchall()]
    if not subject_ids:
        return 0, 0
    with connection.cursor() as cursor:
        cursor.execute(
            kind.sql(TAKE) + kind.rows_of("taken"), [*kind.within(hour, end), subject_ids]
        )
        taken = cursor.fetchone()
    if taken is None:
        return 0, 0
    table = kind.table(taken[0])
    keeping = kept_for(Resolution.RAW)
    is_forgotten = keeping is not None and end <= now - keeping
    _add(kind, hour, _without_known_hours(kind, hour, table) if is_forgotten else table)
    return len(table), len(subject_ids)


def _without_known_hours(kind: SampleKind, hour: datetime, taken: IntervalTable) -> IntervalTable:
    """Without those of subjects that have buckets of that hour. Its intervals are dropped, so
    nothing can add up the hour anew: a row of a clock a month behind would replace all of it."""
    subject_ids = np.unique(taken.subjects).tolist()
    day = chunk_start(Resolution.FIVE_MINUTES, hour)
    buckets = _read(kind, Resolution.FIVE_MINUTES, day, subject_ids)
    at = buckets.line(AT)
    known = buckets.subjects[(at >= microseconds(hour)) & (at < microseconds(hour + HOUR))]
    return taken.where(~np.isin(taken.subjects, known))


def _add(kind: SampleKind, hour: datetime, taken: IntervalTable) -> None:
    """Put these intervals of one hour into its chunks and into its buckets of five minutes."""
    packed = _read(kind, Resolution.RAW, hour, np.unique(taken.subjects).tolist())
    added = without(taken, packed)
    if not len(added):
        return
    whole = joined(kind.rows, [packed.where(np.isin(packed.subjects, added.subjects)), added])
    whole = whole.where(np.lexsort((whole.line(ENDED), whole.subjects)))
    _replace(kind, Resolution.RAW, hour, hour + HOUR, whole)
    buckets = bucketed(whole, SECONDS[Resolution.FIVE_MINUTES])
    rolled_up = _replace(kind, Resolution.FIVE_MINUTES, hour, hour + HOUR, buckets)
    if rolled_up:
        _roll_up(kind, chunk_start(Resolution.FIVE_MINUTES, hour), rolled_up)


@transaction.atomic
def _roll_up_batch(kind: SampleKind, day: datetime) -> int | None:
    """Add up the buckets of a day for some subjects: for how many; None where another process
    packs."""
    if not _is_ours():
        return None
    with connection.cursor() as cursor:
        cursor.execute(TO_ROLL_UP, [kind.number, Resolution.FIVE_MINUTES, day, BATCH])
        subject_ids = [row[0] for row in cursor.fetchall()]
        if subject_ids:
            _roll_up(kind, day, subject_ids)
            cursor.execute(ROLLED_UP, [kind.number, subject_ids, Resolution.FIVE_MINUTES, day])
    return len(subject_ids)


def _roll_up(kind: SampleKind, day: datetime, subject_ids: Sequence[int]) -> None:
    buckets = _read(kind, Resolution.FIVE_MINUTES, day, subject_ids)
    for resolution in (Resolution.HOUR, Resolution.DAY):
        buckets = bucketed(buckets, SECONDS[resolution])
        _replace(kind, resolution, day, day + DAY, buckets)


def _replace(
    kind: SampleKind, resolution: Resolution, start: datetime, end: datetime, table: IntervalTable
) -> list[int]:
    """Put the intervals of `table`, which are all from `start` to `end`, in place of those that
    the chunks of its subjects have of this time; which of these are rolled up already."""
    if not len(table):
        return []
    first = chunk_start(resolution, start)
    with connection.cursor() as cursor:
        cursor.execute("SELECT storage_samplechunk_make(%s, %s)", [resolution, first.date()])
    subject_ids = np.unique(table.subjects).tolist()
    kept_apart: dict[int, IntervalTable] = {}
    rolled_up = []
    if resolution is not Resolution.RAW:
        for subject_id, is_rolled_up, old in _chunks(kind, resolution, first, subject_ids):
            at = old.line(AT)
            others = (at < microseconds(start)) | (at >= microseconds(end))
            kept_apart[subject_id] = old.where(others)
            if is_rolled_up:
                rolled_up.append(subject_id)
    order = np.argsort(table.subjects, kind="stable")
    borders = np.searchsorted(table.subjects[order], subject_ids)
    written = []
    for subject_id, chosen in zip(subject_ids, np.split(order, borders[1:]), strict=True):
        of_it = [kept_apart.get(subject_id, empty(kind.rows)), table.where(chosen)]
        whole = joined(kind.rows, [each for each in of_it if len(each)])
        whole = whole.where(np.lexsort((whole.line(ENDED), whole.line(AT))))
        data = to_chunk(whole, resolution, first)
        is_rolled_up = resolution is not Resolution.FIVE_MINUTES or subject_id in rolled_up
        written.append(
            (kind.number, subject_id, resolution, first, FORMAT, len(whole), is_rolled_up, data)
        )
    with connection.cursor() as cursor:
        cursor.executemany(WRITE, written)
    return rolled_up


def _read(
    kind: SampleKind, resolution: Resolution, start: datetime, subject_ids: Sequence[int]
) -> IntervalTable:
    chunks = _chunks(kind, resolution, start, subject_ids)
    return joined(kind.rows, [table for _subject_id, _is_rolled_up, table in chunks])


def _chunks(
    kind: SampleKind, resolution: Resolution, start: datetime, subject_ids: Sequence[int]
) -> list[tuple[int, bool, IntervalTable]]:
    """What is there; what cannot be read is set aside."""
    unread: dict[str, str] = {}
    with connection.cursor() as cursor:
        cursor.execute(READ, [kind.number, list(subject_ids), resolution, start])
        chunks = cursor.fetchall()
        tables = [
            (
                subject_id,
                is_rolled_up,
                readable(kind, resolution, start, subject_id, written, data, unread),
            )
            for subject_id, is_rolled_up, written, data in chunks
        ]
        damaged = [subject_id for subject_id, _is_rolled_up, table in tables if table is None]
        if damaged:
            place = (kind.number, damaged, resolution, start)
            cursor.execute(
                SET_ASIDE, [UNREADABLE_CHUNK, UNREADABLE_CHUNK, UNREADABLE_CHUNK, *place]
            )
            note_unreadable(unread)
    return [
        (subject_id, is_rolled_up, table)
        for subject_id, is_rolled_up, table in tables
        if table is not None
    ]


def _is_ours() -> bool:
    """Whether this transaction is the one that packs."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK)
        return bool(cursor.fetchone()[0])
