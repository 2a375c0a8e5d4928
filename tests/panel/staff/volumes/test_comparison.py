"""The times before and after a job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job
from panel.proofs.job_comparison import JobsAround, ends_of
from tests import make
from tests.scene import Scene, end, job, scene, step
from tests.storage import wire
from tests.storage.metrics.samples.rounds import take

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
ALONE = JobsAround()


def test_the_time_after_begins_where_the_job_ended() -> None:
    ends = ends_of(NOON, NOON + MINUTE, HOUR, NOON + 5 * HOUR, latest=False, others=ALONE)
    assert ends.before == (NOON - HOUR, NOON)
    assert ends.after == (NOON + MINUTE, NOON + MINUTE + HOUR)


def test_the_time_after_ends_now_at_the_latest() -> None:
    ends = ends_of(NOON, NOON + MINUTE, HOUR, NOON + 3 * MINUTE, latest=False, others=ALONE)
    assert ends.after == (NOON + MINUTE, NOON + 3 * MINUTE)


def test_the_latest_time_never_reaches_back_into_the_job() -> None:
    far = ends_of(NOON, NOON + MINUTE, HOUR, NOON + 5 * HOUR, latest=True, others=ALONE)
    near = ends_of(NOON, NOON + MINUTE, HOUR, NOON + 3 * MINUTE, latest=True, others=ALONE)
    assert far.after == (NOON + 4 * HOUR, NOON + 5 * HOUR)
    assert near.after == (NOON + MINUTE, NOON + 3 * MINUTE)


def test_a_job_that_runs_has_no_time_after_it() -> None:
    assert ends_of(NOON, None, HOUR, NOON + HOUR, latest=False, others=ALONE).after is None
    assert ends_of(NOON, NOON + HOUR, HOUR, NOON + HOUR, latest=True, others=ALONE).after is None


def test_no_side_reaches_over_another_job() -> None:
    others = JobsAround(ended=NOON - 4 * MINUTE, began=NOON + 9 * MINUTE)
    for latest in (False, True):
        ends = ends_of(NOON, NOON + MINUTE, HOUR, NOON + 5 * HOUR, latest=latest, others=others)
        assert ends.before == (NOON - 4 * MINUTE, NOON)
        assert ends.after == (NOON + MINUTE, NOON + 9 * MINUTE)


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
    assert "5.00\xa0ms" in text
    assert "0.50\xa0ms" in text
    assert "10 times faster" in text
    assert 'data-before-start="' in text
    assert 'data-after-end="' in text


def other_job(there: Scene, start: datetime, end_at: datetime) -> None:
    """A job that worked on the same volume meanwhile."""
    other = job(there)
    step(other, state="done", op_id=uuid4(), started_at=start, ended_at=end_at)
    end(other)
    Job.objects.filter(pk=other.pk).update(started_at=start, ended_at=end_at)


@pytest.mark.django_db
def test_a_side_that_another_job_cuts_is_shorter_and_says_so(staff: Client) -> None:
    there, done = worked()
    done.refresh_from_db()
    assert done.started_at is not None and done.ended_at is not None
    assert "shorter" not in part(staff, there, compare=done.key, length="5m")
    other_job(there, done.ended_at + MINUTE, done.ended_at + 2 * MINUTE)
    text = part(staff, there, compare=done.key, length="5m")
    assert "The period after is shorter: another job changed the volume just after." in text
    assert "10 times faster" in text
    end_of_earlier = done.started_at - timedelta(seconds=40)
    other_job(there, end_of_earlier - MINUTE, end_of_earlier)
    assert "Both periods are shorter" in part(staff, there, compare=done.key, length="5m")


@pytest.mark.django_db
def test_a_job_right_after_another_has_nothing_to_compare_with(staff: Client) -> None:
    there, done = worked()
    done.refresh_from_db()
    assert done.started_at is not None
    other_job(there, done.started_at - MINUTE, done.started_at)
    text = part(staff, there, compare=done.key, length="5m")
    assert "not enough data from before the job. The period before is shorter" in text


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
    of_tab = {"HX-Request": "true", "HX-Current-URL": f"http://x{url}"}
    kept = staff.get(url, asked, headers=of_tab)["HX-Replace-Url"]
    assert kept == f"{url}?compare={done.key}&length=5m&after=latest"


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
