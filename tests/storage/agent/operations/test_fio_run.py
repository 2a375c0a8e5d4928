"""A run of fio: whatever becomes of it, nothing is left but a result."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from storage.agent.benchmark import cleanup, kept_results
from storage.agent.benchmark.cache_legs import LegsSampler
from storage.agent.operations.boot import boot
from tests.contract.benchmark_runs import (
    legs_of,
    result_of,
    run,
    run_args,
    scratch,
    text_of,
)
from tests.contract.client import Agent
from tests.fake import FakeHost
from tests.fake.host import Killed
from tests.fake.parts import Cache


@pytest.fixture(autouse=True)
def allowed(agent: Agent) -> None:
    agent.world.allow(["vg0"], benchmark_bytes=1 << 30)


def nothing_is_left(host: FakeHost, agent: Agent) -> None:
    assert scratch(agent) == set()
    assert host.machine.csets == host.machine.backings == []
    assert [load for load in host.machine.loads if load.program] == []


@pytest.mark.parametrize(
    ("target", "program"),
    [
        ("hdd", "lvcreate"),
        ("hdd", "fio"),
        ("hdd", "blockdev"),
        ("lvmcache", "lvconvert"),
        ("bcache", "modprobe"),
        ("bcache", "make-bcache"),
    ],
)
def test_a_command_that_fails_leaves_nothing_but_the_reason(
    host: FakeHost, agent: Agent, target: str, program: str
) -> None:
    args = run_args(agent.world, target)
    # fio is asked for its version first.
    for _ in range(1 + (program == "fio")):
        host.fail_next(program, 5, "  Broken.\n")
    outcome = agent.outcome(agent.start("bench.run", args))
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "cmd_failed")
    nothing_is_left(host, agent)
    ended = result_of(agent, args["key"])
    assert ended["outcome"] == "failed" and "Broken" in ended["message"] and ended["correction"]


def test_fio_that_fails_while_it_is_measured_says_why(host: FakeHost, agent: Agent) -> None:
    agent.data("inventory")
    pause = host.pause_next("blockdev")
    args = run_args(agent.world, "bcache")
    op = agent.start("bench.run", args)
    pause.reached.wait(10)
    host.fail_next("fio", 1, "fio: io_u error on file /dev/bcache0: Input/output error\n")
    pause.resume()
    assert agent.outcome(op)["state"] == "failed"
    nothing_is_left(host, agent)
    assert "Input/output error" in result_of(agent, args["key"])["message"]


@pytest.mark.parametrize("program", ["lvcreate", "lvconvert", "fio", "blockdev"])
@pytest.mark.parametrize("target", ["lvmcache", "bcache"])
def test_an_operation_that_is_killed_leaves_nothing(
    host: FakeHost, agent: Agent, target: str, program: str
) -> None:
    if (target, program) == ("bcache", "lvconvert"):
        program = "make-bcache"
    args = run_args(agent.world, target, mode="writeback")
    agent.data("inventory")
    host.kill_next(program)
    op = agent.start("bench.run", args)
    host.wait_for_ops()
    nothing_is_left(host, agent)
    assert result_of(agent, args["key"])["outcome"] == "stopped"
    host.advance(60)
    assert agent.outcome(op)["state"] == "interrupted"


def test_a_run_that_is_killed_says_how_far_it_came(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = LegsSampler.row

    def dies(self: LegsSampler, ms: int) -> dict[str, Any]:
        if ms > 20_000:
            raise Killed("the operation")
        return row(self, ms)

    monkeypatch.setattr(LegsSampler, "row", dies)
    args = run_args(agent.world, "lvmcache", seconds=60)
    agent.start("bench.run", args)
    host.wait_for_ops()
    nothing_is_left(host, agent)
    ended = result_of(agent, args["key"])
    assert ended["outcome"] == "stopped" and 10 <= ended["reached_seconds"] <= 20
    assert len(legs_of(agent, args["key"])) > 20


def test_what_systemd_did_not_remove_the_boot_unit_does(host: FakeHost, agent: Agent) -> None:
    args = run_args(agent.world, "bcache", mode="writeback")
    agent.data("inventory")
    host.kill_next("blockdev")
    host.op_clean_up = lambda op: None  # type: ignore[method-assign]
    agent.start("bench.run", args)
    host.wait_for_ops()
    assert scratch(agent)
    done, failed = boot(host)
    assert failed == [] and any("lvremove" in line for line in done)
    nothing_is_left(host, agent)
    assert agent.inventory()["benchmarks"] == [{"key": args["key"], "outcome": "stopped"}]


def test_what_is_left_of_one_run_the_next_removes(host: FakeHost, agent: Agent) -> None:
    agent.data("inventory")
    host.kill_next("blockdev")
    host.op_clean_up = lambda op: None  # type: ignore[method-assign]
    first = run_args(agent.world, "lvmcache")
    agent.start("bench.run", first)
    host.wait_for_ops()
    assert scratch(agent)
    run(agent, run_args(agent.world, "hdd"))
    nothing_is_left(host, agent)
    assert result_of(agent, first["key"])["outcome"] == "stopped"


def test_one_runs_at_a_time(host: FakeHost, agent: Agent) -> None:
    agent.data("inventory")
    pause = host.pause_next("blockdev")
    op = agent.start("bench.run", run_args(agent.world, "hdd"))
    pause.reached.wait(10)
    other = run_args(agent.world, "ssd")
    outcome = agent.outcome(agent.start("bench.run", other))
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "busy")
    assert cleanup.clean_up(host, 0.0) == ([], []), "a run at work is left alone"
    assert [each["key"] for each in kept_results.ended_runs(host)] == []
    pause.resume()
    assert agent.outcome(op)["state"] == "done"
    assert agent.outcome(agent.start("bench.run", other))["state"] == "done"


def test_a_steady_neighbour_makes_fio_stand_still(host: FakeHost, agent: Agent) -> None:
    neighbour = agent.volume()
    host.root.load(neighbour, iops=100, hit_rate=0.0)
    with host.changing() as machine:
        machine.fio_hurts = True
    ended = run(agent, run_args(agent.world, "hdd", seconds=120))
    assert ended["outcome"] == "finished" and len(ended["pauses"]) >= 2
    assert all(begun < until <= 125_000 for begun, until in ended["pauses"])


def test_neighbours_are_recorded_before_during_and_after(host: FakeHost, agent: Agent) -> None:
    neighbour = agent.volume()
    host.root.load(neighbour, iops=50, hit_rate=0.0)
    args = run_args(agent.world, "hdd", seconds=30)
    assert run(agent, args)["pauses"] == []
    conditions = json.loads(text_of(agent, args["key"], "conditions.json"))
    for when in ("before", "during", "after"):
        assert 40 <= conditions["neighbours"][when]["iops"] <= 60
    assert conditions["versions"]["fio"] == "3.33"
    (disk,) = conditions["disks"]
    assert disk["name"] == "sdc" and disk["scheduler"] and disk["write_cache"]


def test_a_cache_that_is_not_as_it_was_ordered_is_not_measured(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel has taken something in already."""
    monkeypatch.setattr("tests.fake.cachepool.Cache", partial(Cache, used=90.0))
    args = run_args(agent.world, "lvmcache")
    outcome = agent.outcome(agent.start("bench.run", args))
    assert outcome["state"] == "failed" and "not empty" in outcome["error"]["message"]
    ended = result_of(agent, args["key"])
    assert ended["state_before"]["used_chunks"] == 90 and ended["reached_seconds"] == 0
    nothing_is_left(host, agent)


def test_another_volume_of_the_name_is_never_written_to(host: FakeHost, agent: Agent) -> None:
    """Somebody puts another volume in its place between two commands."""
    args = run_args(agent.world, "hdd")
    agent.data("inventory")
    pause = host.pause_next("blockdev")
    op = agent.start("bench.run", args)
    pause.reached.wait(10)
    name = f"b-{args['key']}"
    with host.changing() as machine:
        lv = host.root.lv(name)
        lv.name = "moved-away"
        machine.changed(lv.vg)
    host.root.add_lv(name, 64 << 20, "sdc")
    begun = len(host.executed)
    pause.resume()
    assert agent.outcome(op)["state"] == "failed"
    assert [argv for argv in host.executed[begun:] if argv[0] in ("fio", "lvremove")] == []
    assert {name, "moved-away"} <= agent.names()
