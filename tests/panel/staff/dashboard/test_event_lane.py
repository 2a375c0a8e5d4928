"""What happened to hosts, as one lane."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.engine.holds import begin_maintenance, end_maintenance
from jobs.models import Alert, Kind, State
from panel.staff.dashboard.event_lane import EventLane, LaneEvent, LaneKind, event_lane
from storage.models import Event, Host, HostChange
from storage.models.host_change import HostChangeKind
from tests.panel.staff.kiosk.screens import ago
from tests.scene import Scene, job, scene

pytestmark = pytest.mark.django_db


def alert(there: Scene, **fields: object) -> Alert:
    at = ago(hours=2)
    return Alert.objects.create(
        **{
            "fingerprint": "a",
            "family": "host_silent",
            "code": "host_silent",
            "severity": "error",
            "rank": 1,
            "worst_rank": 1,
            "host": there.host,
            "message": "web12 disk is slow.",
            "first_seen_at": at,
            "present_since": at,
            "opened_at": at,
            **fields,
        }
    )


def lane(*hosts: Host, **how: bool) -> EventLane:
    now = timezone.now()
    shown = [Host.objects.get(pk=host.pk) for host in hosts]
    return event_lane(now - timedelta(hours=24), now + timedelta(minutes=1), shown, **how)


def test_alerts_jobs_restarts_and_maintenance_are_in_the_order_of_time() -> None:
    there = scene()
    alert(there)
    job(there, kind=Kind.REMOVE_CACHE, state=State.SUCCEEDED,
        started_at=ago(hours=3), ended_at=ago(hours=1))  # fmt: skip
    HostChange.objects.create(host=there.host, at=ago(hours=4), kind=HostChangeKind.BOOT)
    begin_maintenance(there.host, "disks", timezone.now() + timedelta(hours=1))
    events = lane(there.host).events
    assert [event.kind for event in events] == ["restart", "job", "alert", "maintenance"]
    assert [event.words for event in events] == [
        f"{there.host}: restart",
        f"{there.host}: Remove cache web12 disk",
        f"{there.host}: web12 disk is slow",
        f"{there.host}: maintenance",
    ]
    assert [event.state for event in events] == ["", "", "open", "now"]


def test_without_names_of_volumes_hosts_alone_are_named() -> None:
    there = scene()
    alert(there)
    over = {"state": State.FAILED, "started_at": ago(hours=3), "ended_at": ago(hours=2, minutes=30)}
    job(there, kind=Kind.REMOVE_CACHE, **over)
    words = [event.words for event in lane(there.host, names_volumes=False).events]
    assert words == [f"{there.host}: Remove cache (failed)", f"{there.host}: Host silent"]


def test_alerts_of_all_hosts_are_there_only_where_all_hosts_are() -> None:
    there, other = scene(), scene()
    alert(there, host=None)
    alert(other, fingerprint="b")
    assert [event.words for event in lane(there.host).events] == ["all hosts: web12 disk is slow"]
    assert lane(there.host, with_general=False).events == []


def test_what_lasts_or_ended_within_the_time_is_there_and_no_more() -> None:
    there = scene()
    alert(there, opened_at=ago(days=3))
    alert(there, fingerprint="b", opened_at=ago(days=3), resolved_at=ago(days=2))
    assert len(lane(there.host).events) == 1


def test_a_maintenance_that_ended_lasted_until_then() -> None:
    there = scene()
    begin_maintenance(there.host, "disks", timezone.now() + timedelta(hours=1))
    end_maintenance(there.host)
    began, ended = ago(hours=2), ago(hours=1)
    Event.objects.filter(kind="host.maintenance_began").update(at=began)
    Event.objects.filter(kind="host.maintenance_ended").update(at=ended)
    (event,) = lane(there.host).events
    assert (event.at, event.until) == (began, ended)


def test_marks_lie_within_the_lane_and_are_wide_enough_to_be_seen() -> None:
    start = timezone.now()
    end = start + timedelta(hours=10)

    def event(begin: int, until: int | None) -> LaneEvent:
        over = start + timedelta(hours=until) if until is not None else None
        return LaneEvent(LaneKind.JOB, start + timedelta(hours=begin), over, "", "")

    found = EventLane(start, end, [event(-5, 5), event(5, None), event(10, 10)]).marks
    assert [(mark.left, mark.width) for mark in found] == [
        ("0.00%", "50.00%"),
        ("50.00%", "50.00%"),
        ("99.60%", "0.40%"),
    ]


def test_the_number_of_queries_does_not_depend_on_that_of_events() -> None:
    hosts = [scene() for _ in range(3)]
    for n, there in enumerate(hosts):
        alert(there, fingerprint=str(n))
        job(there, started_at=ago(hours=3))
    shown = list(Host.objects.all())
    with CaptureQueriesContext(
        connection,
    ) as queries:
        event_lane(ago(hours=24), timezone.now(), shown)
    assert len(queries) == 4
