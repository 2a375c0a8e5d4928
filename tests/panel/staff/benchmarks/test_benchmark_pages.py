"""The page of one benchmark."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from storage.models import Benchmark
from tests.benchmark_scene import EVENING, make_benchmark
from tests.one_line import on_one_line
from tests.scene import HOSTILE, Scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def done(there: Scene) -> Benchmark:
    return make_benchmark(there.host, EVENING, timezone.now(), title="Evening")


def page(client: Client, row: Benchmark, **query: str) -> str:
    response = client.get(reverse("benchmark", args=[row.key]), query)
    assert response.status_code == 200
    return on_one_line(response.content.decode())


def test_it_says_who_won_by_how_much_and_how_sure_that_is(staff: Client, done: Benchmark) -> None:
    text = page(staff, done)
    assert "lvmcache won" in text
    assert "more IOPS than bcache" in text
    assert "of SSD alone and" in text
    assert "It rests on 3 runs against 3" in text
    assert text.index("lvmcache won") < text.index("Charts") < text.index("Figures")


def test_the_charts_come_with_their_figures(staff: Client, done: Benchmark) -> None:
    text = staff.get(reverse("benchmark", args=[done.key])).content.decode()
    _, _, after = text.partition('<script id="benchmark-answer" type="application/json">')
    charts = json.loads(after.partition("</script>")[0])["charts"]
    assert [chart["name"] for chart in charts] == ["iops", "hits", "latency"]


def test_a_part_of_the_time_is_fetched(staff: Client, done: Benchmark) -> None:
    url = reverse("benchmark-series", args=[done.key])
    whole = staff.get(url).json()["charts"]
    part = staff.get(url, {"from": "10", "to": "20"}).json()["charts"]
    assert whole[0]["span"] == [0.0, 60.0] and part[0]["span"] == [10.0, 20.0]
    assert len(part[0]["lines"][0]["values"]) == 20
    for wrong in ({"from": "x", "to": "1"}, {"from": "nan", "to": "nan"}, {"from": "9", "to": "1"}):
        assert staff.get(url, wrong).json()["charts"][0]["span"] == [0.0, 60.0]


def test_one_at_work_says_what_it_does_and_what_the_buttons_would_do(
    staff: Client, there: Scene
) -> None:
    row = make_benchmark(there.host, EVENING, timezone.now(), done=2)
    text = page(staff, row)
    assert "Run 3 of 12, about" in text
    assert "Now: bcache writethrough 4\xa0GiB" in text
    assert "leaves nothing on the host" in text
    assert "its scratch volumes are removed" in text
    assert "The results of 2 runs are kept. 10 runs of 12 will not be done." in text


def test_the_part_that_renews_itself_loads_the_page_once_there_is_more(
    staff: Client, there: Scene
) -> None:
    row = make_benchmark(there.host, EVENING, timezone.now(), done=2)
    url = reverse("benchmark-now", args=[row.key])
    same = staff.get(url, {"done": "2"})
    assert "Run 3 of 12" in same.content.decode() and "HX-Refresh" not in same
    assert staff.get(url, {"done": "1"})["HX-Refresh"] == "true"
    Benchmark.objects.update(state="done", ended_at=timezone.now())
    assert staff.get(url, {"done": "2"})["HX-Refresh"] == "true"


def test_before_the_first_result_the_page_says_when_there_will_be_one(
    staff: Client, there: Scene
) -> None:
    row = make_benchmark(there.host, EVENING, timezone.now(), done=0)
    assert "The first figures appear here" in page(staff, row)


def test_its_files_are_a_table_and_everything(staff: Client, done: Benchmark) -> None:
    lines = staff.get(reverse("benchmark-csv", args=[done.key])).content.decode().splitlines()
    assert len(lines) == 13 and lines[0].startswith("benchmark,run,repeat,target")
    exported = staff.get(reverse("benchmark-json", args=[done.key])).json()
    assert exported["tiercel_benchmark"] == 1 and len(exported["runs"]) == 12


def test_a_title_is_text(staff: Client, there: Scene) -> None:
    row = make_benchmark(there.host, EVENING, timezone.now(), title=HOSTILE)
    assert HOSTILE not in page(staff, row)


def test_without_a_benchmark_there_is_no_page(staff: Client) -> None:
    assert staff.get(reverse("benchmark", args=["nothing"])).status_code == 404
