"""A volume's page with charts, and the figures they fetch."""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime, timedelta

import pytest
from django.conf import LazySettings
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from panel.charts import definitions, subject, time_range
from panel.charts.chart_context import chart_context
from storage.metrics.counters import LATENCY_BOUNDS_NS
from storage.metrics.rates.figures import NO_LATENCY
from storage.metrics.samples import chunk_store
from storage.metrics.samples.chunk_store import VOLUMES
from storage.metrics.samples.packer import pack_samples
from storage.metrics.samples.sample_round import make_partition
from storage.metrics.series import INSIDE_UNITS, LEG_UNITS, UNITS
from storage.models import Member, Resolution, Sample, SampleChunk, Volume
from tests import make
from tests.one_line import on_one_line
from tests.scene import Scene, scene
from tests.storage import wire
from tests.storage.metrics.samples.rounds import take

pytestmark = pytest.mark.django_db
RANGES = {
    "15m": 900, "1h": 3600, "6h": 21_600, "24h": 86_400, "7d": 7 * 86_400, "30d": 30 * 86_400,
    "90d": 90 * 86_400, "1y": 365 * 86_400,
}  # fmt: skip


@pytest.fixture(autouse=True)
def ten_seconds(settings: LazySettings) -> None:
    settings.TIERCEL_SAMPLE_SECONDS = 10


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def sampled(*, cached: bool = True, age: timedelta = timedelta(seconds=70)) -> Scene:
    """A volume whose guest reads 200 blocks a second; nine of ten reads hit the cache."""
    there = scene()
    for n in range(7):
        disk = wire.disk(reads=2000 * n, read_sectors=16_000 * n, read_ms=1000 * n)
        cache = wire.cache(read_hits=1800 * n, read_misses=200 * n, used=64)
        volume = wire.volume(there.lv.uuid, disk=disk, cache=cache if cached else None)
        take(there.host, 10 * n, volume, start=timezone.now() - age)
    return there


def chart_ranges(text: str) -> str:
    return text.partition('aria-label="Period"')[2].partition("</nav>")[0]


def page(client: Client, volume: Volume, **query: str) -> str:
    response = client.get(reverse("volume", args=[volume.key]), query)
    assert response.status_code == 200
    return on_one_line(response.content.decode())


def test_the_script_shows_as_long_a_time_as_the_page(staff: Client) -> None:
    longest = round(time_range.LONGEST.total_seconds())
    assert f'data-longest-seconds="{longest}"' in page(staff, sampled().volume)


@pytest.mark.parametrize(("key", "seconds"), RANGES.items())
def test_the_range_in_the_url_is_the_time_that_the_figures_cover(
    staff: Client, key: str, seconds: int
) -> None:
    there = sampled()
    response = staff.get(reverse("volume-series", args=[there.volume.key]), {"range": key})
    found = response.json()
    assert found["step_seconds"] * found["points"] == seconds
    assert set(found["series"]) == {*UNITS, *INSIDE_UNITS}
    assert {len(column) for column in found["series"].values()} == {found["points"]}
    assert found["totals"]["read_iops"] == 200
    assert response["Cache-Control"] == "private, no-store"


def test_staff_see_what_goes_by_a_cache_and_how_full_its_metadata_is(staff: Client) -> None:
    there, at = scene(), timezone.now() - timedelta(minutes=5)
    figures = dict.fromkeys(("writes", "read_sectors", "write_sectors", "read_ms", "write_ms"), 0)
    counted = {"counted_hits": 50, "counted_misses": 10, "bypass_hits": 5, "bypass_misses": 15}
    metadata = {"metadata_used_bytes": 2**20, "metadata_total_bytes": 2**23}
    make_partition(at.date())
    Sample.objects.create(
        volume=there.volume, ts=at, dt_ms=10_000, reads=80, technology=2, cache_size_bytes=2**30,
        **figures, **counted, **metadata,
    )  # fmt: skip
    url = reverse("volume-series", args=[there.volume.key])
    found = staff.get(url, {"range": "15m"}).json()["series"]
    assert {each for each in found["bypass_share"] if each is not None} == {0.25}
    assert {each for each in found["metadata_share"] if each is not None} == {0.125}


