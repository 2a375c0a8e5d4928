"""Benchmarks, for programs."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from storage.byte_sizes import GIB
from storage.models import Benchmark, BenchmarkRun, Host
from tests import make
from tests.benchmark_scene import EVENING, make_benchmark
from tests.heat_scene import count_heat
from tests.panel.api.asking import Program, problem, program, staff
from tests.scene import Scene, scene
from tests.storage.benchmarks.run_files import fio_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def here() -> Scene:
    made = scene()
    said = {"quota_bytes": 64 * GIB, "fio": "3.33"}
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}, "benchmarks": said})
    made.host.refresh_from_db()
    return made


@pytest.fixture
def asking() -> Program:
    return staff("operator")


def asked(here: Scene, **changes: Any) -> dict[str, Any]:
    return {
        "host": here.host.key,
        "targets": ["hdd", "lvmcache"],
        "profiles": ["zipf_read"],
        "data_bytes": [GIB],
        "cache_bytes": [GIB // 2],
        "seconds": 120,
        **changes,
    }


def order(asking: Program, here: Scene, key: str = "one", **changes: Any) -> Any:
    return asking.send("post", "/benchmarks/", asked(here, **changes), **{"Idempotency-Key": key})


def test_a_benchmark_is_ordered_and_shown(asking: Program, here: Scene) -> None:
    made = order(asking, here, title="Evening")
    assert made.status_code == 202
    shown = made.json()
    assert (shown["state"], shown["title"], shown["total_runs"]) == ("wanted", "Evening", 6)
    assert shown["by"] == asking.user.email
    assert shown["host"]["key"] == here.host.key
    [listed] = asking.get("/benchmarks/", state="wanted", host=here.host.key).json()["items"]
    assert listed["key"] == shown["key"] and "contests" not in listed
    one = asking.get(f"/benchmarks/{shown['key']}").json()
    assert one["contests"] == [] and one["spec"]["seconds"] == 120
    assert one["seconds_left"] > 6 * 120


def test_a_job_of_ones_own_runs_as_its_file_says(asking: Program, here: Scene) -> None:
    file = "[mine]\nrw=randrw\nrwmixread=90\nbs=16k\niodepth=4\nnumjobs=3\nfilename=/dev/sda\n"
    spec = order(asking, here, profiles=["own"], job_file=file).json()["spec"]
    (profile,) = spec["profiles"]
    assert (profile["jobs"], profile["iodepth"], profile["block_bytes"]) == (3, 4, 16_384)
    assert dict(profile["options"]) == {"rw": "randrw", "rwmixread": "90"}
    harmful = f"{file}exec_prerun=reboot\n"
    answer = order(asking, here, "two", profiles=["own"], job_file=harmful)
    assert "exec_prerun" in str(problem(answer, 422, "invalid")["errors"])
    answer = order(asking, here, "three", profiles=["own"])
    problem(answer, 422, "invalid")


def test_the_heat_of_a_volume_is_replayed(asking: Program, here: Scene) -> None:
    count_heat(here.volume, 12, timezone.now())
    wanted = {"profiles": ["heat"], "heat_of": here.volume.key}
    spec = order(asking, here, **wanted).json()["spec"]
    (profile,) = spec["profiles"]
    assert profile["heat"]["zones"]
    for n, wrong in enumerate(({"heat_of": ""}, {"heat_of": "nothing"})):
        problem(order(asking, here, f"wrong {n}", **wanted | wrong), 422, "invalid")
    assert Benchmark.objects.count() == 1


def test_the_same_request_sent_twice_orders_once(asking: Program, here: Scene) -> None:
    assert order(asking, here).json() == order(asking, here).json()
    assert Benchmark.objects.count() == 1
    problem(asking.send("post", "/benchmarks/", asked(here)), 400, "idempotency_key_required")


def test_what_it_takes_is_said_before_and_why_it_cannot_be(asking: Program, here: Scene) -> None:
    found = asking.send("post", "/benchmarks/estimate", asked(here)).json()
    assert (found["runs"], found["refusal"]) == (6, "")
    assert found["seconds"] > 6 * 120 and found["slow_bytes"] >= GIB
    Host.objects.update(hello={"policy": {"vgs": ["vg0"]}, "benchmarks": {"quota_bytes": 0}})
    found = asking.send("post", "/benchmarks/estimate", asked(here)).json()
    assert "has not allowed" in found["refusal"] and "allow-benchmarks" in found["correction"]
    problem(order(asking, here), 422, "observe_only")


@pytest.mark.parametrize(
    "wrong",
    [
        {"targets": ["volume"]},
        {"targets": []},
        {"profiles": ["format"]},
        {"states": ["old"]},
        {"seconds": 5},
        {"repeats": 31},
        {"vg": "other"},
        {"host": "nothing"},
        {"volume": "web12"},
    ],
)
def test_what_is_no_matrix_is_refused(asking: Program, here: Scene, wrong: dict[str, Any]) -> None:
    problem(order(asking, here, **wrong), 422, "invalid")
    assert not Benchmark.objects.exists()


def test_the_result_says_who_won_in_three_words(asking: Program, here: Scene) -> None:
    made = make_benchmark(here.host, EVENING, timezone.now())
    [contest] = asking.get(f"/benchmarks/{made.key}").json()["contests"]
    assert contest["headline"] == "lvmcache won" and contest["word"] == "faster"
    winner, second, *_ = contest["entrants"]
    assert winner["is_winner"] and winner["word"] is None
    assert second["word"] == "slower"
    assert -30 < second["percent_low"] <= second["percent_high"] < -20
    assert len(winner["runs"]) == 3


def test_each_run_has_its_figures(asking: Program, here: Scene) -> None:
    made = make_benchmark(here.host, EVENING, timezone.now(), done=2)
    rows = asking.get(f"/benchmarks/{made.key}/runs").json()["items"]
    assert [row["number"] for row in rows] == list(range(1, 13))
    assert rows[0]["iops"] > 90_000 and rows[0]["hit_rate"] is None
    assert rows[5]["iops"] is None
    done = asking.get(f"/benchmarks/{made.key}/runs", state="done").json()["items"]
    assert [row["key"] for row in done] == [f"{made.key}.1", f"{made.key}.2"]


def test_it_is_paused_resumed_and_cancelled(asking: Program, here: Scene) -> None:
    made = make_benchmark(here.host, EVENING, timezone.now(), done=2)
    for act, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        body: dict[str, bool] | None = {"now": False} if act == "pause" else None
        answer = asking.send("post", f"/benchmarks/{made.key}/{act}", body)
        assert answer.json()["state"] == state
    problem(asking.send("post", f"/benchmarks/{made.key}/resume"), 422, "too_late")


def test_any_runs_are_compared_and_what_differs_is_named(asking: Program, here: Scene) -> None:
    made = make_benchmark(here.host, EVENING, timezone.now())
    other = make_benchmark(here.host, EVENING, timezone.now(), seed=2)
    BenchmarkRun.objects.filter(benchmark=other).update(kernel="6.8.0")
    both = f"{made.key},{other.key}"
    [contest] = asking.get("/benchmarks/compare", of=both).json()["contests"]
    [differing] = contest["differing"]
    assert differing["name"] == "kernel" and not differing["is_compared"]
    assert contest["word"] == "cannot tell"
    [contest] = asking.get("/benchmarks/compare", of=both, varied="kernel").json()["contests"]
    assert contest["differing"][0]["is_compared"] and contest["unit"] == "boot"
    [published] = asking.get("/benchmarks/compare", of="published").json()["contests"]
    assert len(published["entrants"]) == 6
    problem(asking.get("/benchmarks/compare", of="nothing"), 400, "invalid_parameter")
    problem(asking.get("/benchmarks/compare"), 400, "invalid_parameter")


def test_an_output_of_fio_is_imported_exported_and_verified(asking: Program) -> None:
    files = [{"name": "fio.json", "content": fio_json().decode()}, {"name": "x", "content": "?"}]
    made = asking.send("post", "/benchmarks/import", {"files": files}).json()
    assert len(made["refused"]) == 1 and made["refused"][0].startswith("x: ")
    key = made["benchmark"]["key"]
    document = asking.get(f"/benchmarks/{key}/export").json()
    found = asking.send("post", "/benchmarks/verify", {"document": document}).json()
    assert found["agrees"] and found["checked_figures"] > 5
    document["runs"][0]["summary"]["iops"] = 1
    found = asking.send("post", "/benchmarks/verify", {"document": document}).json()
    assert not found["agrees"] and found["differences"][0]["figure"] == "iops"
    problem(asking.send("post", "/benchmarks/verify", {"document": 3}), 422, "invalid")
    nothing = [{"name": "x", "content": "?"}]
    problem(asking.send("post", "/benchmarks/import", {"files": nothing}), 422, "invalid")


def test_a_benchmark_is_shared_and_no_more(asking: Program, here: Scene) -> None:
    made = make_benchmark(here.host, EVENING, timezone.now())
    shared = asking.send("post", f"/benchmarks/{made.key}/share", {"days": 3}).json()
    made.refresh_from_db()
    assert made.share_key in shared["address"]
    assert asking.send("delete", f"/benchmarks/{made.key}/share").status_code == 204
    assert asking.get(f"/benchmarks/{made.key}").json()["share_until"] is None


def test_a_token_needs_the_scope(here: Scene) -> None:
    reader = program(make.staff_user(), "hosts:read")
    assert reader.get("/benchmarks/").status_code == 200
    problem(order(reader, here), 403, "insufficient_scope")
    writer = program(make.staff_user(), "benchmarks:write")
    assert order(writer, here).status_code == 202
