"""The four figures of a screen: what is not known is never shown as if all were well."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from panel.models import KioskLink
from panel.staff.dashboard.heat_map import LAST_DAY, LATENCY
from panel.staff.kiosk.screen import Screen, ScreenFigure, screen_of
from tests import make
from tests.panel.deliveries.alerts.alert_messages import alert
from tests.panel.staff.kiosk.screens import ago, load, loaded_host
from tests.scene import scene

pytestmark = pytest.mark.django_db


def screen(**link: object) -> Screen:
    return screen_of(KioskLink(name="Office", **link), LATENCY, LAST_DAY, timezone.now())


def figures(**link: object) -> dict[str, ScreenFigure]:
    return {figure.title: figure for figure in screen(**link).figures}


def test_operations_are_those_of_the_hosts_that_report() -> None:
    loaded_host(last_seen_at=timezone.now())
    silent = loaded_host()
    assert figures()["IOPS"] == ScreenFigure("IOPS", "30", "20 read, 10 write")
    type(silent.activity).objects.filter(host=silent).update(at=ago(hours=1))
    shown = figures()["IOPS"]
    assert (shown.value, shown.tone) == ("15", "warning")
    assert shown.note.endswith("1 of 2 hosts report")


def test_nothing_is_known_of_a_fleet_that_is_silent() -> None:
    host = loaded_host(hours=0)
    type(host.activity).objects.update(at=ago(hours=1))
    shown = figures()
    assert [shown[name].value for name in ("IOPS", "From SSD", "Slowest reads")] == ["-"] * 3


def test_reads_from_ssd_are_those_of_the_last_hour() -> None:
    host = make.host()
    load(host, timezone.now(), reads=4000, read_hits=3000, read_misses=1000)
    load(host, ago(hours=3), reads=4000, read_hits=0, read_misses=4000)
    assert figures()["From SSD"].value == "75 %"


def test_the_slowest_volume_is_found_and_the_slow_ones_are_counted() -> None:
    first, second = scene(label="first"), scene(label="second")
    make.activity(first.host, top_read_ms=[[first.volume.pk, 21.0]])
    make.activity(second.host, top_read_ms=[[second.volume.pk, 44.0]])
    for there in (first, second):
        make.slow(there.volume, there.host)
    shown = figures()["Slowest reads"]
    assert (shown.value, shown.tone) == ("44.0 ms", "warning")
    assert shown.note == f"{second.host}; 2 slow volumes"
    assert figures(shows_names=True)["Slowest reads"].note.startswith("second on ")


def test_hosts_with_a_slow_volume_are_marked_on_the_map() -> None:
    slow, _ = loaded_host(name="slow"), loaded_host(name="well")
    make.slow(make.volume(), slow)
    assert screen().slow_keys == {slow.key}


def test_no_slow_volume_is_said_of_the_hosts_that_report_alone() -> None:
    there = scene()
    make.activity(there.host, top_read_ms=[[there.volume.pk, 2.0]])
    assert figures()["Slowest reads"].note.endswith("no slow volumes")
    make.host()
    assert figures()["Slowest reads"].note.endswith("no slow volumes (1 of 2 hosts report)")


def test_the_first_look_is_for_a_host_whose_alerts_are_not_all_acknowledged() -> None:
    day_ago = timezone.now() - timedelta(days=1)
    known, new = (
        make.host(name="a", last_seen_at=day_ago),
        make.host(name="b", last_seen_at=day_ago),
    )
    assert figures()["Open problems"].note.endswith("first look: a")
    alert(known, acknowledged_at=timezone.now())
    assert figures()["Open problems"].note.endswith(f"first look: {new}")
    alert(known, rank=1)
    alert(new, rank=2)
    assert figures()["Open problems"].note.endswith(f"first look: {known}")


def test_problems_are_counted_of_the_hosts_that_are_shown() -> None:
    bad = make.host(name="bad", site="Amsterdam", last_seen_at=timezone.now() - timedelta(days=1))
    loaded_host(site="Helsinki 1", last_seen_at=timezone.now())
    shown = figures(site="Amsterdam")["Open problems"]
    assert shown.value == "1" and shown.tone == "error" and shown.note.endswith(str(bad))
    assert figures(site="Helsinki 1")["Open problems"].value == "0"
