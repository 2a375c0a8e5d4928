"""Charts of a host and of the fleet: the same part, fed by the loads of five minutes."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job
from panel.charts.chart_context import fleet_chart_context, host_chart_context
from panel.charts.definitions import load_panels, until_full
from panel.charts.subject import of_host
from storage import formatting
from storage.metrics import load_series
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.load_series import LOAD_UNITS
from storage.metrics.samples.host_load import bucket_of
from storage.metrics.samples.load_rollup import SUMS, add_up_fleet
from storage.metrics.series import Series
from storage.models import Device, DeviceSample, FleetLoad, HostLoad, Placement, Sample
from tests import make
from tests.scene import Scene, job, scene
from tests.storage import wire
from tests.storage.metrics.samples.rounds import take

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


@pytest.fixture
def there() -> Scene:
    """A host whose one volume read 200 blocks a second for ten minutes, until 40 minutes ago."""
    there = scene()
    start = timezone.now() - timedelta(minutes=50)
    Placement.objects.update(since=start)
    for n in range(11):
        disk = wire.disk(reads=12_000 * n, read_sectors=96_000 * n)
        take(there.host, 60 * n, wire.volume(there.lv.uuid, disk=disk), start=start)
    add_up_fleet()
    return there


def figures_of(there: Scene, kind: str) -> list[str]:
    return [reverse(f"host-{kind}", args=[there.host.key]), reverse(f"fleet-{kind}")]


def test_host_and_fleet_have_series_in_buckets_of_five_minutes(staff: Client, there: Scene) -> None:
    for url in figures_of(there, "series"):
        found = staff.get(url, {"range": "6h"}).json()
        assert (found["step_seconds"], found["points"]) == (300, 72)
        assert set(found["series"]) >= set(LOAD_UNITS)
        assert found["totals"]["read_iops"] == 200
        assert found["nearest"] is None


def test_a_short_time_of_a_host_or_the_fleet_is_shown_as_it_was_sampled(
    staff: Client, there: Scene
) -> None:
    for url in figures_of(there, "series"):
        for key, points in (("15m", 15), ("1h", 60)):
            found = staff.get(url, {"range": key}).json()
            assert (found["step_seconds"], found["points"]) == (60, points)
        assert found["totals"]["read_iops"] == 200


def test_a_fleet_with_too_many_volumes_keeps_its_five_minutes(
    staff: Client, there: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_series, "FINE_FLEET_SAMPLES", 20)
    fleet = staff.get(reverse("fleet-series"), {"range": "1h"}).json()
    assert fleet["step_seconds"] == 300


def test_hosts_that_are_not_sampled_at_one_moment_add_up_all_the_same(there: Scene) -> None:
    """A host whose sample comes a moment late has none in one minute and two in the next."""
    other, start = scene(), timezone.now() - timedelta(minutes=50)
    Placement.objects.update(since=start)
    for second in (0, 60, 121, 179, 240, 300):
        disk = wire.disk(reads=100 * second, read_sectors=800 * second)
        take(other.host, second, wire.volume(other.lv.uuid, disk=disk), start=start)
    series = load_series.fine_fleet_series(start, start + timedelta(minutes=5), 60)
    assert [round(value) for value in series.columns["read_iops"]] == [300] * 5


def test_a_minute_in_which_a_host_is_still_to_report_is_not_known_yet(there: Scene) -> None:
    other, start = scene(), timezone.now() - timedelta(minutes=50)
    Placement.objects.update(since=start)
    for second in (0, 60, 120, 180):
        disk = wire.disk(reads=100 * second, read_sectors=800 * second)
        take(other.host, second, wire.volume(other.lv.uuid, disk=disk), start=start)
    series = load_series.fine_fleet_series(start, start + timedelta(minutes=4), 60)
    known = [None if value != value else round(value) for value in series.columns["read_iops"]]
    assert known == [300, 300, 300, None]


def test_charts_begin_with_the_longest_range_that_the_figures_fill(
    staff: Client, there: Scene
) -> None:
    """They began 50 minutes ago."""
    for context in (
        host_chart_context(there.host, asked(staff)),
        fleet_chart_context(asked(staff)),
    ):
        charts: Any = context["charts"]
        assert charts["span"].key == "15m"


def asked(client: Client) -> Any:
    request = client.get(reverse("home")).wsgi_request
    request.GET = request.GET.copy()
    return request


def test_the_page_keeps_the_room_of_its_charts_and_one_menu_open_at_a_time(
    staff: Client, there: Scene
) -> None:
    url = reverse("host", args=[there.host.key])
    page = staff.get(url, {"charts": "all"}).content.decode()
    panels = page[page.index("data-charts-panels") - 60 :].partition("</section>")[0]
    assert " hidden" not in panels.partition(">")[0]
    folded = re.findall(r"<figure [^>]*>", panels)
    assert any("data-folded" in each for each in folded)
    assert page.count('name="charts-menu"') == 2
    assert '<details class="chart-jobs"' in page, "marks are folded below the charts"


def test_host_and_fleet_come_as_csv(staff: Client, there: Scene) -> None:
    for url in figures_of(there, "csv"):
        response = staff.get(url, {"range": "1h"})
        head, *rows = csv.reader(response.content.decode().splitlines())
        assert "ssd_free_bytes (B)" in head
        assert len(rows) == 60
        assert "200.0" in [row[1] for row in rows]


def test_a_time_without_figures_leads_to_the_last_ones(staff: Client, there: Scene) -> None:
    url = reverse("host-series", args=[there.host.key])
    ends = [timezone.now() - timedelta(minutes=m) for m in (12, 6)]
    asked = dict(zip(("from", "to"), (f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in ends), strict=True))
    nearest = staff.get(url, asked).json()["nearest"]
    assert nearest["is_before"] is True
    found = staff.get(f"{url}?{nearest['query']}").json()
    assert found["totals"]["read_iops"] == 200


def test_jobs_of_a_host_are_marked_with_their_volume(staff: Client, there: Scene) -> None:
    Job.objects.filter(pk=job(there).pk).update(started_at=timezone.now() - timedelta(minutes=30))
    marks = staff.get(reverse("host-marks", args=[there.host.key]), {"range": "1h"}).json()["marks"]
    assert [mark["label"].endswith(f": {there.volume}") for mark in marks] == [True]


def test_the_hit_rate_of_many_volumes_is_said_to_be_of_the_cached_ones(staff: Client) -> None:
    there = scene()
    start = timezone.now() - timedelta(minutes=20)
    for n in range(3):
        cache = wire.cache(read_hits=900 * n, read_misses=100 * n)
        disk = wire.disk(reads=1000 * n)
        take(there.host, 60 * n, wire.volume(there.lv.uuid, disk=disk, cache=cache), start=start)
    add_up_fleet()
    for url in figures_of(there, "series"):
        summary = staff.get(url, {"range": "1h"}).json()["summary"]
        assert "90 % of reads on cached volumes came from SSD." in summary


@pytest.mark.parametrize(
    ("timed", "words"),
    [(300, "Percentiles cover 30 % of I/O (not available for bcache)"), (1000, "")],
)
def test_percentiles_that_leave_volumes_out_are_said_to(
    staff: Client, timed: int, words: str
) -> None:
    there = scene()
    buckets = [0, timed, *[0] * (len(LATENCY_BOUNDS_NS) - 1)]
    load = dict.fromkeys(SUMS, 0) | {"reads": 600, "writes": 400, "dt_ms": 300_000}
    at = bucket_of(timezone.now() - timedelta(minutes=20))
    HostLoad.objects.create(host=there.host, bucket=at, latency_counts=buckets, **load)
    summary = staff.get(figures_of(there, "series")[0], {"range": "6h"}).json()["summary"]
    assert words in summary
    assert ("bcache" in summary) is bool(words)


def test_space_on_ssd_over_time_is_said_to_be_of_the_hosts_that_answer() -> None:
    request = RequestFactory().get("/", {"range": "1h"})
    request.user = make.staff_user()
    titles = [panel.title for panel in fleet_chart_context(request)["charts"]["panels"]]  # type: ignore[index]
    assert "SSD space (reachable hosts)" in titles


def test_the_part_draws_a_host_and_the_fleet(there: Scene) -> None:
    request = RequestFactory().get("/", {"range": "1h"})
    request.user = make.staff_user()
    contexts = (host_chart_context(there.host, request), fleet_chart_context(request))
    for context in contexts:
        text = render_to_string("parts/_charts.html", context)
        assert "200 reads and 0 writes per second" in text
        assert "&quot;space&quot;" in text
        assert 'data-range-key="15m"' in text
    assert 'data-marks-url="/fleet/marks"' in text
    folded = [panel.name for panel in load_panels() if panel.is_folded]
    assert folded == ["throughput", "churn"]
    assert text.count("&quot;is_folded&quot;: true") == len(folded)


def test_latencies_come_as_histograms_with_their_bounds(staff: Client) -> None:
    there = scene()
    counts = [0, 300, 0, 100, *[0] * (len(LATENCY_BOUNDS_NS) - 3)]
    load = dict.fromkeys(SUMS, 0) | {"reads": 300, "writes": 100, "dt_ms": 300_000}
    at = bucket_of(timezone.now() - timedelta(minutes=20))
    HostLoad.objects.create(host=there.host, bucket=at, latency_counts=counts, **load)
    url = reverse("host-series", args=[there.host.key])
    heat = staff.get(url, {"range": "6h"}).json()["heat"]
    assert heat["bounds_ms"][:4] == [0.1, 0.2, 0.5, 1]
    by_bucket = heat["counts"]["latencies"]
    assert [each for each in by_bucket if each is not None] == [counts]
    assert len(by_bucket) == 72


def test_the_table_has_the_latencies_as_shares(staff: Client) -> None:
    there = scene()
    counts = [0, 300, 0, 100, *[0] * (len(LATENCY_BOUNDS_NS) - 3)]
    load = dict.fromkeys(SUMS, 0) | {"reads": 300, "writes": 100, "dt_ms": 300_000}
    at = bucket_of(timezone.now() - timedelta(minutes=20))
    HostLoad.objects.create(host=there.host, bucket=at, latency_counts=counts, **load)
    request = RequestFactory().get("/", {"range": "6h", "table": "1"})
    request.user = make.staff_user()
    text = render_to_string("parts/_charts.html", host_chart_context(there.host, request))
    assert "How long I/O took, in shares of it" in text
    assert f"≤ {formatting.ms(0.2)}" in text
    assert re.search(r">75 %</td>.*>25 %</td>", text, re.DOTALL)


def spaces(*used: float | None, days: float = 1) -> Series:
    """Of 1,000 bytes, so many were used at the end of each bucket."""
    start = timezone.now()
    return Series(
        start=start,
        end=start + timedelta(days=days * len(used)),
        step_seconds=int(86_400 * days),
        columns=make.columns(
            [
                {"ssd_used_bytes": each, "ssd_free_bytes": None if each is None else 1000 - each}
                for each in used
            ]
        ),
        totals={},
        seconds=1,
    )


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (spaces(100, 120, None, 140, 150, 160, 170, 190), "full in 63 days."),
        (spaces(100, 200, days=0.5), ""),
        (spaces(200, *[None] * 6, 100), ""),
        (spaces(0, *[None] * 9, 0.01), ""),
        (spaces(*[None] * 9), ""),
    ],
)
def test_the_pace_of_a_time_tells_when_the_ssds_are_full(measured: Series, words: str) -> None:
    answered = until_full(measured)
    assert answered.endswith(words)
    assert bool(answered) is bool(words)


def test_the_fleet_tells_how_many_reads_and_writes_wait(staff: Client) -> None:
    load = dict.fromkeys(SUMS, 0) | {"dt_ms": 300_000, "reads": 600, "read_ms": 450_000}
    at = bucket_of(timezone.now() - timedelta(minutes=20))
    FleetLoad.objects.create(bucket=at, latency_counts=[0] * (len(LATENCY_BOUNDS_NS) + 1), **load)
    waits = staff.get(reverse("fleet-series"), {"range": "6h"}).json()["series"]["in_flight"]
    assert [each for each in waits if each is not None] == [1.5]


def test_the_fleet_tells_how_busy_its_disks_are(staff: Client) -> None:
    at = bucket_of(timezone.now() - timedelta(minutes=20))
    disk = Device.objects.create(
        host=make.host(), kind="disk", identity="sdc", name="sdc", size_bytes=1, is_fast=False,
        vg_name="vg0",
    )  # fmt: skip
    counted = ("reads", "writes", "read_sectors", "write_sectors", "read_ms", "write_ms")
    zero = dict.fromkeys((*counted, "weighted_ms"), 0)
    DeviceSample.objects.create(
        device=disk, ts=at + timedelta(minutes=1), dt_ms=60_000, busy_ms=45_000, **zero
    )
    shown = staff.get(reverse("fleet-series"), {"range": "1h"}).json()
    busy, known = (
        shown["series"],
        {name for name, unit in shown["units"].items() if unit == "ratio"},
    )
    assert [each for each in busy["hdd_busy"] if each is not None] == [0.75]
    assert [each for each in busy["hdd_busy_most"] if each is not None] == [0.75]
    assert {"hdd_busy", "hdd_busy_most", "ssd_busy", "ssd_busy_most"} <= known
    assert not [each for each in busy["ssd_busy"] if each is not None]


def test_a_disk_of_an_array_has_charts_of_its_own_beside_those_who_use_the_array(
    staff: Client,
) -> None:
    array = make.array(name="md1")
    disks = [replace(array.members[0], name=name) for name in ("sda", "sdb")]
    there = scene(
        make.lv(pvs=("md1",)),
        pvs=(make.pv("md1"),),
        arrays=(replace(array, members=tuple(disks)),),
    )
    at = bucket_of(timezone.now() - timedelta(minutes=20)) + timedelta(minutes=1)
    nothing = dict.fromkeys(("reads", "writes", "read_sectors", "write_sectors", "write_ms"), 0)
    Sample.objects.create(
        volume=there.volume, ts=at, dt_ms=60_000, read_ms=30_000, technology=0, **nothing
    )
    for name, busy_ms in (("md1", 30_000), ("sda", 12_000), ("sdb", 45_000)):
        disk = Device.objects.create(
            host=there.host, kind="disk", identity=name, name=name, size_bytes=1, is_fast=False
        )
        DeviceSample.objects.create(
            device=disk,
            ts=at,
            dt_ms=60_000,
            busy_ms=busy_ms,
            read_ms=60_000,
            weighted_ms=0,
            **nothing,
        )
    query = {"range": "1h", "disk": "sdb"}
    answer = staff.get(reverse("host-series", args=[there.host.key]), query).json()
    answered = {name: set(values) - {None} for name, values in answer["series"].items()}
    assert (answered["busy_md1"], answered["busy_sdb"]) == ({0.5}, {0.75})
    assert (answered["volume_1_in_flight"], answered["unexplained_in_flight"]) == ({0.5}, {0.5})
    assert answer["labels"]["volume_1_in_flight"] == str(there.volume)
    page = staff.get(reverse("host", args=[there.host.key]), query).content.decode()
    assert "md1 by volume" in page and "sdb: IOPS and latency" in page
    assert re.findall(r'#charts"(?: aria-current="true")?>(md1|sd\w)</a>', page) == [
        "md1",
        "sda",
        "sdb",
    ]


def test_the_chosen_disk_of_a_host_has_charts_of_its_own(staff: Client) -> None:
    there = scene()
    at = bucket_of(timezone.now() - timedelta(minutes=20)) + timedelta(minutes=1)
    names = [line.name for line in of_host(there.host).panels[1].lines]
    zero = dict.fromkeys(("write_sectors", "write_ms", "busy_ms"), 0)
    for busy_name in names:
        name = busy_name.removeprefix("busy_")
        disk = Device.objects.create(
            host=there.host, kind="disk", identity=name, name=name, size_bytes=1, is_fast=False
        )
        DeviceSample.objects.create(
            device=disk, ts=at, dt_ms=60_000, reads=600, writes=0, read_sectors=4800,
            read_ms=1200, weighted_ms=6000, **zero,
        )  # fmt: skip
    name = names[-1].removeprefix("busy_")
    url = reverse("host-series", args=[there.host.key])
    series = staff.get(url, {"range": "1h", "disk": name}).json()["series"]
    for figure, value in (("read_iops", 10), ("read_ms", 2), ("queue", 0.1)):
        assert [each for each in series[f"disk_{figure}"] if each is not None] == [value]
    chart = staff.get(
        reverse("host-csv", args=[there.host.key]),
        {"range": "1h", "disk": name, "panel": "disk_operations"},
    ).content.decode()
    assert "disk_read_iops (1/s)" in chart
    page = reverse("host", args=[there.host.key])
    assert f"{name}: IOPS and latency" in staff.get(page, {"disk": name}).content.decode()
    assert ": IOPS and latency" not in staff.get(page).content.decode()
