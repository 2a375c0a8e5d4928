"""Traces of a volume, for programs."""

from __future__ import annotations

import pytest

from storage.models import HeatTrace, Host, TraceState
from tests.heat_scene import counting_scene
from tests.panel.api.asking import Program, problem, staff
from tests.scene import Scene
from tests.trace_scene import count_trace, trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def here() -> Scene:
    return counting_scene()


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def url_of(here: Scene) -> str:
    return f"/volumes/{here.volume.key}/traces"


def test_a_trace_is_asked_for_and_listed(asking: Program, here: Scene) -> None:
    made = asking.send("post", url_of(here), {"minutes": 5})
    assert made.status_code == 202
    shown = made.json()
    assert (shown["state"], shown["minutes"], shown["seconds_left"]) == ("wanted", 5, None)
    assert shown["by"] == HeatTrace.objects.get().actor.email  # type: ignore[union-attr]
    assert [each["key"] for each in asking.get(url_of(here)).json()["items"]] == [shown["key"]]
    assert asking.get(f"{url_of(here)}/{shown['key']}").json()["sizes"] == []


def test_the_same_request_sent_twice_asks_once(asking: Program, here: Scene) -> None:
    headers = {"Idempotency-Key": "a-trace"}
    first, second = (asking.send("post", url_of(here), {}, **headers) for _ in range(2))
    assert first.json() == second.json()
    assert HeatTrace.objects.count() == 1
    problem(asking.send("post", url_of(here), {}), 422, "already_exists")


@pytest.mark.parametrize("minutes", [0, 31])
def test_a_trace_takes_some_minutes(asking: Program, here: Scene, minutes: int) -> None:
    problem(asking.send("post", url_of(here), {"minutes": minutes}), 422, "invalid")


def test_where_heat_is_not_counted_the_reason_is_given(asking: Program, here: Scene) -> None:
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}, "heat": {"state": "off"}})
    refused = problem(asking.send("post", url_of(here), {}), 422, "observe_only")
    assert "allow-heat" in refused["correction"]


def test_a_running_trace_says_how_long_it_takes_and_is_cancelled(
    asking: Program, here: Scene
) -> None:
    made = trace(here)
    url = f"{url_of(here)}/{made.key}"
    assert 590 <= asking.get(url).json()["seconds_left"] <= 600
    assert asking.send("delete", url).status_code == 204
    assert asking.get(url).json()["state"] == "cancelled"
    problem(asking.send("delete", url), 422, "too_late")


def test_what_came_of_a_trace_is_shown_by_sizes_of_chunks(asking: Program, here: Scene) -> None:
    made = trace(here, TraceState.DONE)
    count_trace(made)
    sizes = asking.get(f"{url_of(here)}/{made.key}").json()["sizes"]
    assert len(sizes) > 3
    for each in sizes:
        assert [chunk["chunk_bytes"] for chunk in each["chunks"]] == [4096, 65_536, 1_048_576]
        assert each["best_chunk_bytes"] in (64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20)
