"""Pages of a list cost the same wherever they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Job
from storage.models import Volume
from tests.panel.api.asking import staff
from tests.scene import job, scene

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("path", "table", "index"),
    [
        ("/volumes/", Volume._meta.db_table, "volume_oldest"),
        ("/jobs/", Job._meta.db_table, "job_newest"),
    ],
)
def test_a_page_begins_in_the_index_where_the_one_before_ended(
    path: str, table: str, index: str
) -> None:
    for _ in range(3):
        job(scene())
    asking = staff()
    after = asking.get(path, limit=1).json()["next_cursor"]
    with CaptureQueriesContext(connection) as queries:
        asking.get(path, limit=1, cursor=after)
    (page,) = (
        each["sql"]
        for each in queries
        if each["sql"].startswith("SELECT")
        and f'FROM "{table}"' in each["sql"]
        and "LIMIT 2" in each["sql"]
    )
    (scan,) = scans_of(plan_of(page), table)
    assert scan["Index Name"] == index
    assert "created_at" in scan["Index Cond"]


def plan_of(statement: str) -> dict[str, Any]:
    """How PostgreSQL would do it with many rows."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}")
        (answer,) = cursor.fetchone()
    plans = json.loads(answer) if isinstance(answer, str) else answer
    found: dict[str, Any] = plans[0]["Plan"]
    return found


def scans_of(plan: dict[str, Any], table: str) -> list[dict[str, Any]]:
    here = [plan] if plan.get("Relation Name") == table else []
    return here + [scan for each in plan.get("Plans", ()) for scan in scans_of(each, table)]
