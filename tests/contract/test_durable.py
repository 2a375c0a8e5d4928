"""Operations that lose nothing: one run for one id, turns in a VG, stopping on request."""

from __future__ import annotations

import time
import uuid
from typing import Any

import pytest

from tests.contract.client import MIB, Agent
from tests.contract.world import World

pytestmark = pytest.mark.thorough


def until_at_work(agent: Agent, op: str, number: int) -> None:
    """Until a command of an operation was begun."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        found = agent.data("op.get", {"op": op, "after": 0})
        if len(found["commands"]) > number and found["commands"][number]["started_ns"]:
            return
        assert found["state"] == "running", found
        time.sleep(agent.world.poll_seconds)
    raise AssertionError(f"command {number} of {op} does not begin")


def test_each_command_says_when_it_began_and_when_it_ended(agent: Agent) -> None:
    commands = agent.do("volume.create", agent.volume_args())["commands"]
    times = [each[key] for each in commands for key in ("started_ns", "ended_ns")]
    assert len(times) == 6
    assert times == sorted(times)


def test_an_operation_that_is_run_again_does_nothing(agent: Agent, world: World) -> None:
    args = agent.volume_args()
    op = agent.start("volume.create", args)
    before = agent.outcome(op)
    world.remove_lv(args["name"])
    with agent.unchanged():
        world.run_op(op)
        assert agent.outcome(op) == before


def test_without_room_for_the_journal_nothing_is_run(agent: Agent, world: World) -> None:
    args, expect = agent.call("volume.create", agent.volume_args())
    with agent.unchanged(), world.journal_full():
        error = agent.ask("volume.create", args, expect)["error"]
        assert error["code"] == "journal_unwritable"
        assert "/var/lib/tiercel" in error["correction"]
    agent.do("volume.create", args)


def test_the_host_refuses_who_lost_its_turn(agent: Agent) -> None:
    first, expect = agent.call("volume.create", agent.volume_args())
    second = agent.volume_args()
    op = str(uuid.uuid4())

    def ask(args: Any, **more: Any) -> Any:
        return agent.ask("volume.create", {"vg": "vg0", **args}, expect, **more)

    assert ask(first, id=op, fence=7)["data"] == {"op": op}
    assert agent.outcome(op)["state"] == "done"
    assert ask(first, id=op, fence=7)["data"] == {"op": op}
    with agent.unchanged():
        for late in ({"fence": 6}, {"fence": 7}, {}):
            error = ask(second, **late)["error"]
            assert error["code"] == "stale_fence", late
            assert "number 7" in error["message"]
    assert agent.outcome(ask(second, fence=8)["data"]["op"])["state"] == "done"


def test_a_number_that_is_none_and_a_number_of_a_reading_verb_are_bad_requests(
    agent: Agent,
) -> None:
    args, expect = agent.call("volume.create", agent.volume_args())
    with agent.unchanged():
        for fence in (0, -1, "7", True, [7], 1 << 60):
            reply = agent.ask("volume.create", args, expect, fence=fence)
            assert reply["error"]["code"] == "bad_request", fence
        for verb in ("hello", "sample", "op.list"):
            assert agent.ask(verb, fence=7)["error"]["code"] == "bad_request"


def test_zeroing_stops_on_request_and_is_taken_up_again(agent: Agent, world: World) -> None:
    args = agent.volume_args()
    world.add_lv("old", 64 * MIB)
    world.scribble("old")
    world.remove_lv("old")
    with world.held("blkdiscard"):
        op = agent.start("volume.create", args)
        until_at_work(agent, op, 1)
        assert agent.data("op.abort", {"op": op}) == {"op": op, "state": "running"}
        # Once more; it may be over by then.
        assert agent.data("op.abort", {"op": op})["state"] in ("running", "interrupted")
    outcome = agent.outcome(op)
    assert (outcome["state"], outcome["error"]["code"]) == ("interrupted", "aborted")
    assert [each["ended_ns"] is not None for each in outcome["commands"]] == [True, True, False]
    assert agent.data("op.abort", {"op": op}) == {"op": op, "state": "interrupted"}
    assert "tiercel.zeroing" in agent.lv(args["name"])["tags"]
    agent.do("volume.create", args)
    assert world.reads_as_zeros(args["name"])


def test_what_cannot_be_stopped_half_way_is_not_stopped(agent: Agent, world: World) -> None:
    volume = agent.volume("bcache")
    with world.held("make-bcache"):
        op = agent.start("bcache.format", {"lv": volume})
        until_at_work(agent, op, 1)
        error = agent.ask("op.abort", {"op": op})["error"]
        assert error["code"] == "not_abortable" and "Format a fresh volume" in error["message"]
    agent.outcome(op)
    assert agent.ask("op.abort", {"op": str(uuid.uuid4())})["error"]["code"] == "not_found"
