"""Runs on files: a tree of small files, and a database."""

from __future__ import annotations

import json
import time

import pytest

from tests.contract.benchmark_runs import legs_of, result_of, run, run_args, scratch, text_of
from tests.contract.client import Agent
from tests.contract.lab_world import LabWorld
from tests.contract.world import World

pytestmark = pytest.mark.thorough
LIMIT_SECONDS = 300.0


@pytest.fixture(autouse=True)
def allowed(world: World) -> None:
    world.allow(["vg0"], benchmark_bytes=1 << 30)


@pytest.mark.parametrize("profile", ["file_tree", "sql"])
@pytest.mark.parametrize("target", ["hdd", "lvmcache", "bcache"])
def test_a_run_on_files_leaves_the_result_of_any_run(
    agent: Agent, world: World, target: str, profile: str
) -> None:
    args = run_args(world, target, profile=profile)
    ended = run(agent, args)
    assert ended["outcome"] == "finished"
    (listed,) = agent.data("bench.results")["results"]
    names = {each["name"] for each in listed["files"]}
    wanted = {"run.json", "conditions.json", "fio.json", "legs.jsonl"}
    assert wanted | {"iops.1.log", "iops.2.log"} <= names
    jobs = json.loads(text_of(agent, args["key"], "fio.json"))["jobs"]
    assert len(jobs) == 2 and sum(job["write"]["total_ios"] for job in jobs) > 0
    if profile == "file_tree":
        assert sum(job["read"]["total_ios"] for job in jobs) > 0
    legs = legs_of(agent, args["key"])
    assert legs[-1]["top"]["writes"] > legs[0]["top"]["writes"]


def test_a_warmed_cache_has_the_files_that_are_then_read(agent: Agent, world: World) -> None:
    args = run_args(world, "lvmcache", profile="file_tree", state="warmed", warm_seconds=10)
    assert run(agent, args)["outcome"] == "finished"


@pytest.mark.lab
@pytest.mark.xdist_group("lab")
def test_files_that_are_killed_leave_nothing_mounted(agent: Agent, lab_world: LabWorld) -> None:
    lab_world.reset()
    lab_world.allow(["vg0"], benchmark_bytes=1 << 30)
    args = run_args(lab_world, "lvmcache", seconds=3600, mode="writeback", profile="file_tree")
    op = agent.start("bench.run", args)
    end = time.monotonic() + LIMIT_SECONDS
    while (agent.data("op.get", {"op": op, "after": 0})["progress"] or {}).get(
        "label"
    ) != "measured":
        assert time.monotonic() < end
        time.sleep(1.0)
    host = lab_world.lab
    assert "benchmark-files" not in host.run("cat /proc/1/mounts").stdout, "no other sees it"
    procs = f"/sys/fs/cgroup/system.slice/tiercel-op-{op}.scope/cgroup.procs"
    loader = "$(pgrep -f benchmark-load)"
    assert "benchmark-files" in host.run(f"cat /proc/{loader}/mounts").stdout
    # The operation alone is killed: the load dies with it.
    host.run(f'kill -9 $(grep -vxF "{loader}" {procs} | head -1)')
    while scratch(agent) and time.monotonic() < end:
        time.sleep(2.0)
    assert scratch(agent) == set()
    assert host.run(["pgrep", "-f", "benchmark-load"], check=False).stdout == ""
    assert result_of(agent, args["key"])["outcome"] == "stopped"
