"""In the lab: a run whose operation is killed, or whose host loses its power, leaves nothing."""

from __future__ import annotations

import time

import pytest

from tests.contract.benchmark_runs import measuring, result_of, run_args, scratch
from tests.contract.client import Agent
from tests.contract.lab_world import LabWorld

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab"), pytest.mark.thorough]
LIMIT_SECONDS = 300.0


@pytest.fixture
def world(lab_world: LabWorld) -> LabWorld:
    lab_world.reset()
    lab_world.allow(["vg0"], benchmark_bytes=1 << 30)
    return lab_world


@pytest.mark.parametrize("target", ["lvmcache", "bcache"])
def test_a_run_that_is_killed_leaves_nothing_but_its_result(
    agent: Agent, world: LabWorld, target: str
) -> None:
    args = run_args(world, target, seconds=3600, mode="writeback", profile="mixed")
    op = agent.start("bench.run", args)
    measuring(agent, op)
    # Neither fio nor anything else of its scope is told.
    procs = f"/sys/fs/cgroup/system.slice/tiercel-op-{op}.scope/cgroup.procs"
    world.lab.run(f'kill -9 $(grep -vxF "$(pgrep -x fio)" {procs} | head -1)')
    end = time.monotonic() + LIMIT_SECONDS
    while scratch(agent) and time.monotonic() < end:
        time.sleep(2.0)
    assert scratch(agent) == set()
    assert world.lab.run(["pgrep", "-x", "fio"], check=False).stdout == ""
    assert world.lab.run("ls -d /sys/block/bcache*", check=False).stdout == ""
    ended = result_of(agent, args["key"])
    assert ended["outcome"] == "stopped" and ended["reached_seconds"] > 0
    assert agent.outcome(op)["state"] == "interrupted"


def test_a_run_whose_host_loses_its_power_leaves_nothing_but_its_result(
    agent: Agent, world: LabWorld
) -> None:
    args = run_args(world, "bcache", seconds=3600, mode="writeback", profile="mixed")
    measuring(agent, agent.start("bench.run", args))
    world.restart()
    rc, printed = world.boot()
    assert rc == 0, printed
    assert scratch(agent) == set()
    ended = result_of(agent, args["key"])
    assert ended["outcome"] == "stopped"
    assert agent.names() == set()
