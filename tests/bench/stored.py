"""The panel's half of `make bench-samples`: its tables filled with what volumes did, and its pages
asked for over HTTP."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np
import psycopg
from django.db import transaction

from storage.metrics.samples import packer
from storage.metrics.samples.chunk_store import (
    SECONDS,
    VOLUMES,
    chunk_end,
    chunk_start,
)
from storage.metrics.samples.codec import NULL
from storage.metrics.samples.columns import AT, ENDED, code
from storage.metrics.samples.interval_table import (
    IntervalTable,
    bucket_start,
    bucketed,
    measured,
    microseconds,
    time_of_microseconds,
)
from storage.models import Resolution
from tests.bench.http_timing import WebServer, say, timed

MINUTE, HOUR, DAY = 60, 3600, 86_400
MONTH_DAYS, YEAR_DAYS = 30, 365
HOT_SECONDS: Final = 2 * HOUR
"""What is not packed yet."""
GROUP: Final = 100
FORECAST_VOLUMES: Final = 5000
RESOLUTIONS: Final = {
    "5m": Resolution.FIVE_MINUTES, "1h": Resolution.HOUR, "1d": Resolution.DAY,
}  # fmt: skip
COPIES: Final = 20
"""Of each chunk that is measured, so that whole pages matter little."""
FULL_CHUNKS: Final = (
    "WITH full_chunks AS (SELECT *, max(rows) OVER () AS most FROM storage_samplechunk"
    " WHERE resolution = %(resolution)s AND subject_id = ANY(%(ids)s)),"
    " copied AS (INSERT INTO measured_chunk"
    " (kind, subject_id, resolution, start, format, rows, is_rolled_up, data)"
    " SELECT kind, subject_id + n * 1000000000::bigint, resolution, start, format, rows,"
    " is_rolled_up, data FROM full_chunks, generate_series(1, %(copies)s) AS n"
    " WHERE rows >= 0.8 * most RETURNING rows)"
    " SELECT sum(rows) FROM copied"
)
"""Those of volumes with a past that have about all the rows that such a chunk can have: a volume
with one day has a chunk for that day alone, of which most is what every chunk costs."""
LENGTHS: Final = {"24h": DAY, "7d": 7 * DAY, "30d": MONTH_DAYS * DAY, "1y": (YEAR_DAYS - 5) * DAY}


@dataclass(frozen=True, slots=True)
class Piece:
    """Intervals of one volume, as the generator gives them."""

    volume_id: int
    number: int
    ends_ms: Any
    columns: Mapping[str, Any]

    def part(self, first: int, last: int) -> Piece:
        """Its intervals from that one to before the other."""
        columns = {
            name: None if each is None else each[first:last] for name, each in self.columns.items()
        }
        return Piece(self.volume_id, self.number, self.ends_ms[first:last], columns)

    def rows(self, names: Sequence[str], first: int, last: int) -> Iterator[tuple[Any, ...]]:
        """Rows of the columns of those names from interval `first` to before `last`, each with the
        end of the interval before it."""
        count = last - first
        lists = [
            [None] * count if (column := self.columns.get(name)) is None
            else column[first:last].tolist()
            for name in names
        ]  # fmt: skip
        ends = [datetime.fromtimestamp(each / 1000, UTC) for each in self.ends_ms[first:last]]
        return zip(ends, *lists, strict=True)


class Ours:
    """The panel's own tables. `ids` are the volumes; the number of one is its place."""

    def __init__(self, ids: Sequence[int], end: int) -> None:
        from storage.metrics.samples.columns import INTERVAL

        self.ids, self.end, self.names = ids, end, INTERVAL
        self._made: set[int] = set()
        self.figures = 0
        self.pack_seconds = 0.0
        self.packed = 0
        self.intervals = 0
        """Of the day, and stored before the last two hours."""

    def piece(self, number: int, start: int, count: int, seconds: int) -> Piece:
        """Of the volume of that number."""
        from tests.fleet.workload import intervals

        ends, columns = intervals(number, start, count, seconds)
        return Piece(self.ids[number], number, ends, columns)

    def fill_past(self, count: int) -> None:
        """A year of the first volumes up to the last day, as their buckets."""
        began = time.monotonic()
        for start, stop, seconds in past(self.end):
            pieces = [
                self.piece(number, start, (stop - start) // seconds, seconds)
                for number in range(count)
            ]
            if seconds == HOUR:
                buckets = bucketed(self.table(pieces), HOUR)
                self._put(Resolution.HOUR, buckets)
                self._put(Resolution.DAY, bucketed(buckets, DAY))
            else:
                self._put(Resolution.FIVE_MINUTES, bucketed(self.table(pieces), 300))
        self._roll_up()
        say(f"a year of {count} volumes stored", began)

    def fill_day(self, first: int, last: int, *, is_measured: bool) -> list[Piece]:
        """The day of those volumes without its last hours, which are returned, as the packer leaves
        it: hour by hour as it does, where that is measured."""
        began = time.monotonic()
        hot, tails = HOT_SECONDS // MINUTE, []
        for group in range(first, last, GROUP):
            pieces = [
                self.piece(number, self.end - DAY, DAY // MINUTE, MINUTE)
                for number in range(group, min(group + GROUP, last))
            ]
            settled = [each.part(0, len(each.ends_ms) - hot) for each in pieces]
            tails += [each.part(len(each.ends_ms) - hot, len(each.ends_ms)) for each in pieces]
            self.figures += sum(len(each.ends_ms) * self.figures_of(each) for each in settled)
            table = self.table(settled)
            self.intervals += len(table)
            if is_measured:
                started = time.perf_counter()
                for hour, part in _by_hour(table):
                    with transaction.atomic():
                        packer._add(VOLUMES, hour, part)
                self.pack_seconds += time.perf_counter() - started
                self.packed += len(table)
            else:
                self._put(Resolution.RAW, table)
                self._put(Resolution.FIVE_MINUTES, bucketed(table, 300))
        self._roll_up()
        say(f"a day of {last - first} volumes packed", began)
        return tails

    def table(self, pieces: Sequence[Piece]) -> IntervalTable:
        """The same intervals as the packer takes them from the rows."""
        rows = VOLUMES.rows
        count = sum(len(each.ends_ms) for each in pieces)
        raw = np.full((len(rows.raw_codes), count), NULL, np.int64)
        place = {code: n for n, code in enumerate(rows.raw_codes.tolist())}
        at = 0
        for piece in pieces:
            to = at + len(piece.ends_ms)
            raw[place[AT], at:to] = piece.ends_ms * 1000
            for name, column in piece.columns.items():
                if column is None or name not in self.names:
                    continue
                if column.ndim == 1:
                    raw[place[code(name)], at:to] = column
                else:
                    for n in range(column.shape[1]):
                        raw[place[code(name, n)], at:to] = column[:, n]
            at = to
        subjects = np.repeat(
            [each.volume_id for each in pieces], [len(each.ends_ms) for each in pieces]
        )
        return measured(rows, subjects.astype(np.int64), raw)

    def _put(self, resolution: Resolution, buckets: IntervalTable) -> None:
        """Buckets of many chunks, each into its own."""
        starts = buckets.line(AT) - (resolution is Resolution.RAW)
        at = time_of_microseconds(int(starts.min()))
        while microseconds(at) <= starts.max():
            first = chunk_start(resolution, at)
            at = chunk_end(resolution, first)
            inside = (starts >= microseconds(first)) & (starts < microseconds(at))
            with transaction.atomic():
                packer._replace(VOLUMES, resolution, first, at, buckets.where(inside))

    def _roll_up(self) -> None:
        """Days of five minutes into hours and days."""
        now = datetime.fromtimestamp(self.end, UTC)
        while not packer.pack_samples(VOLUMES, now).is_done:
            pass

    def figures_of(self, piece: Piece) -> int:
        """How many figures an interval of it has, as the others count them."""
        from tests.fleet.workload import counters

        head = {name: None if each is None else each[:1] for name, each in piece.columns.items()}
        return len(counters(head, self.names))

    def ingest(self, tails: Sequence[Piece]) -> dict[str, Any]:
        """The last hours minute by minute, as rounds come: by COPY alone into a table without
        anything, and through the stage, where a row that is there already changes nothing."""
        from django.db import connection, transaction

        from storage.metrics.samples.sample_round import stage
        from tests.fleet.load import HISTORY

        minutes = zip(
            *(each.rows(tuple(self.names), 0, len(each.ends_ms)) for each in tails), strict=True
        )
        copy_s, stage_s, rows = 0.0, 0.0, 0
        names = ", ".join(self.names)
        self._partitions(self.end - HOT_SECONDS, self.end)
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE bare_sample (LIKE storage_sample)")
            for minute in minutes:
                bare = [
                    (at, each.volume_id, *row)
                    for (at, *row), each in zip(minute, tails, strict=True)
                ]
                staged = [
                    self._staged(each.volume_id, at, row)
                    for (at, *row), each in zip(minute, tails, strict=True)
                ]
                rows += len(bare)
                began = time.perf_counter()
                with (
                    transaction.atomic(),
                    cursor.copy(
                        f"COPY bare_sample (ts, volume_id, {names}) FROM STDIN (FORMAT binary)"
                    ) as copy,
                ):
                    copy.set_types(("timestamptz", "int8", *self.names.values()))
                    for row in bare:
                        copy.write_row(row)
                copy_s += time.perf_counter() - began
                began = time.perf_counter()
                with transaction.atomic():
                    stage(cursor, staged)
                    cursor.execute(HISTORY)
                stage_s += time.perf_counter() - began
            cursor.execute("DROP TABLE bare_sample")
        return {
            "rows": rows,
            "copy_rows_s": round(rows / copy_s),
            "rows_s": round(rows / stage_s),
            "of_copy": round(copy_s / stage_s, 3),
        }

    def sizes(self, past_volumes: int) -> dict[str, Any]:
        """Bytes of the tables of chunks with their indexes, a figure and of 5,000 volumes after a
        year; buckets compact, as they are after a while, of so many volumes with a past."""
        with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
            raw = _size(owner, "raw")
            owner.execute("VACUUM (FULL, ANALYZE) storage_samplechunk")
            days = {
                name: _row_bytes(owner, resolution, self.ids[:past_volumes])
                * (DAY / SECONDS[resolution])
                for name, resolution in RESOLUTIONS.items()
            }
        days["raw"] = raw / (self.intervals / (DAY // MINUTE))
        year = 30 * days["raw"] + YEAR_DAYS * (days["5m"] + days["1h"] + days["1d"])
        return {
            "bytes": raw,
            "figures": self.figures,
            "rows": self.intervals,
            "bytes_a_figure": round(raw / self.figures, 3),
            "packed_rows_s": round(self.packed / self.pack_seconds),
            "bytes_a_volume_day": {name: round(size) for name, size in days.items()},
            "year_gb": round(FORECAST_VOLUMES * year / 1e9, 1),
        }

    def decoded(self, volumes: Sequence[Any], times: int) -> dict[str, Any]:
        """The same charts without HTTP: the database and decoding alone, in the page's buckets.
        `cpu_ms` is what this process computes for one."""
        from panel.charts.time_range import part
        from storage.metrics.series import series

        end = datetime.fromtimestamp(self.end, UTC)

        def draw(n: int, length: int) -> None:
            span = part("24h", end - timedelta(seconds=length), end)
            volume = volumes[n % len(volumes)]
            series(volume, span.start, span.end, span.points, inside=True)

        figures = {}
        for name, length in LENGTHS.items():
            clock, began = (
                timed(times, lambda n, length=length: draw(n, length)),
                time.process_time(),
            )
            for n in range(times):
                draw(n, length)
            cpu_ms = (time.process_time() - began) * 1000 / times
            figures[name] = {**clock, "cpu_ms": round(cpu_ms, 2)}
        return figures

    def _staged(self, volume_id: int, at: datetime, row: Sequence[Any]) -> tuple[Any, ...]:
        from psycopg.types.json import Jsonb

        from storage.metrics.samples.sample_round import COLUMNS

        kept = (volume_id, 1, at, "", 0, Jsonb({}), "", "", "", "", False)
        assert len(kept) + len(row) == len(COLUMNS)
        return (*kept, *row)

    def _partitions(self, start: int, end: int) -> None:
        from storage.metrics.samples.sample_round import make_partition

        for day in range(start // DAY, end // DAY + 1):
            if day not in self._made:
                self._made.add(day)
                make_partition(datetime.fromtimestamp(day * DAY, UTC).date())


def _by_hour(table: IntervalTable) -> Iterator[tuple[datetime, IntervalTable]]:
    hours = bucket_start(table.line(ENDED), HOUR)
    for hour in np.unique(hours).tolist():
        yield time_of_microseconds(hour), table.where(hours == hour)


def _size(owner: psycopg.Connection[Any], suffix: str) -> int:
    size: int = owner.execute(
        "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree(%s) WHERE isleaf",
        [f"storage_samplechunk_{suffix}"],
    ).fetchone()[0]
    return int(size)


def _row_bytes(owner: psycopg.Connection[Any], resolution: Resolution, ids: Sequence[int]) -> float:
    """What a bucket takes in a chunk that has about all it can have: of the chunk's bytes, of its
    row and of its entries in indexes."""
    owner.execute("CREATE TEMPORARY TABLE measured_chunk (LIKE storage_samplechunk INCLUDING ALL)")
    query = {"resolution": resolution, "ids": list(ids), "copies": COPIES}
    rows = owner.execute(FULL_CHUNKS, query).fetchone()[0]
    size = owner.execute("SELECT pg_total_relation_size('measured_chunk')").fetchone()[0]
    owner.execute("DROP TABLE measured_chunk")
    return float(size) / int(rows)


def past(end: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and interval of what some volumes have before the last day."""
    month = end - MONTH_DAYS * DAY
    yield end - YEAR_DAYS * DAY, month, HOUR
    yield month, end - DAY, MINUTE


def points(length: int) -> int:
    """As many as the page of a volume asks for."""
    from panel.charts.time_range import LONG, LONG_POINTS, POINTS

    return LONG_POINTS if timedelta(seconds=length) > LONG else POINTS


class Web(WebServer):
    """Asked by an admin."""

    def __init__(self, panel: Any, admin: Any) -> None:
        from tests.bench.door import session_of

        super().__init__(panel, {"Cookie": session_of(admin)})

    def chart(self, key: str, end: int, length: int) -> bytes:
        """All lines of the page of a volume, to `end`."""
        ends = {
            name: datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            for name, at in (("from", end - length), ("to", end))
        }
        return self.ask(f"/volumes/{key}/series?{urlencode(ends)}")


def bare_web(panel: Any, admin: Any) -> WebServer:
    """Django with next to nothing of the panel (`tests.bench.bare_api`), asked by the same one."""
    from tests.bench.door import session_of

    settings = {"DJANGO_SETTINGS_MODULE": "tests.bench.bare_settings"}
    cookie = {"Cookie": session_of(admin)}
    return WebServer(panel, cookie, name="web:bare", ready="/volumes/?limit=1", **settings)
