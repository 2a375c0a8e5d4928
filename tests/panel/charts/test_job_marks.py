"""Jobs as marks on the charts of their volume."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Alert, Job, Origin, State
from panel.charts.marks import MOST_MARKS
from storage.models import CachePlan, HostChange, Member, Placement
from tests import make
from tests.scene import Scene, end, job, scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def marks(client: Client, there: Scene, **query: str) -> list[dict[str, Any]]:
    response = client.get(reverse("volume-marks", args=[there.volume.key]), query)
    assert response.status_code == 200
    found: list[dict[str, Any]] = response.json()["marks"]
    return found


def began(of: Job, hours_ago: float) -> None:
    Job.objects.filter(pk=of.pk).update(started_at=timezone.now() - timedelta(hours=hours_ago))


def test_a_mark_says_what_began_when_and_how_it_ended(staff: Client) -> None:
    there = scene()
    done = job(there)
    end(done, State.FAILED)
    assert marks(staff, there) == [
        {
            "key": done.key,
            "at": done.started_at.isoformat() if done.started_at else "",
            "until": done.ended_at.isoformat() if done.ended_at else "",
            "label": "Add cache",
            "state": "failed",
            "outcome": "failed",
            "url": reverse("job", args=[done.key]),
        }
    ]


def test_a_job_that_no_worker_took_yet_is_marked_where_it_was_asked_for(staff: Client) -> None:
    there = scene()
    waiting = job(there)
    waiting.refresh_from_db()
    assert [mark["at"] for mark in marks(staff, there)] == [waiting.created_at.isoformat()]


def test_marks_are_of_the_shown_time_oldest_first(staff: Client) -> None:
    there = scene()
    for kind, hours in (("add-cache", 5), ("set-cache", 0.5), ("remove-cache", 30)):
        made = job(there, kind=kind)
        end(made)
        began(made, hours)
    assert [mark["label"] for mark in marks(staff, there, range="1h")] == ["Change cache"]
    assert [mark["label"] for mark in marks(staff, there, range="24h")] == [
        "Add cache",
        "Change cache",
    ]


def test_previews_and_jobs_of_other_volumes_leave_no_mark(staff: Client) -> None:
    there = scene()
    job(there, dry_run=True)
    job(scene())
    assert marks(staff, there) == []


def test_a_busy_volume_shows_its_newest_marks(staff: Client) -> None:
    there = scene()
    for _ in range(MOST_MARKS + 1):
        end(job(there))
    first = Job.objects.order_by("id")[0]
    began(first, 0.9)
    found = marks(staff, there)
    assert len(found) == MOST_MARKS
    assert reverse("job", args=[first.key]) not in [mark["url"] for mark in found]


def test_members_see_their_own_changes_in_their_words(client: Client) -> None:
    there, foreign = scene(), scene()
    there.volume.customer = make.customer()
    there.volume.save()
    person = make.user()
    Member.objects.create(customer=there.volume.customer, user=person, role="viewer")
    plan = CachePlan.objects.create(name="Swift", size_bytes=2**31, price_minor=490, currency="EUR")
    end(job(there, kind="tag-volume"))
    end(job(there, origin=Origin.PORTAL, cache_plan=plan))
    job(there, kind="remove-cache", origin=Origin.PORTAL)
    client.force_login(person)
    found = marks(client, there)
    assert [(mark["label"], mark["url"], mark["key"]) for mark in found] == [
        ("Plan: Swift", "", ""),
        ("No cache", "", ""),
    ]
    assert [mark["outcome"] for mark in found] == ["done", "running"]
    assert found[1]["until"] is None
    url = reverse("volume-marks", args=[foreign.volume.key])
    assert client.get(url).status_code == 404


# --- Restarts ------------------------------------------------------------------------------------


def restarted(there: Scene, minutes_ago: float, kind: str = "boot", **fields: str) -> HostChange:
    at = timezone.now() - timedelta(minutes=minutes_ago)
    return HostChange.objects.create(host=there.host, at=at, kind=kind, **fields)


def lay(there: Scene, minutes_ago: float) -> None:
    since = timezone.now() - timedelta(minutes=minutes_ago)
    Placement.objects.filter(volume=there.volume).update(since=since)


def test_restarts_of_the_host_are_marks_among_the_jobs(staff: Client) -> None:
    there = scene()
    lay(there, 50)
    end(job(there))
    change = restarted(there, 30, "kernel", before="6.1", after="6.12")
    restarted(there, 20, "lvm", before="2.03.16", after="2.03.31")
    restarted(scene(), 10)
    expected = {
        "key": "",
        "at": change.at.isoformat(),
        "until": change.at.isoformat(),
        "label": f"{there.host}: new kernel",
        "state": "restart",
        "outcome": "6.1 \N{RIGHTWARDS ARROW} 6.12",
        "url": reverse("host-history", args=[there.host.key]),
    }
    assert marks(staff, there, range="1h")[0] == expected
    assert [each["label"] for each in marks(staff, there, range="1h")] == [
        expected["label"],
        "Add cache",
    ]
    of_host = staff.get(reverse("host-marks", args=[there.host.key]), {"range": "1h"}).json()[
        "marks"
    ]
    assert of_host[0] == expected and len(of_host) == 2


def test_a_restart_before_the_volume_lay_there_is_none_of_its_marks(staff: Client) -> None:
    there = scene()
    lay(there, 10)
    restarted(there, 30)
    assert marks(staff, there, range="1h") == []


def test_a_customer_sees_no_restart(client: Client) -> None:
    there = scene()
    there.volume.customer = make.customer()
    there.volume.save()
    person = make.user()
    Member.objects.create(customer=there.volume.customer, user=person, role="owner")
    lay(there, 50)
    restarted(there, 30)
    client.force_login(person)
    assert marks(client, there, range="1h") == []


# --- Alerts --------------------------------------------------------------------------------------


def alerted(there: Scene, minutes_ago: float, **fields: Any) -> Alert:
    at = timezone.now() - timedelta(minutes=minutes_ago)
    return Alert.objects.create(
        **{
            "fingerprint": f"{Alert.objects.count():032x}",
            "family": "host_silent",
            "severity": "error",
            "rank": 1,
            "worst_rank": 1,
            "host": there.host,
            "message": "The host is silent.",
            "first_seen_at": at,
            "present_since": at,
            "opened_at": at,
            **fields,
        }
    )


def test_alerts_are_marks_of_the_host_the_fleet_and_their_volume(staff: Client) -> None:
    there = scene()
    of_host = alerted(there, 20)
    of_volume = alerted(there, 10, volume=there.volume, resolved_at=timezone.now())
    alerted(there, 5, cause=of_host)
    alerted(there, 5, opened_at=None)
    alerted(there, 500)
    urls = [reverse("host-marks", args=[there.host.key]), reverse("fleet-marks")]
    for url in urls:
        found = staff.get(url, {"range": "1h"}).json()["marks"]
        assert [each["key"] for each in found] == [of_host.key, of_volume.key]
        assert [each["outcome"] for each in found] == ["open", "resolved"]
        assert found[0]["label"] == f"Alert: {there.host}: The host is silent"
        assert found[0]["url"] == reverse("alert", args=[of_host.key])
    assert [each["key"] for each in marks(staff, there, range="1h")] == [of_volume.key]


def test_customers_see_no_alerts_among_their_changes(client: Client) -> None:
    there = scene()
    there.volume.customer = make.customer()
    there.volume.save()
    person = make.user()
    Member.objects.create(customer=there.volume.customer, user=person, role="viewer")
    alerted(there, 10, volume=there.volume)
    client.force_login(person)
    assert marks(client, there, range="1h") == []


def test_the_fleet_marks_the_restarts_of_all_hosts(staff: Client) -> None:
    restarted(scene(), 20)
    found = staff.get(reverse("fleet-marks"), {"range": "1h"}).json()["marks"]
    assert [each["state"] for each in found] == ["restart"]
