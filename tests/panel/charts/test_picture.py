"""What is laid over charts, as the URL names it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, Origin
from storage.models import CachePlan, Member, Volume
from tests import make
from tests.one_line import on_one_line
from tests.scene import Scene, end, job, scene
from tests.storage import wire
from tests.storage.metrics.samples.rounds import take

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def one_moment() -> Iterator[None]:
    """From which samples and pages count, however slow the machine is."""
    with time_machine.travel(timezone.now(), tick=False):
        yield


@pytest.fixture(autouse=True)
def ten_seconds(settings: LazySettings) -> None:
    settings.TIERCEL_SAMPLE_SECONDS = 10


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def reading(there: Scene, *rates: int, minutes_ago: float = 45) -> Scene:
    """Ten minutes at each of so many reads a second, one after the other."""
    reads, start = 0, timezone.now() - timedelta(minutes=minutes_ago)
    take(there.host, 0, wire.volume(there.lv.uuid, disk=wire.disk()), start=start)
    for n, rate in enumerate(rate for each in rates for rate in [each] * 10):
        reads += 60 * rate
        disk = wire.disk(reads=reads, read_sectors=8 * reads, read_ms=reads)
        take(there.host, 60 * (n + 1), wire.volume(there.lv.uuid, disk=disk), start=start)
    return there


def named(there: Scene, label: str) -> Scene:
    Volume.objects.filter(pk=there.volume.pk).update(label=label)
    there.volume.refresh_from_db()
    return there


def figures(client: Client, there: Scene, **query: str) -> dict[str, Any]:
    response = client.get(reverse("volume-series", args=[there.volume.key]), query)
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


def page(client: Client, there: Scene, **query: str) -> str:
    return on_one_line(
        client.get(reverse("volume", args=[there.volume.key]), query).content.decode()
    )


def known(values: list[float | None]) -> set[float]:
    return {round(each) for each in values if each is not None}


def minutes_ago(minutes: float) -> str:
    return f"{timezone.now() - timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%SZ}"


def test_nothing_is_laid_over_unless_the_url_asks_for_it(staff: Client) -> None:
    assert figures(staff, reading(scene(), 100))["over"] is None


def test_the_time_right_before_is_laid_over(staff: Client) -> None:
    there = reading(scene(), 100, 300)
    part = {"from": minutes_ago(34), "to": minutes_ago(26)}
    found = figures(staff, there, over="previous", **part)
    assert known(found["series"]["read_iops"]) == {300}
    assert known(found["over"]["series"]["read_iops"]) == {100}
    assert len(found["over"]["series"]["read_iops"]) == found["points"]
    length = timedelta(seconds=found["points"] * found["step_seconds"])
    moved = datetime.fromisoformat(found["t0"]) - datetime.fromisoformat(found["over"]["t0"])
    assert moved == length
    assert "previous period" in found["over"]["words"]
    assert found["over"]["summary"].startswith("Before: 100 reads")


def test_the_page_says_in_words_what_is_laid_over_also_without_scripts(staff: Client) -> None:
    text = page(staff, reading(scene(), 100, 300), over="previous", range="15m")
    assert "Faded: previous period." in text
    assert 'data-over="previous" aria-current="true"' in text


def test_another_volume_is_laid_over_by_its_name_or_its_key(staff: Client) -> None:
    there, other = reading(scene(), 100), named(reading(scene(), 700), "other one")
    for text in ("Other one", other.volume.key):
        found = figures(staff, there, over="volume", range="1h", **{"with": text})
        assert known(found["over"]["series"]["read_iops"]) == {700}
        assert "other one" in found["over"]["words"]
        assert found["over"]["t0"] == found["t0"]


@pytest.mark.parametrize("text", ["", "unknown", "twice"])
def test_an_unknown_or_ambiguous_volume_is_reported(staff: Client, text: str) -> None:
    there = reading(scene(), 100)
    for _ in range(2):
        named(scene(), "twice")
    assert figures(staff, there, over="volume", **{"with": text})["over"] is None
    assert "There is no other volume" in page(staff, there, over="volume", **{"with": text})


def test_a_customer_sees_no_figures_of_a_volume_of_others(client: Client) -> None:
    there, own, foreign = (named(reading(scene(), n), f"v{n}") for n in (100, 200, 700))
    customer, person = make.customer(), make.user()
    Member.objects.create(customer=customer, user=person, role="viewer")
    Volume.objects.filter(pk__in=[there.volume.pk, own.volume.pk]).update(customer=customer)
    client.force_login(person)
    asked = {"over": "volume", "range": "1h"}
    found = figures(client, there, **asked, **{"with": own.volume.key})
    assert known(found["over"]["series"]["read_iops"]) == {200}
    assert set(found["over"]["series"]) == set(found["series"])
    for text in (foreign.volume.key, "v700"):
        assert figures(client, there, **asked, **{"with": text})["over"] is None
    charts = client.get(reverse("my-charts", args=[there.volume.key]), asked | {"with": "v700"})
    assert "There is no other volume" in charts.content.decode()
    assert '<option value="v200">' in charts.content.decode()
    assert '<option value="v700">' not in charts.content.decode()


def ended(of: Job, began: float, over: float) -> Job:
    """A job that began and ended so many minutes ago."""
    end(of)
    times = {"started_at": began, "ended_at": over}
    Job.objects.filter(pk=of.pk).update(
        **{name: timezone.now() - timedelta(minutes=m) for name, m in times.items()}
    )
    of.refresh_from_db()
    return of


def test_before_and_after_a_job_are_both_aligned_to_it(staff: Client) -> None:
    there = reading(scene(), 100, 500, 300, minutes_ago=45)
    changed = ended(job(there), 35, 25)
    found = figures(staff, there, over="job", job=changed.key, range="15m")
    assert changed.ended_at is not None
    assert changed.started_at is not None
    start = datetime.fromisoformat(found["t0"])
    before = datetime.fromisoformat(found["over"]["t0"])
    assert timedelta(0) <= start - changed.ended_at <= timedelta(seconds=found["step_seconds"])
    late = changed.started_at - timedelta(minutes=15) - before
    assert timedelta(0) <= late <= timedelta(seconds=2 * found["step_seconds"])
    assert known(found["series"]["read_iops"]) == {300}
    assert known(found["over"]["series"]["read_iops"]) == {100}
    assert found["over"]["words"].startswith("After Add cache; faded: before.")
    text = page(staff, there, over="job", job=changed.key, range="15m")
    assert f'<option value="{changed.key}" selected>' in text


def test_a_job_of_another_volume_is_none_to_compare_with(staff: Client) -> None:
    foreign = ended(job(scene()), 35, 25)
    there = reading(scene(), 100)
    assert figures(staff, there, over="job", job=foreign.key)["over"] is None
    assert "This change does not exist" in page(staff, there, over="job", job=foreign.key)


def test_a_customer_compares_with_the_changes_that_they_see(client: Client) -> None:
    there = reading(scene(), 100, 300)
    there.volume.customer = make.customer()
    there.volume.save()
    person = make.user()
    Member.objects.create(customer=there.volume.customer, user=person, role="viewer")
    plan = CachePlan.objects.create(name="Swift", size_bytes=2**31, price_minor=490, currency="EUR")
    own = ended(job(there, origin=Origin.PORTAL, cache_plan=plan), 36, 34)
    hidden = ended(job(there, kind="tag-volume"), 36, 34)
    client.force_login(person)
    asked = {"over": "job", "range": "15m"}
    assert "Plan: Swift" in figures(client, there, job=own.key, **asked)["over"]["words"]
    assert figures(client, there, job=hidden.key, **asked)["over"] is None


def test_the_csv_has_what_is_laid_over_beside_each_figure(staff: Client) -> None:
    there = reading(scene(), 100, 300)
    url = reverse("volume-csv", args=[there.volume.key])
    asked = {"over": "previous", "from": minutes_ago(34), "to": minutes_ago(26)}
    head, *rows = csv.reader(staff.get(url, asked).content.decode().splitlines())
    at = [head.index(name) for name in ("read_iops (1/s)", "read_iops, before (1/s)")]
    assert ["300.0", "100.0"] in [[row[n] for n in at] for row in rows]


def test_each_chart_has_a_csv_of_its_own_lines(staff: Client) -> None:
    there = reading(scene(), 100)
    url = reverse("volume-csv", args=[there.volume.key])
    response = staff.get(url, {"panel": "throughput", "range": "1h"})
    head = next(csv.reader(response.content.decode().splitlines()))
    assert head == ["until (UTC)", "read_bytes_per_s (B/s)", "write_bytes_per_s (B/s)"]
    assert "-throughput-" in response["Content-Disposition"]
    whole = staff.get(url, {"panel": "nonsense", "range": "1h"})
    assert len(next(csv.reader(whole.content.decode().splitlines()))) > len(head)
    assert "nonsense" not in whole["Content-Disposition"]


def test_a_host_and_the_fleet_have_the_time_right_before_and_no_volume(staff: Client) -> None:
    there = reading(scene(), 100)
    for url in (reverse("host-series", args=[there.host.key]), reverse("fleet-series")):
        assert staff.get(url, {"over": "previous"}).json()["over"]["kind"] == "previous"
        assert staff.get(url, {"over": "volume", "with": there.volume.key}).json()["over"] is None
