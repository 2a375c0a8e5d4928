"""The list of benchmarks."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.benchmark_scene import EVENING, make_benchmark
from tests.one_line import on_one_line
from tests.scene import Scene

pytestmark = pytest.mark.django_db


def page(client: Client, **query: str) -> str:
    response = client.get(reverse("benchmarks"), query)
    assert response.status_code == 200
    return on_one_line(response.content.decode())


def test_without_a_benchmark_the_list_says_what_one_is_for_and_what_root_does(
    staff: Client,
) -> None:
    text = page(staff)
    assert "No benchmarks yet" in text
    assert "never a customer's volume" in text
    assert "agent.pyz allow-benchmarks" in text
    assert reverse("benchmark-new") in text


def test_the_published_comparison_is_there_and_marked(staff: Client) -> None:
    text = page(staff)
    assert "published reference" in text and "SM863" in text
    shown = staff.get(reverse("benchmark", args=["published"]))
    assert "lvmcache, new measured most" in shown.content.decode()


def test_a_row_says_who_won_and_how_sure_that_is(staff: Client, there: Scene) -> None:
    make_benchmark(there.host, EVENING, timezone.now(), title="Evening")
    text = page(staff)
    assert "Evening" in text and "lvmcache won" in text and "sure" in text
    assert "No benchmarks yet" not in text


def test_one_that_runs_says_how_far_it_is(staff: Client, there: Scene) -> None:
    make_benchmark(there.host, EVENING, timezone.now(), done=2)
    assert "2 of 12 runs" in page(staff)
    assert "2 of 12 runs" in page(staff, state="running", host=there.host.name[:3])
    assert "No benchmarks match" in page(staff, state="paused")


def test_the_list_is_a_file_too(staff: Client, there: Scene) -> None:
    make_benchmark(there.host, EVENING, timezone.now(), title="Evening")
    lines = staff.get(reverse("benchmarks"), {"format": "csv"}).content.decode().splitlines()
    assert lines[0].startswith("key,title,state") and "Evening,done" in lines[1]
