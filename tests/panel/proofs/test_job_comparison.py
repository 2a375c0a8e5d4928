"""What a customer reads of the last change: the hour before it against the last one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from jobs.models import Job, Kind, Origin, State
from panel.proofs.job_comparison import last_change
from storage.models import Volume
from storage.volumes.ownership import disown as take_away
from storage.volumes.ownership import give
from tests import make
from tests.panel.portal.shop import plan, shop
from tests.scene import end, job, step, stuck_job
from tests.storage import wire
from tests.storage.metrics.samples.rounds import NOON, noon_gone, take

pytestmark = pytest.mark.django_db
CHANGE = NOON + timedelta(hours=1)
NOW = NOON + timedelta(hours=3)


def changed(noon: datetime = NOON, **times: Any) -> tuple[Volume, Job]:
    """A volume whose reads took 10 ms before its plan changed at `CHANGE`, an hour after `noon`,
    and take 1 ms since."""
    acme, at = shop(), noon + (CHANGE - NOON)
    done = job(acme.there, origin=Origin.PORTAL, cache_plan=plan())
    end(done, **{"started_at": at, "ended_at": at + timedelta(seconds=30), **times})
    reads, spent = 0, 0
    for minute in range(0, 181, 10):
        disk = wire.disk(reads=reads, read_sectors=8 * reads, read_ms=spent)
        found = wire.volume(acme.there.lv.uuid, disk=disk)
        take(acme.there.host, minute * 60, found, start=noon)
        reads, spent = reads + 600, spent + 600 * (10 if minute < 60 else 1)
    return acme.volume, done


def test_before_is_the_hour_before_the_change_and_after_the_last_hour() -> None:
    change = last_change(changed()[1], NOW)
    assert change is not None and change.before is not None and change.after is not None
    assert (change.before.read_ms, change.after.read_ms) == (10, 1)
    assert (change.before.start, change.after.end) == (CHANGE - timedelta(hours=1), NOW)


def test_without_a_change_there_is_nothing_to_compare() -> None:
    assert last_change(None, NOW) is None


def test_right_after_a_change_nothing_is_said_yet() -> None:
    assert last_change(changed()[1], CHANGE + timedelta(minutes=5)) is None


def test_a_change_whose_hour_before_was_not_measured_has_no_effect_to_show() -> None:
    early = NOON + timedelta(minutes=5)
    assert last_change(changed(started_at=early, ended_at=early)[1], NOW) is None


def another(volume: Volume, kind: Kind, hours: float, noon: datetime = NOON) -> None:
    """Another job of the volume, so long after the change."""
    at = noon + (CHANGE - NOON) + timedelta(hours=hours)
    times = {"started_at": at, "ended_at": at + timedelta(minutes=1)}
    other = stuck_job(volume, kind=kind, state=State.SUCCEEDED, **times)
    step(other, state="done", op_id=uuid4(), **times)


@pytest.mark.parametrize("hours", [-0.9, 0.9])
def test_where_another_change_cut_a_side_it_is_no_hour_and_nothing_is_shown(hours: float) -> None:
    volume, done = changed()
    assert last_change(done, NOW) is not None
    another(volume, Kind.SET_CACHE, hours)
    assert last_change(done, NOW) is None


@pytest.mark.parametrize("hours", [-0.9, 0.9, 1.5])
@pytest.mark.parametrize("kind", [Kind.EXTEND_VOLUME, Kind.TAG_VOLUME, Kind.FLUSH_CACHE])
def test_a_job_that_leaves_the_cache_as_it_is_hides_no_effect(kind: Kind, hours: float) -> None:
    volume, done = changed()
    another(volume, kind, hours)
    change = last_change(done, NOW)
    assert change is not None and change.after is not None
    assert (change.after.end, change.cut) == (NOW, "")


def test_the_effect_of_an_older_change_is_the_hour_before_the_next_one() -> None:
    volume, done = changed()
    another(volume, Kind.REMOVE_CACHE, 1.5)
    change = last_change(done, NOW)
    assert change is not None and change.after is not None
    assert change.after.end == CHANGE + timedelta(hours=1.5)
    assert change.after.end - change.after.start == timedelta(hours=1)
    assert change.cut


def test_an_hour_that_was_another_customers_is_not_shown() -> None:
    noon = noon_gone()
    now = noon + (NOW - NOON)
    volume, done = changed(noon)
    theirs = volume.customer
    assert theirs is not None and last_change(done, now) is not None
    for customer in (make.customer("Before"), theirs):
        take_away(volume)
        give(volume, customer, now)
    assert last_change(done, now) is None
