"""The job of a benchmark's run, on the pages that all jobs have, and in the API."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job, Kind, State
from storage.benchmarks.matrix import PlannedRun
from storage.benchmarks.run_wish import wish_of
from storage.models import Benchmark, BenchmarkRun
from tests import make
from tests.panel.api.asking import problem
from tests.panel.api.asking import staff as program_of
from tests.scene import Scene, end, scene, step
from tests.storage.benchmarks.make_spec import spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(make.staff_user())
    return client


def run_job(there: Scene, *, dry_run: bool = False) -> Job:
    benchmark = Benchmark.objects.create(host=there.host, spec=spec().to_json())
    run = BenchmarkRun.objects.create(benchmark=benchmark, number=1)
    wish = wish_of(spec(), PlannedRun(spec().cells[0], 0), run.key)
    return Job.objects.create(
        kind=Kind.BENCHMARK,
        host=there.host,
        wish=wish.to_json(),
        dry_run=dry_run,
        benchmark_run=None if dry_run else run,
    )


def running(job: Job, **fields: Any) -> None:
    step(job, verb="bench.run", title="Run fio", args=job.wish["args"], **fields)


def page(client: Client, name: str, *args: str) -> str:
    response = client.get(reverse(name, args=args))
    assert response.status_code == 200
    return response.content.decode()


def test_its_pages_say_what_it_does(staff: Client) -> None:
    job = run_job(scene())
    running(job, state="running", started_at=timezone.now(), op_id=uuid.uuid4())
    for name in ("job", "job-status"):
        assert "Run fio" in page(staff, name, job.key)
    assert "Benchmark run" in page(staff, "jobs")
    end(job, State.FAILED, error={"code": "cmd_failed", "message": "fio failed."})
    assert "fio failed." in page(staff, "job", job.key)


def test_its_preview_says_what_its_scratch_volumes_take(staff: Client) -> None:
    preview = run_job(scene(), dry_run=True)
    running(preview)
    end(preview)
    text = page(staff, "job", preview.key)
    assert "SSD of vg0 while it runs" in text
    assert "4\xa0GiB of scratch volumes" in text


def test_the_api_says_that_it_is_of_no_volume_and_adds_no_disk() -> None:
    job = run_job(scene())
    said = program_of("admin").get(f"/jobs/{job.key}").json()
    assert (said["kind"], said["volume"], said["wish"]) == ("benchmark", None, None)
    assert not {"ssd", "member"} & set(said)
    preview = run_job(scene(), dry_run=True)
    end(preview)
    headers = {"Idempotency-Key": "a" * 32}
    applied = program_of("admin").send("post", f"/jobs/{preview.key}/apply", None, **headers)
    problem(applied, 422, "not_now")
