"""The times before and after a job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job
from panel.staff.volumes.comparison_pages import ends_of
from tests import make
from tests.scene import Scene, end, job, scene
from tests.storage import wire
from tests.storage.metrics.samples.rounds import take

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def test_the_time_after_begins_where_the_job_ended() -> None:
    ends = ends_of(NOON, NOON + MINUTE, HOUR, NOON + 5 * HOUR, latest=False)
    assert ends.before == (NOON - HOUR, NOON)
    assert ends.after == (NOON + MINUTE, NOON + MINUTE + HOUR)


def test_the_time_after_ends_now_at_the_latest() -> None:
    ends = ends_of(NOON, NOON + MINUTE, HOUR, NOON + 3 * MINUTE, latest=False)
    assert ends.after == (NOON + MINUTE, NOON + 3 * MINUTE)


def test_the_latest_time_never_reaches_back_into_the_job() -> None:
    far = ends_of(NOON, NOON + MINUTE, HOUR, NOON + 5 * HOUR, latest=True)
    near = ends_of(NOON, NOON + MINUTE, HOUR, NOON + 3 * MINUTE, latest=True)
    assert far.after == (NOON + 4 * HOUR, NOON + 5 * HOUR)
    assert near.after == (NOON + MINUTE, NOON + 3 * MINUTE)


def test_a_job_that_runs_has_no_time_after_it() -> None:
    assert ends_of(NOON, None, HOUR, NOON + HOUR, latest=False).after is None
    assert ends_of(NOON, NOON + HOUR, HOUR, NOON + HOUR, latest=True).after is None


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def worked() -> tuple[Scene, Job]:
    """A guest whose reads take 5 ms before a job of ten seconds, and 0.5 ms after it."""
    there = scene()
    start = timezone.now() - timedelta(seconds=260)
    done = job(there)
    end(done)
    times = {
        "started_at": start + timedelta(seconds=120),
        "ended_at": start + timedelta(seconds=130),
    }
    Job.objects.filter(pk=done.pk).update(**times)
    reads = read_ms = 0
    for n in range(26):
        reads += 1000
        read_ms += 5000 if n <= 12 else 500
        disk = wire.disk(reads=reads, read_sectors=8 * reads, read_ms=read_ms)
        take(there.host, 10 * n, wire.volume(there.lv.uuid, disk=disk), start=start)
    return there, done


def part(client: Client, there: Scene, **query: str) -> str:
    url = reverse("volume-comparison", args=[there.volume.key])
    response = client.get(url, query, headers={"HX-Request": "true"})
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.django_db
def test_figures_stand_beside_each_other_with_their_difference(staff: Client) -> None:
    there, done = worked()
    text = part(staff, there, compare=done.key, length="5m")
    assert "5.00 ms" in text
    assert "0.50 ms" in text
    assert "10 times faster" in text
    assert 'data-before-start="' in text
    assert 'data-after-end="' in text


@pytest.mark.django_db
def test_too_few_figures_are_said_and_not_compared(staff: Client) -> None:
    there = scene()
    done = job(there)
    end(done)
    text = part(staff, there, compare=done.key)
    assert "not enough data from before the job" in text
    assert "<table" not in text


@pytest.mark.django_db
def test_without_a_choice_the_jobs_are_offered(staff: Client) -> None:
    there, done = worked()
    assert f'<option value="{done.key}">' in part(staff, there)
    assert "No job has changed this volume yet" in part(staff, scene())


@pytest.mark.django_db
def test_a_choice_is_kept_in_the_url_of_the_page(staff: Client) -> None:
    there, done = worked()
    url = reverse("volume-comparison", args=[there.volume.key])
    page = reverse("volume", args=[there.volume.key])
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://x{page}?range=6h&length=1h"}
    asked = {"compare": done.key, "length": "5m", "after": "latest", "chosen": "1"}
    response = staff.get(url, asked, headers=headers)
    expected = f"{page}?range=6h&compare={done.key}&length=5m&after=latest"
    assert response["HX-Replace-Url"] == expected
    none = staff.get(url, {"compare": "", "chosen": "1"}, headers=headers)
    assert none["HX-Replace-Url"] == f"{page}?range=6h"


@pytest.mark.django_db
def test_a_job_of_another_volume_is_not_found(staff: Client) -> None:
    there, _ = worked()
    url = reverse("volume-comparison", args=[there.volume.key])
    assert staff.get(url, {"compare": job(scene()).key}).status_code == 404


@pytest.mark.django_db
def test_without_javascript_the_comparison_is_a_page(staff: Client) -> None:
    there, done = worked()
    url = reverse("volume-comparison", args=[there.volume.key])
    text = staff.get(url, {"compare": done.key}).content.decode()
    assert "<html" in text
    assert "Before and after a job" in text
