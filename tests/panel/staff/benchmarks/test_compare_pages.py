"""Runs of any benchmarks side by side."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from panel.benchmarks.ssd_models import COMPARED
from storage.models import BenchmarkRun
from tests.benchmark_scene import EVENING, make_benchmark
from tests.one_line import on_one_line
from tests.scene import Scene

pytestmark = pytest.mark.django_db


def page(client: Client, *names: str, varied: tuple[str, ...] = ()) -> str:
    url = reverse("benchmark-compare")
    response = client.get(url, {"of": names, "varied": varied})
    assert response.status_code == 200
    return on_one_line(response.content.decode())


def test_benchmarks_can_be_chosen_the_published_one_too(staff: Client, there: Scene) -> None:
    make_benchmark(there.host, EVENING, timezone.now(), title="Evening")
    make_benchmark(there.host, EVENING, timezone.now(), title="Not begun", done=0)
    text = page(staff)
    assert "Nothing is chosen yet" in text
    assert "Evening" in text and "published.json" not in text and 'value="published"' in text
    assert "Not begun" not in text


def test_conditions_that_differ_are_said_before_the_result(staff: Client, there: Scene) -> None:
    old = make_benchmark(there.host, EVENING, timezone.now(), title="Old")
    new = make_benchmark(there.host, EVENING, timezone.now(), title="New", seed=2)
    BenchmarkRun.objects.filter(benchmark=new).update(kernel="6.8.0", boot_id="other")
    text = page(staff, old.key, new.key)
    assert "These conditions differ" in text
    assert text.index("6.8.0") < text.index("bench-headline")
    assert "cannot tell" in text
    compared = page(staff, old.key, new.key, varied=("kernel",))
    assert "Do not compare it" in compared


def test_single_runs_are_compared(staff: Client, there: Scene) -> None:
    made = make_benchmark(there.host, EVENING, timezone.now())
    text = page(staff, f"{made.key}.3", f"{made.key}.4")
    assert "measured most" in text and "too few runs to be sure" in text


def test_what_is_not_there_is_said(staff: Client) -> None:
    assert "No benchmark or run with a result is called nothing." in page(staff, "nothing")


def test_charts_and_figures_of_the_comparison_are_there(staff: Client, there: Scene) -> None:
    made = make_benchmark(there.host, EVENING, timezone.now())
    query = {"of": [made.key, "published"]}
    charts = staff.get(reverse("benchmark-compare-series"), query).json()["charts"]
    assert [chart["name"] for chart in charts] == ["iops", "hits"]
    lines = staff.get(reverse("benchmark-compare-csv"), query).content.decode().splitlines()
    assert len(lines) == 1 + 12 + 6


def on_ssd(there: Scene, model: str, seed: int, **fields: str) -> None:
    """A benchmark of three runs of each target, on a host with this SSD."""
    made = make_benchmark(there.host, EVENING, timezone.now(), seed=seed)
    disks = [
        {"tier": "fast", "model": model},
        {"tier": "slow", "model": f"HDD beside {model}"},
    ]
    made.runs.update(conditions={"disks": disks}, **fields)


def test_ssd_models_of_the_fleet_stand_beside_each_other(staff: Client, there: Scene) -> None:
    listed = staff.get(reverse("benchmarks")).content.decode()
    link = re.search(r'href="([^"]+)">SSD models', listed)
    assert link is not None
    address = html.unescape(link[1])
    assert "No run on SSD alone has a result yet" in staff.get(address).content.decode()
    for seed, model in enumerate(("PM9A3", "S4510", "S4510"), 1):
        on_ssd(there, model, seed)
    text = on_one_line(staff.get(address).content.decode())
    assert "SSD alone, PM9A3" in text and "SSD alone, S4510" in text
    assert "HDD alone" not in text
    # Three runs of the first model, six of the other one.
    assert "3 runs against 6" in text or "6 runs against 3" in text


def test_another_kernel_is_not_the_ssds_doing(staff: Client, there: Scene) -> None:
    on_ssd(there, "PM9A3", 1, kernel="6.1.0")
    on_ssd(there, "S4510", 2, kernel="6.8.0")
    text = page(staff, "ssds", varied=COMPARED)
    assert "These conditions differ" in text and "cannot tell" in text