def test_staff_see_flushes_discards_and_how_long_io_was_suspended(staff: Client) -> None:
    there, now = scene(), timezone.now()
    figures = dict.fromkeys(("writes", "read_sectors", "write_sectors", "read_ms", "write_ms"), 0)
    make_partition(now.date())
    make_partition((now - timedelta(minutes=6)).date())
    for minutes, flushes, suspended_ms in ((5, 30, 0), (4, 10, 5000)):
        Sample.objects.create(
            volume=there.volume, ts=now - timedelta(minutes=minutes), dt_ms=10_000, reads=80,
            technology=0, flushes=flushes, flush_ms=2 * flushes, discards=5,
            suspended_ms=suspended_ms, **figures,
        )  # fmt: skip
    url = reverse("volume-series", args=[there.volume.key])
    answer = staff.get(url, {"range": "15m"}).json()
    known = [each for each in answer["series"]["flushes_per_s"] if each is not None]
    assert known == [3, 1]
    totals = answer["totals"]
    assert (totals["flushes_per_s"], totals["flush_ms"], totals["discards_per_s"]) == (2, 2, 0.5)
    assert totals["suspended_share"] == 0.25
    chart = staff.get(
        reverse("volume-csv", args=[there.volume.key]), {"range": "15m", "panel": "rare"}
    ).content.decode()
    assert "flushes_per_s (1/s)" in chart and "suspended_share (ratio)" in chart
    text = page(staff, there.volume)
    assert "Flushes, discards and suspensions" in text


def with_legs(age: timedelta) -> Scene:
    """A bcache volume with an interval that ended so long ago: on its HDD a third of the I/O took
    up to 20 ms, on its SSD all up to 0.2 ms."""
    there, at = scene(), timezone.now() - age
    figures = dict.fromkeys(("writes", "read_sectors", "write_sectors", "read_ms", "write_ms"), 0)
    slow, fast = list(NO_LATENCY), list(NO_LATENCY)
    slow[LATENCY_BOUNDS_NS.index(10_000_000)], slow[LATENCY_BOUNDS_NS.index(20_000_000)] = 200, 100
    fast[LATENCY_BOUNDS_NS.index(200_000)] = 900
    make_partition(at.date())
    Sample.objects.create(
        volume=there.volume, ts=at, dt_ms=10_000, reads=80, technology=2, cache_size_bytes=2**30,
        slow_latency_counts=slow, fast_latency_counts=fast, **figures,
    )  # fmt: skip
    return there


def test_the_legs_of_a_cache_have_percentiles_and_a_map_where_they_are_asked_for(
    staff: Client,
) -> None:
    there = with_legs(timedelta(minutes=5))
    url = reverse("volume-series", args=[there.volume.key])
    answer = staff.get(url, {"range": "15m", "apart": "1"}).json()
    assert 10 < answer["totals"]["hdd_leg_p95_ms"] < 20
    assert answer["totals"]["ssd_leg_p50_ms"] < 0.2
    assert answer["series"]["hdd_leg_p95_ms"].count(None) == answer["points"] - 1
    mapped = [each for each in answer["heat"]["counts"]["hdd_leg"] if each is not None]
    assert [sum(each) for each in mapped] == [300]
    assert len(answer["heat"]["counts"]["ssd_leg"]) == answer["points"]
    assert "hdd_leg_p95_ms" not in staff.get(url, {"range": "15m"}).json()["series"]


def test_what_is_not_kept_of_legs_or_too_long_is_unknown_and_the_chart_says_so(
    staff: Client,
) -> None:
    there = with_legs(timedelta(minutes=5))
    url = reverse("volume-series", args=[there.volume.key])
    for key in ("30d", "1y"):
        answer = staff.get(url, {"range": key, "apart": "1"}).json()
        assert set(answer["series"]["hdd_leg_p95_ms"]) == {None}
        assert "hdd_leg" not in answer["heat"]["counts"]
    text = page(staff, there.volume)
    assert "HDD latency (misses)" in text
    assert "Up to 7 days at a time; kept for 30 days." in text


