"""A benchmark is paused, resumed and cancelled."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from storage.models import Benchmark
from tests.benchmark_scene import EVENING, make_benchmark
from tests.scene import Scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def working(there: Scene) -> Benchmark:
    return make_benchmark(there.host, EVENING, timezone.now(), done=2)


def act(client: Client, row: Benchmark, name: str, **data: str) -> Benchmark:
    response = client.post(reverse(name, args=[row.key]), data)
    assert response.status_code == 302
    row.refresh_from_db()
    return row


def test_it_rests_and_goes_on(staff: Client, working: Benchmark) -> None:
    assert act(staff, working, "benchmark-pause").state == "paused"
    text = staff.get(reverse("benchmark", args=[working.key])).content.decode()
    assert "Paused after 2 of 12 runs" in text and "Resume" in text
    assert act(staff, working, "benchmark-resume").state == "running"


def test_the_run_at_work_can_be_stopped_with_it(staff: Client, working: Benchmark) -> None:
    act(staff, working, "benchmark-pause", now="1")
    assert working.runs.get(state="running").is_put_off


def test_it_is_ended(staff: Client, working: Benchmark) -> None:
    assert act(staff, working, "benchmark-cancel").state == "cancelled"
    assert working.runs.filter(state="done").count() == 2


def test_what_is_over_is_refused(staff: Client, there: Scene) -> None:
    done = make_benchmark(there.host, EVENING, timezone.now())
    for name in ("benchmark-pause", "benchmark-resume", "benchmark-cancel"):
        response = staff.post(reverse(name, args=[done.key]))
        assert response.status_code == 422
        assert "The benchmark is over." in response.content.decode()
