"""bench.run and the results of runs."""

from __future__ import annotations

import json

import pytest

from tests.contract.benchmark_runs import (
    SECONDS,
    legs_of,
    measuring,
    result_of,
    run,
    run_args,
    scratch,
    text_of,
)
from tests.contract.client import Agent
from tests.contract.world import World

pytestmark = pytest.mark.thorough
BINS = 29 * 64


@pytest.fixture(autouse=True)
def allowed(world: World) -> None:
    world.allow(["vg0"], benchmark_bytes=1 << 30)


@pytest.mark.parametrize("target", ["hdd", "ssd", "lvmcache", "bcache"])
def test_a_run_leaves_a_result_and_nothing_else(agent: Agent, world: World, target: str) -> None:
    args = run_args(world, target)
    key = args["key"]
    ended = run(agent, args)
    assert (ended["outcome"], ended["reached_seconds"]) == ("finished", SECONDS)
    assert {"key": key, "outcome": "finished"} in agent.inventory()["benchmarks"]
    (listed,) = agent.data("bench.results")["results"]
    names = {each["name"] for each in listed["files"]}
    logs = {f"{kind}.{number}.log" for kind in ("iops", "hist") for number in (1, 2)}
    assert names == {"run.json", "conditions.json", "fio.json", "legs.jsonl", *logs}
    jobs = json.loads(text_of(agent, key, "fio.json"))["jobs"]
    total = sum(job["read"]["total_ios"] for job in jobs)
    assert len(jobs) == 2 and total > 0
    legs = legs_of(agent, key)
    assert legs[0]["ms"] == 0 and len(legs) > SECONDS
    counted = legs[-1]["top"]["reads"] - legs[0]["top"]["reads"]
    assert abs(counted - total) <= 0.02 * total + 16
    rows = text_of(agent, key, "hist.1.log").splitlines()
    assert rows and all(len(row.split(",")) == 3 + BINS for row in rows)
    again = agent.outcome(agent.start("bench.run", args))
    assert (again["state"], again["commands"]) == ("done", []), "it is not run twice"
    agent.data("bench.forget", {"key": key})
    assert agent.data("bench.results") == {"results": []}


@pytest.mark.parametrize("target", ["lvmcache", "bcache"])
def test_a_cache_is_full_of_junk_before_its_run(agent: Agent, world: World, target: str) -> None:
    args = run_args(world, target, state="junk", mode="writeback", profile="mixed")
    ended = run(agent, args)
    assert ended["outcome"] == "finished"
    assert ended["state_before"]["used_percent"] >= 90
    assert ended["state_before"]["mode"] == "writeback"


def test_a_run_that_is_stopped_says_how_far_it_came(agent: Agent, world: World) -> None:
    args = run_args(world, "lvmcache", seconds=3600, mode="writeback", profile="mixed")
    op = agent.start("bench.run", args)
    measuring(agent, op)
    agent.data("op.abort", {"op": op})
    outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("interrupted", "aborted")
    assert scratch(agent) == set()
    ended = result_of(agent, args["key"])
    assert ended["outcome"] == "stopped" and 0 < ended["reached_seconds"] < 3600
    fio = json.loads(text_of(agent, args["key"], "fio.json"))
    assert sum(job["read"]["total_ios"] for job in fio["jobs"]) > 0
