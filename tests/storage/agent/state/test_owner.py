"""One panel manages a host: a second one is refused until root says so, and both report it."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from storage.agent.calls.refusals import Refusal
from storage.agent.operations import pacer
from storage.agent.state import owner
from storage.agent.state.fence import FOLDER
from tests.contract.client import Agent
from tests.fake import FakeHost
from tests.smart_disks import ata

ONE, TWO, THREE = (str(uuid.UUID(int=0xABC << 96 | n, version=4)) for n in (1, 2, 3))


def create(agent: Agent, panel: Any, fence: int | None) -> Any:
    """A request of `panel` that changes something; the whole reply."""
    args = {"vg": "vg0", **agent.volume_args()}
    more = {key: value for key, value in (("panel", panel), ("fence", fence)) if value is not None}
    reply = agent.ask("volume.create", args, agent.expecting(None), **more)
    if reply["ok"]:
        assert agent.outcome(reply["data"]["op"])["state"] == "done"
    return reply


def code(agent: Agent, panel: Any, fence: int | None) -> str:
    reply = create(agent, panel, fence)
    return "" if reply["ok"] else str(reply["error"]["code"])


def test_the_first_panel_that_speaks_manages_the_host(host: FakeHost, agent: Agent) -> None:
    assert agent.data("hello")["owner"] is None
    assert code(agent, {"id": ONE}, 1) == ""
    assert agent.data("hello")["owner"]["panel"] == ONE
    with agent.unchanged():
        error = create(agent, {"id": TWO}, 1000)["error"]
        assert error["code"] == "other_panel" and ONE in error["message"]
        assert f"adopt-panel {TWO}" in error["correction"]
        assert code(agent, None, 1000) == "other_panel", "no panel is another panel"
    assert code(agent, {"id": ONE}, 2) == ""


def test_both_panels_see_each_other(host: FakeHost, agent: Agent) -> None:
    create(agent, {"id": ONE}, 1)
    create(agent, {"id": TWO}, 2)
    shown = agent.data("hello")["owner"]
    assert (shown["panel"], shown["rival"]) == (ONE, TWO)
    assert 0 <= host.wall_ns() // 10**9 - shown["rival_seen_s"] < 60


def test_root_names_the_panel_and_the_other_is_refused_from_then(
    host: FakeHost, agent: Agent
) -> None:
    create(agent, {"id": ONE}, 100)
    assert TWO in owner.adopt_host(host, TWO)
    assert code(agent, {"id": TWO}, 1) == "", "it counts its turns anew"
    assert code(agent, {"id": ONE}, 101) == "other_panel"
    assert code(agent, {"id": TWO}, 1) == "stale_fence"


def test_a_restored_panel_takes_over_from_the_one_it_was_restored_from(agent: Agent) -> None:
    create(agent, {"id": ONE}, 500)
    assert code(agent, {"id": TWO, "after": [ONE]}, 20) == ""
    assert code(agent, {"id": ONE}, 501) == "other_panel", "the old machine is still up"
    assert code(agent, {"id": THREE, "after": [ONE]}, 900) == "other_panel", "restored twice"
    assert code(agent, {"id": THREE, "after": [TWO, ONE]}, 5) == ""


def test_a_host_with_turns_from_before_takes_the_first_panel_whose_number_is_above(
    host: FakeHost, agent: Agent
) -> None:
    vg_uuid = agent.expecting(None)["vg_uuid"]
    host.save(f"{FOLDER}/{vg_uuid}", b'{"fence": 40, "op": "x"}')
    with agent.unchanged():
        assert code(agent, {"id": ONE}, 40) == "stale_fence"
    assert agent.data("hello")["owner"] is None
    assert agent.data("hello")["fences"] == {vg_uuid: 40}
    assert code(agent, {"id": ONE}, 41) == ""
    assert agent.data("hello")["fences"] == {vg_uuid: 41}


def test_an_operation_that_waited_while_the_host_changed_hands_changes_nothing(
    host: FakeHost, agent: Agent
) -> None:
    with host.lock("vg0", 1.0):
        args = {"vg": "vg0", **agent.volume_args()}
        expect = agent.expecting(None)
        reply = agent.ask("volume.create", args, expect, panel={"id": ONE}, fence=1)
        owner.adopt_host(host, TWO)
    outcome = agent.outcome(reply["data"]["op"])
    assert outcome["error"]["code"] == "other_panel"
    assert agent.inventory()["lvs"] == []


@pytest.mark.parametrize(
    "panel",
    [
        "one",
        7,
        [],
        {"id": "one"},
        {"id": ONE.upper()},
        {"id": ONE, "name": "x"},
        {"after": [ONE]},
        {"id": ONE, "after": TWO},
        {"id": ONE, "after": ["../x"]},
        {"id": ONE, "after": [str(uuid.uuid4()) for _ in range(17)]},
    ],
)
def test_a_panel_is_an_id_and_few_ancestors(agent: Agent, panel: Any) -> None:
    with agent.unchanged():
        assert code(agent, panel, 1) == "bad_request"


def test_a_panel_is_named_only_beside_what_changes_something(agent: Agent) -> None:
    assert agent.ask("inventory", panel={"id": ONE})["error"]["code"] == "bad_request"


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"panel": "x"}', b"\xff"])
def test_an_owner_that_cannot_be_understood_is_none(
    host: FakeHost, agent: Agent, content: bytes
) -> None:
    host.save(owner.PATH, content)
    with pytest.raises(Refusal, match="unknown which panel manages"):
        owner.load_owner(host)
    assert code(agent, {"id": ONE}, 1) == "journal_unwritable"
    hello = agent.data("hello")
    assert hello["owner"] is None
    assert "owner_broken" in [problem["code"] for problem in hello["problems"]]
    owner.adopt_host(host, ONE)
    assert code(agent, {"id": ONE}, 1) == ""


@pytest.mark.parametrize("panel_id", ["", "one", f"{ONE}\n", f" {ONE}"])
def test_root_names_a_panel_by_its_whole_id(host: FakeHost, panel_id: str) -> None:
    with pytest.raises(ValueError, match="UUID"):
        owner.adopt_host(host, panel_id)


@pytest.mark.parametrize("panel", [{"id": TWO}, None])
def test_another_panel_neither_stops_nor_hastens_what_the_owner_began(
    host: FakeHost, agent: Agent, panel: Any
) -> None:
    more = {"panel": panel} if panel is not None else {}
    pause = host.pause_next("lvcreate")
    args = {"vg": "vg0", **agent.volume_args()}
    ones = {"panel": {"id": ONE}, "fence": 1}
    op = agent.ask("volume.create", args, agent.expecting(None), **ones)["data"]["op"]
    pause.reached.wait(10)
    for verb, wanted in (("op.abort", {"op": op}), ("op.pace", {"op": op, "rise_percent": 100})):
        error = agent.ask(verb, wanted, **more)["error"]
        assert error["code"] == "other_panel" and ONE in error["message"]
    assert agent.ask("op.get", {"op": op, "after": 0})["ok"], "any panel may look"
    assert pacer.allowed(host, op, 20) == 20
    pause.resume()
    assert agent.outcome(op)["state"] == "done"
    assert agent.data("hello")["owner"]["rival"] == (TWO if panel else "")


def test_the_owner_and_panels_restored_from_it_stop_an_operation(
    host: FakeHost, agent: Agent
) -> None:
    for n, panel in enumerate(({"id": ONE}, {"id": TWO, "after": [ONE]})):
        pause = host.pause_next("lvcreate")
        args = {"vg": "vg0", **agent.volume_args()}
        ones = {"panel": panel, "fence": n + 1}
        op = agent.ask("volume.create", args, agent.expecting(None), **ones)["data"]["op"]
        pause.reached.wait(10)
        paced = agent.ask("op.pace", {"op": op, "rise_percent": 50}, panel=panel)
        assert paced["ok"], paced
        assert agent.ask("op.abort", {"op": op}, panel=panel)["ok"]
        pause.resume()
        assert agent.outcome(op)["error"]["code"] == "aborted"


def test_another_panel_begins_no_check_of_disks(host: FakeHost, agent: Agent) -> None:
    with host.changing() as machine:
        machine.disks[2].smart = ata("HDD", "H1", [], rotation_rpm=7200)
    array = {"array": "md0", "uuid": host.machine.arrays[0].uuid}
    disk = {"device": "/dev/sdc", "type": "", "serial": "H1", "kind": "short"}
    assert create(agent, {"id": ONE}, 1)["ok"]
    for more in ({"panel": {"id": TWO}}, {}):
        for verb, args in (("array.check", array), ("disk.test", disk)):
            assert agent.ask(verb, args, **more)["error"]["code"] == "other_panel"
    (state,) = agent.data("inventory")["arrays"]
    assert state["sync_action"] == "idle"
    assert not any("-t" in argv for argv in host.executed if argv[0] == "smartctl")
    for verb, args in (("array.check", array), ("disk.test", disk)):
        assert agent.ask(verb, args, panel={"id": ONE})["ok"]


def test_a_host_without_an_owner_lets_each_panel_check_its_disks(
    host: FakeHost, agent: Agent
) -> None:
    array = {"array": "md0", "uuid": host.machine.arrays[0].uuid}
    assert agent.ask("array.check", array, panel={"id": ONE})["ok"]
    assert agent.data("hello")["owner"] is None, "who only has something read owns nothing"
