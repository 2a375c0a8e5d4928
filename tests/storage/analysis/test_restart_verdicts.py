"""A loss since a restart into another kernel is found from the days around it, and kept."""

from __future__ import annotations

import datetime as dt

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import tasks
from storage.analysis.restart_verdicts import (
    accept_loss,
    judge_restarts,
    revoke_loss_acceptance,
    standing_loss,
)
from storage.models import Host, HostChange, HostLoad
from storage.planner import Refused
from tests import make
from tests.storage.analysis.test_restart_comparison import NOW, around, load, restart

pytestmark = pytest.mark.django_db
DAY = dt.timedelta(days=1)


def effect(change: HostChange) -> str:
    change.refresh_from_db()
    return change.effect


@pytest.mark.parametrize(
    ("ms", "expected"), [(8.0, "loss"), (2.3, "loss"), (2.06, ""), (2.0, ""), (0.5, "gain")]
)
def test_a_restart_is_a_loss_where_io_surely_takes_a_twentieth_longer(
    ms: float, expected: str
) -> None:
    change = restart(make.host())
    before, after = around(change)
    load(change.host, before, 8 * 24, ms=2.0)
    load(change.host, after, 3 * 24, ms=ms)
    assert judge_restarts(NOW) == 1
    assert effect(change) == expected
    assert change.figures["times"][0] == pytest.approx(ms / 2, rel=0.05)
    assert change.figures["average_ms"][0] == pytest.approx(2, rel=0.05)


def test_with_too_few_like_hours_nothing_is_found() -> None:
    change = restart(make.host())
    before, after = around(change)
    load(change.host, before, 8 * 24, ms=2.0)
    load(change.host, after, 3 * 24, ms=8.0, reads=36_000)
    judge_restarts(NOW)
    assert effect(change) == "" and change.figures == {} and change.judged_at == NOW


def test_what_was_found_stays_where_it_can_be_judged_no_more() -> None:
    change = restart(make.host())
    before, after = around(change)
    load(change.host, before, 8 * 24, ms=2.0)
    load(change.host, after, 3 * 24, ms=8.0)
    judge_restarts(NOW)
    HostLoad.objects.all().delete()
    assert judge_restarts(NOW + DAY) == 1
    assert effect(change) == "loss" and change.figures["days"] == 3


def test_a_restart_is_judged_once_for_each_whole_day_up_to_a_week() -> None:
    change = restart(make.host(), days_ago=0.5)
    judged = [judge_restarts(NOW + n * DAY / 48) for n in range(1, 48 * 9)]
    assert sum(judged) == 8
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert judge_restarts(NOW + 9 * DAY) == 0
    assert len(asked) == 1
    assert effect(change) == ""


def test_what_was_not_judged_in_its_week_is_judged_later() -> None:
    change = restart(make.host(), days_ago=20)
    assert judge_restarts(NOW) == 1 and judge_restarts(NOW + DAY) == 0
    Host.objects.update(state="removed", removed_at=NOW)
    HostChange.objects.filter(pk=change.pk).update(judged_at=None)
    assert judge_restarts(NOW) == 0


def test_a_loss_stands_until_a_later_restart_is_a_gain() -> None:
    host = make.host()
    made = [restart(host, days_ago) for days_ago in (9, 5, 2)]
    assert standing_loss(host) is None
    for change, found in zip(made, ("loss", "", "gain"), strict=True):
        HostChange.objects.filter(pk=change.pk).update(effect=found)
        assert standing_loss(host) == (made[0] if found != "gain" else None)


def test_only_a_known_loss_is_accepted_and_the_acceptance_is_taken_back() -> None:
    change = restart(make.host())
    with pytest.raises(Refused, match="not known"):
        accept_loss(change, "ada@example.org", "why", NOW)
    HostChange.objects.update(effect="loss")
    accept_loss(change, "ada@example.org", "why", NOW)
    change.refresh_from_db()
    assert change.acceptance == {"at": NOW.isoformat(), "by": "ada@example.org", "reason": "why"}
    revoke_loss_acceptance(change)
    with pytest.raises(Refused, match="not accepted"):
        revoke_loss_acceptance(change)


def test_the_clock_judges_restarts() -> None:
    assert settings.CELERY_BEAT_SCHEDULE["restarts"]["task"] == "jobs.tasks.judge_restarts"
    change = restart(make.host())
    tasks.judge_restarts()
    change.refresh_from_db()
    assert change.judged_at is not None
