"""A host that answers and is not sampled: its figures are old although it is well."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.health.host_problems import problems_of, unsampled_since
from storage.metrics.samples.host_load import due_since
from storage.models import Host
from tests import make

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR_AGO, DAY_AGO = NOON - timedelta(hours=1), NOON - timedelta(days=1)


def host(**fields: Any) -> Host:
    return Host(**{"state": "active", "last_seen_at": NOON, **fields})


@pytest.mark.parametrize(
    ("due", "sampled_at", "since"),
    [
        (DAY_AGO, NOON, None),
        (DAY_AGO, HOUR_AGO, HOUR_AGO),
        (HOUR_AGO, None, HOUR_AGO),
        # It had no volume in between.
        (HOUR_AGO, DAY_AGO, HOUR_AGO),
        (NOON, DAY_AGO, None),
        (None, DAY_AGO, None),
    ],
)
def test_figures_are_missed_since_the_last_came_or_the_first_was_due(
    due: datetime | None, sampled_at: datetime | None, since: datetime | None
) -> None:
    assert unsampled_since(host(), NOON, due, sampled_at) == since


@pytest.mark.parametrize(
    "fields", [{"last_seen_at": HOUR_AGO}, {"error": {"code": "no_answer"}}, {"state": "pending"}]
)
def test_of_a_host_that_does_not_answer_no_figures_are_expected(fields: dict[str, Any]) -> None:
    assert unsampled_since(host(**fields), NOON, DAY_AGO, HOUR_AGO) is None


def test_it_is_told_with_its_age_and_where_to_look() -> None:
    (problem,) = problems_of(host(), NOON, unsampled=HOUR_AGO)
    assert problem.message == "The host answers, but has sent no samples for 1 h 0 min."
    assert (problem.code, problem.since) == ("unsampled", HOUR_AGO)
    assert "collector" in problem.correction


@pytest.mark.django_db
def test_only_volumes_that_are_there_are_to_be_sampled() -> None:
    there = make.host()
    make.placement(make.volume(), there, lv_uuid=None)
    make.placement(make.volume(), there, missing_since=NOON)
    make.placement(make.volume(), there, until=NOON)
    assert due_since([there]) == {}
    first = make.placement(make.volume(), there)
    make.placement(make.volume(), there)
    assert due_since([there]) == {there.pk: first.since}