def test_the_legs_are_in_the_csv_of_their_chart(staff: Client) -> None:
    there = with_legs(timedelta(minutes=5))
    url = reverse("volume-csv", args=[there.volume.key])
    text = on_one_line(staff.get(url, {"range": "15m", "panel": "ssd_leg"}).content.decode())
    head, *rows = csv.reader(text.lstrip("\ufeff").splitlines())
    assert [each.partition(" ")[0] for each in head[1:]] == [
        "ssd_leg_p50_ms",
        "ssd_leg_p95_ms",
        "ssd_leg_p99_ms",
    ]
    assert any(cell for row in rows for cell in row[1:])


@pytest.mark.parametrize(
    ("panel", "are_read"),
    [("operations", False), ("hdd_leg", True), ("", True), ("unknown", True)],
)
def test_a_csv_reads_the_legs_only_where_it_lists_them(
    staff: Client, monkeypatch: pytest.MonkeyPatch, panel: str, are_read: bool
) -> None:
    there, read = with_legs(timedelta(minutes=5)), []
    legs = subject.with_legs
    monkeypatch.setattr(subject, "with_legs", lambda *args: read.append(args) or legs(*args))
    url = reverse("volume-csv", args=[there.volume.key])
    assert staff.get(url, {"range": "15m", "panel": panel}).status_code == 200
    assert bool(read) == are_read


def test_a_customer_gets_no_legs(client: Client) -> None:
    there, user = with_legs(timedelta(minutes=5)), make.user()
    there.volume.customer = make.customer("Acme")
    there.volume.save()
    Member.objects.create(customer=there.volume.customer, user=user, role="owner")
    client.force_login(user)
    url = reverse("volume-series", args=[there.volume.key])
    assert not [name for name in client.get(url, {"apart": "1"}).json()["series"] if "leg" in name]


@pytest.mark.parametrize(("key", "resolution"), [("30d", "HOUR"), ("1y", "DAY")])
def test_a_chart_of_a_long_time_reads_each_long_chunk_once_and_no_other(
    staff: Client, monkeypatch: pytest.MonkeyPatch, key: str, resolution: str
) -> None:
    there, midnight = scene(), timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    figures = dict.fromkeys(("writes", "read_sectors", "write_sectors", "read_ms", "write_ms"), 0)
    for n in range(5):
        make_partition((midnight - timedelta(days=n)).date())
    Sample.objects.bulk_create(
        Sample(volume=there.volume, ts=midnight - n * timedelta(minutes=30), dt_ms=1_800_000,
               reads=90, technology=0, **figures)
        for n in range(1, 144)
    )  # fmt: skip
    while not pack_samples(VOLUMES, midnight + timedelta(hours=4)).is_done:
        pass
    read = []
    from_chunk = chunk_store.from_chunk
    monkeypatch.setattr(
        chunk_store, "from_chunk", lambda *args: read.append(args[1:3]) or from_chunk(*args)
    )
    url = reverse("volume-series", args=[there.volume.key])
    assert staff.get(url, {"range": key}).json()["totals"]["read_iops"] == 0.05
    stored = SampleChunk.objects.filter(resolution=Resolution[resolution])
    assert sorted(read) == sorted((Resolution[resolution], each.start) for each in stored)


def test_buckets_keep_their_borders_between_requests(staff: Client) -> None:
    there = sampled()
    for key in RANGES:
        url = reverse("volume-series", args=[there.volume.key])
        found = staff.get(url, {"range": key}).json()
        start = datetime.fromisoformat(found["t0"])
        assert start.timestamp() % found["step_seconds"] == 0


@pytest.mark.parametrize(("known", "shown"), [(timedelta(hours=2), 3600), (timedelta(0), 900)])
def test_an_unknown_range_is_an_hour_or_what_a_new_volume_fills(
    staff: Client, known: timedelta, shown: int
) -> None:
    volume = sampled().volume
    Volume.objects.filter(pk=volume.pk).update(created_at=timezone.now() - known)
    url = reverse("volume-series", args=[volume.key])
    found = staff.get(url, {"range": "<script>"}).json()
    assert found["step_seconds"] * found["points"] == shown


def test_the_page_marks_the_range_that_it_shows(staff: Client) -> None:
    text = page(staff, sampled().volume, range="6h")
    assert 'href="?range=6h#charts" data-range-key="6h" aria-current="true">' in text
    assert text.count("btn-sm active") == 1


