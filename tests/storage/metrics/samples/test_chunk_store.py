"""What a chart reads depends on its time, and not on how many volumes there are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from django.db import connection

from storage.metrics.samples.aggregate import CHARTED, intervals
from storage.metrics.samples.sample_round import make_partition
from storage.models import Resolution, SubjectKind

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
MIDNIGHT = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
DAYS: Final = 3
"""That are stored, up to midnight."""
FEW, MANY = 30, 300
VOLUME: Final = 7
# About as long as chunks are, which come by the hour or the day for all volumes.
CHUNKS: Final = (
    "INSERT INTO storage_samplechunk"
    " (kind, subject_id, resolution, start, format, rows, is_rolled_up, data)"
    " SELECT %(kind)s, volume, %(resolution)s, start, 2, 60, true,"
    " decode(repeat(md5(volume::text || start::text), %(length)s), 'hex')"
    " FROM generate_series(%(first)s, %(until)s, %(step)s::interval) AS start,"
    " generate_series(%(least)s, %(most)s) AS volume ORDER BY start, volume"
)
ROWS: Final = (
    "INSERT INTO storage_sample (ts, volume_id, dt_ms, reads, writes, read_sectors, write_sectors,"
    " read_ms, write_ms, technology, latency_counts)"
    " SELECT ts, volume, 60000, 1, 1, 8, 8, 1, 1, 0, array_fill(1, ARRAY[14])"
    " FROM generate_series(%(first)s, %(until)s, interval '1 minute') AS ts,"
    " generate_series(%(least)s, %(most)s) AS volume ORDER BY ts, volume"
)


def fill(least: int, most: int) -> None:
    """What those volumes did: days in chunks, and the two hours after midnight as they came."""
    first, until = MIDNIGHT - DAYS * DAY, MIDNIGHT - timedelta(hours=1)
    with connection.cursor() as cursor:
        for resolution, length, step in (
            (Resolution.RAW, 120, timedelta(hours=1)),
            (Resolution.FIVE_MINUTES, 700, DAY),
        ):
            for n in range(DAYS):
                day = (first + n * DAY).date()
                cursor.execute("SELECT storage_samplechunk_make(%s, %s)", [resolution, day])
            fields = {"first": first, "until": until, "least": least, "most": most}
            kind = {"kind": SubjectKind.VOLUME, "resolution": resolution}
            cursor.execute(CHUNKS, {**fields, **kind, "length": length, "step": step})
        hours = {"first": MIDNIGHT, "until": MIDNIGHT + timedelta(hours=2)}
        cursor.execute(ROWS, {**hours, "least": least, "most": most})


def plan_of(step: int, start: datetime, end: datetime) -> dict[str, Any]:
    """How PostgreSQL reads the intervals of one volume, and what that touches."""
    statements: list[Any] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        intervals([VOLUME], start, end, kind=CHARTED, step=step)
    [(sql, params)] = statements
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
        [answer] = cursor.fetchone()
    explained = json.loads(answer) if isinstance(answer, str) else answer
    plan: dict[str, Any] = explained[0]["Plan"]
    return plan


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)


@pytest.mark.parametrize("step", [60, 300])
def test_a_chart_of_a_day_touches_as_much_of_few_volumes_as_of_many(step: int) -> None:
    """Of one statement: by an index of the partitions of its time, and nothing else."""
    for days in range(10):
        make_partition((MIDNIGHT - days * DAY).date())
    start, end = MIDNIGHT - DAY + timedelta(hours=2), MIDNIGHT + timedelta(hours=2)
    fill(1, FEW)
    few = plan_of(step, start, end)
    fill(FEW + 1, MANY)
    many = plan_of(step, start, end)
    touched = [each["Shared Hit Blocks"] + each["Shared Read Blocks"] for each in (few, many)]
    assert touched[1] <= 1.2 * touched[0]
    for each in nodes(many):
        assert not each.get("Subplans Removed"), "partitions of other days were planned"
        name = each.get("Relation Name", "")
        assert each["Node Type"] != "Seq Scan" or each["Actual Rows"] == 0, name
        if "raw_" in name:
            assert name.endswith((f"{start:%Y%m%d}", f"{end:%Y%m%d}")), name
