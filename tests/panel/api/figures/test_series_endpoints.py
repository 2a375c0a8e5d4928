"""What the charts of volumes, hosts and the fleet show, for programs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from storage.metrics.load_series import LOAD_UNITS
from storage.metrics.samples.load_rollup import add_up_fleet
from tests import make
from tests.panel.api.asking import V1, Program, member, own, problem, staff
from tests.panel.charts.test_chart_context import with_legs
from tests.scene import Scene, scene
from tests.storage import wire
from tests.storage.analysis.test_disk_activity import counted, device
from tests.storage.metrics.samples.rounds import take

pytestmark = pytest.mark.django_db


@pytest.fixture
def asking() -> Program:
    return staff("operator")


@pytest.fixture
def busy() -> Scene:
    """A host whose one volume read 200 blocks a second for ten minutes, from a disk that was busy
    for half of the time."""
    there = scene()
    start = timezone.now() - timedelta(minutes=50)
    for n in range(11):
        disk = wire.disk(reads=12_000 * n, read_sectors=96_000 * n, read_ms=30_000 * n)
        take(there.host, 60 * n, wire.volume(there.lv.uuid, disk=disk), start=start)
    of = device(there.host, "sdc")
    for n in range(1, 10):
        counted(of, start + timedelta(minutes=n), 60_000, 30_000)
    add_up_fleet()
    return there


def test_a_host_has_the_columns_of_its_charts(asking: Program, busy: Scene) -> None:
    path = f"/hosts/{busy.host.key}/series"
    shown = asking.get(path).json()
    assert set(LOAD_UNITS) < set(shown["series"]) == set(shown["units"])
    assert all(len(column) == shown["points"] for column in shown["series"].values())
    assert shown["totals"]["read_iops"] == 200
    assert {0.5} == set(shown["series"]["busy_sdc"]) - {None}
    assert shown["disk"] in shown["disks"]
    assert shown["labels"]["volume_1_in_flight"] == str(busy.volume)


def test_the_figures_of_a_host_are_those_of_its_page(asking: Program, busy: Scene) -> None:
    browser = Client()
    browser.force_login(asking.user)
    drawn = browser.get(reverse("host-series", args=[busy.host.key]), {"range": "1h"}).json()
    shown = asking.get(f"/hosts/{busy.host.key}/series", names="read_iops,busy_sdc").json()
    assert list(shown["series"]) == ["read_iops", "busy_sdc"]
    for name in ("read_iops", "busy_sdc"):
        assert shown["totals"][name] == drawn["totals"][name]


def test_the_columns_of_a_disk_are_chosen_by_its_name(asking: Program, busy: Scene) -> None:
    path = f"/hosts/{busy.host.key}/series"
    shown = asking.get(path, disk="sdc", names="disk_read_iops").json()
    assert shown["disk"] == "sdc"
    refused = problem(asking.get(path, disk="sdz"), 400, "invalid_parameter")
    assert "sdc" in refused["errors"][0]["message"]
    problem(asking.get(path, names="disk_colour"), 400, "invalid_parameter")


def test_all_hosts_together_have_the_columns_of_the_overview(asking: Program, busy: Scene) -> None:
    shown = asking.get("/fleet/series").json()
    assert {"read_iops", "in_flight", "hdd_busy_most"} <= set(shown["series"])
    assert shown["totals"]["read_iops"] == 200
    assert (shown["disks"], shown["disk"]) == ([], "")
    text = (
        Client()
        .get(f"{V1}/fleet/series?names=read_iops", headers=asking.headers(Accept="text/csv"))
        .content.decode()
    )
    assert text.splitlines()[0] == "at,read_iops"
    assert len(text.splitlines()) == shown["points"] + 1


def test_histograms_and_bands_come_where_they_are_asked_for(asking: Program) -> None:
    there = with_legs(timedelta(minutes=5))
    path = f"/volumes/{there.volume.key}/series"
    plain = asking.get(path).json()
    assert {"histograms", "bands"} & set(plain) == set()
    assert "hdd_leg_p95_ms" not in plain["series"]
    shown = asking.get(path, include=["histograms", "bands"]).json()
    counts = shown["histograms"]["counts"]
    assert [sum(each) for each in counts["hdd_leg"] if each is not None] == [300]
    assert len(counts["ssd_leg"]) == shown["points"]
    assert len(shown["histograms"]["bounds_ms"]) + 1 == len(
        next(each for each in counts["ssd_leg"] if each is not None)
    )
    assert all(len(each) == shown["points"] for each in shown["bands"]["most"].values())


def test_the_percentiles_of_the_legs_are_columns(asking: Program) -> None:
    there = with_legs(timedelta(minutes=5))
    path = f"/volumes/{there.volume.key}/series"
    shown = asking.get(path, names="hdd_leg_p95_ms,read_iops").json()
    assert list(shown["series"]) == ["hdd_leg_p95_ms", "read_iops"]
    assert 10 < shown["totals"]["hdd_leg_p95_ms"] < 20


def test_a_customer_sees_no_leg_and_no_histogram() -> None:
    customer = make.customer()
    there = scene()
    own(there, customer)
    path, program = f"/volumes/{there.volume.key}/series", member(customer)
    problem(program.get(path, include="histograms"), 400, "invalid_parameter")
    problem(program.get(path, names="hdd_leg_p95_ms"), 400, "invalid_parameter")
    assert not [name for name in program.get(path).json()["series"] if "leg" in name]


@pytest.mark.parametrize("points", [-1, 0, 2001, "many"])
def test_one_message_says_what_points_may_be(asking: Program, points: object) -> None:
    answer = asking.get(f"/volumes/{scene().volume.key}/series", points=points)
    refused = problem(answer, 400, "invalid_parameter")
    assert refused["errors"][0]["message"] == "A whole number from 1 to 2000."


def test_a_range_that_cannot_be_names_its_beginning(asking: Program) -> None:
    times = {"from": "2026-11-21T08:00:00Z", "to": "2026-11-21T07:00:00Z"}
    answer = asking.get(f"/volumes/{scene().volume.key}/series", **times)
    assert problem(answer, 400, "invalid_parameter")["errors"][0]["parameter"] == "from"