def test_a_part_of_the_past_is_named_by_its_ends(staff: Client) -> None:
    there = sampled(age=timedelta(hours=3))
    start, end = (timezone.now() - timedelta(hours=h) for h in (3.1, 2.9))
    ends = {"from": start.isoformat(), "to": end.isoformat(), "range": "6h"}
    found = staff.get(reverse("volume-series", args=[there.volume.key]), ends).json()
    assert found["totals"]["read_iops"] == 200
    assert found["step_seconds"] == 10
    text = page(staff, there.volume, **ends)
    assert 'aria-current="true">' not in chart_ranges(text)
    assert re.search(r"12\s+min until [^:]+:[\d:]+ UTC: 200 reads", text)
    assert 'data-from="' in text


def test_another_range_keeps_the_job_that_is_compared(staff: Client) -> None:
    text = page(staff, sampled().volume, range="6h", compare="x", **{"from": "a", "to": "b"})
    assert 'href="?range=1h&amp;compare=x#charts"' in text


def test_the_figures_come_as_a_table_for_spreadsheets(staff: Client) -> None:
    there = sampled()
    url = reverse("volume-csv", args=[there.volume.key])
    response = staff.get(url, {"range": "15m"})
    assert response["Content-Type"].startswith("text/csv")
    assert f'filename="volume-{there.volume.key}-' in response["Content-Disposition"]
    head, *rows = csv.reader(response.content.decode().splitlines())
    assert head[:2] == ["until (UTC)", "read_iops (1/s)"]
    assert len(head) == 1 + len(UNITS) + len(INSIDE_UNITS) + len(LEG_UNITS)
    column = [row[1] for row in rows]
    assert set(column) == {"200.0", ""}
    assert f'href="{url}?range=15m"' in page(staff, there.volume, range="15m")


def test_a_hit_rate_of_few_accesses_is_apart_from_the_others(staff: Client) -> None:
    there = scene()
    for n, (hits, misses) in enumerate(((0, 0), (900, 100), (930, 120), (930, 120))):
        cache = wire.cache(read_hits=hits, read_misses=misses)
        disk = wire.disk(reads=hits + misses)
        take(
            there.host, 10 * n, wire.volume(there.lv.uuid, disk=disk, cache=cache),
            start=timezone.now() - timedelta(seconds=40),
        )  # fmt: skip
    found = staff.get(reverse("volume-series", args=[there.volume.key])).json()
    values, faint = found["series"]["hit_rate"], found["faint"]["hit_rate"]
    assert set(values) == {None, 0.9}
    assert set(faint) == {None, 0.6}
    assert all(one is None or other is None for one, other in zip(values, faint, strict=True))


def test_the_page_says_in_words_and_numbers_what_the_charts_draw(staff: Client) -> None:
    volume = sampled().volume
    text = page(staff, volume)
    assert "200 reads and 0 writes per second on average." in text
    assert "Average read latency 0.50\N{NO-BREAK SPACE}ms." in text
    assert (
        "90\N{NO-BREAK SPACE}% of reads came from SSD. Based on 1\N{NO-BREAK SPACE}min of data."
        in text
    )
    assert 'hx-get="?table=1"' in text
    text = page(staff, volume, table="1")
    assert '<td class="num text-end">90\xa0%</td>' in text
    assert '<td class="num text-end">800\xa0KiB/s</td>' in text
    assert '<td class="num text-end">4\xa0MiB</td>' in text


def within(text: str) -> str:
    """The figures that a page brings with it, as its script finds them."""
    return text.partition('id="charts-answer">')[2].partition("</script>")[0]


def test_the_figures_that_a_page_brings_are_those_of_its_series(staff: Client) -> None:
    volume, other = sampled().volume, sampled(cached=False).volume
    Volume.objects.filter(pk=other.pk).update(label="</script><b>ends it")
    ends = [timezone.now() - timedelta(minutes=n) for n in (15, 0)]
    query = dict(zip(("from", "to"), (f"{each:%Y-%m-%dT%H:%M:%SZ}" for each in ends), strict=True))
    query |= {"over": "volume", "with": other.key}
    found = within(page(staff, volume, **query))
    assert "<" not in found
    answer = json.loads(found)
    assert answer == staff.get(reverse("volume-series", args=[volume.key]), query).json()
    assert answer["over"]["short"] == "</script><b>ends it"


def test_a_customers_page_brings_the_lines_of_its_charts_and_names_no_host(client: Client) -> None:
    there, person = sampled(), make.user()
    there.volume.customer = make.customer()
    there.volume.save()
    Member.objects.create(customer=there.volume.customer, user=person, role="viewer")
    client.force_login(person)
    text = on_one_line(client.get(reverse("my-charts", args=[there.volume.key])).content.decode())
    answer = json.loads(within(text))
    assert set(answer["series"]) == set(definitions.names(plain=True))
    assert not {"heat", "least", "most"} & answer.keys()
    assert there.host.name not in text


def test_plain_charts_get_their_own_lines_alone_from_the_series_too(staff: Client) -> None:
    there = sampled()
    url = reverse("volume-series", args=[there.volume.key])
    plain = staff.get(url, {"plain": "1"}).json()
    assert set(plain["series"]) == set(definitions.names(plain=True)) < set(UNITS)
    assert "heat" not in plain


def test_a_volume_without_cache_has_no_panels_of_one(staff: Client) -> None:
    there = sampled(cached=False).volume
    text = page(staff, there)
    figures = [each.partition(">")[0] for each in text.split("<figure ")[1:]]
    away = [each for each in figures if each.endswith("hidden")]
    assert [each for each in away if "&quot;title&quot;: &quot;Hit rate&quot;" in each]
    assert not [each for each in away if "&quot;title&quot;: &quot;IOPS and latency" in each]
    assert ">Hit rate</th>" not in text
    answer = staff.get(reverse("volume-series", args=[there.key])).json()
    assert (
        answer["lacking"]["hits"] == "no cache in this period"
        and "operations" not in answer["lacking"]
    )


def test_a_new_volume_shows_when_its_first_point_comes(staff: Client) -> None:
    text = page(staff, scene().volume)
    assert "The first data point appears in about 20\xa0s" in text
    assert "<table class" not in text[text.index('id="charts"') : text.index("chart.umd")]


def test_a_silent_volume_does_not_ask_to_wait_for_a_first_point(staff: Client) -> None:
    volume = sampled(age=timedelta(hours=3)).volume
    text = page(staff, volume, range="1h")
    assert 'data-charts-nearest="last"> No data for this period. Latest data:' in text
    assert 'data-charts-nearest="first" hidden' in text
    assert "The first data point appears" not in text
    assert "200 reads" in page(staff, volume, range="6h")


def test_a_volume_that_is_not_created_yet_has_no_charts(staff: Client) -> None:
    volume = make.volume()
    make.placement(volume, make.host(), lv_uuid=None)
    assert 'id="charts"' not in page(staff, volume)


def test_customers_read_plain_words(rf: RequestFactory) -> None:
    volume = sampled().volume
    for person, is_customer in ((make.user(), True), (make.staff_user(), False)):
        request = rf.get("/")
        request.user = person
        text = render_to_string("parts/_charts.html", chart_context(volume, request))
        assert ("Reads from SSD" in text) is is_customer
        assert ("Cache contents" in text) is not is_customer
        assert (
            any(word in text for word in ("Dirty", "IOPS", "Hit rate", "host")) is not is_customer
        )


def test_members_get_the_figures_of_their_volumes_alone(client: Client) -> None:
    mine, foreign = sampled(), sampled()
    mine.volume.customer = make.customer()
    mine.volume.save()
    person = make.user()
    Member.objects.create(customer=mine.volume.customer, user=person, role="viewer")
    client.force_login(person)
    response = client.get(reverse("volume-series", args=[mine.volume.key]))
    assert response.json()["totals"]["read_iops"] == 200
    assert mine.host.name not in response.content.decode()
    assert client.get(reverse("volume-series", args=[foreign.volume.key])).status_code == 404


def test_anonymous_people_are_sent_to_the_sign_in_page(client: Client) -> None:
    response = client.get(reverse("volume-series", args=[sampled().volume.key]))
    assert response.status_code == 302
