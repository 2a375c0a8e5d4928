"""Requests that are not requests: refused one by one, on a channel that goes on."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from storage.naming import new_key
from tests.contract.client import Agent, volume_args
from tests.contract.world import World

ID = "4d3c9e3a-9c1b-4f6e-8d3c-000000000001"
LINES = {
    "no JSON": b"lvs\n",
    "no object": b"[1]\n",
    "no UTF-8": b'{"v":1,"id":"\xff"}\n',
    "an empty line": b"\n",
    "another version": b'{"v":2,"id":"%s","verb":"hello"}\n',
    "no id": b'{"v":1,"verb":"hello"}\n',
    "a key twice": b'{"v":1,"id":"%s","verb":"hello","verb":"sample"}\n',
    "not a number": b'{"v":1,"id":"%s","verb":"op.get","args":{"op":"%s","after":NaN}}\n',
    "an unknown field": b'{"v":1,"id":"%s","verb":"hello","force":true}\n',
    "an unknown argument": b'{"v":1,"id":"%s","verb":"hello","args":{"x":1}}\n',
    "too deep": b'{"v":1,"id":"%s","args":' + b"[" * 30000 + b"\n",
}
HOSTILE = (
    "", ".", "..", "-x", "--force", "a b", "a;reboot", "$(reboot)", "../vg1/x", "/dev/sda",
    "a\nb", "v-aaaaaaaa\n", "a" * 200, "x\0", "é", "web,1",
)  # fmt: skip
RESERVED = ("web12_corig", "c_cpool", "snapshot0", "pvmove0", "lvol0_pmspare")


@pytest.mark.parametrize("case", LINES)
def test_what_is_no_request_is_a_bad_request(world: World, agent: Agent, case: str) -> None:
    line = LINES[case].replace(b"%s", ID.encode())
    reply = json.loads(world.answer(line))
    assert not reply["ok"]
    assert reply["error"]["code"] == "bad_request"
    assert agent.ask("sample")["ok"], "the channel goes on"


def test_an_unknown_verb_is_named_so(agent: Agent) -> None:
    assert agent.ask("volume.destroy")["error"]["code"] == "unknown_verb"
    assert agent.ask("lvs; reboot")["error"]["code"] == "unknown_verb"


def test_an_oversize_request_is_refused_and_the_channel_goes_on(world: World, agent: Agent) -> None:
    line = json.dumps({"v": 1, "id": ID, "verb": "hello", "args": {"x": "y" * 70000}}).encode()
    assert json.loads(world.answer(line + b"\n"))["error"]["code"] == "too_large"
    assert agent.ask("sample")["ok"]


@pytest.mark.parametrize("name", RESERVED)
def test_a_name_that_lvm_keeps_for_itself_is_a_bad_request(agent: Agent, name: str) -> None:
    expect = agent.expecting(None) | {"lv_uuid": "AAAAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA"}
    reply = agent.ask("cache.set", {"vg": "vg0", "lv": name, "mode": "writethrough"}, expect)
    assert reply["error"]["code"] == "bad_request"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_bad_request(agent: Agent, name: str) -> None:
    requests: list[tuple[str, dict[str, Any]]] = [
        ("volume.create", {**volume_args(new_key()), "name": name}),
        ("volume.create", {**volume_args(new_key()), "pvs": [name]}),
        ("cache.set", {"lv": name, "mode": "writethrough"}),
        ("volume.tag", {"lv": "web12", "volume_key": name}),
    ]
    expect = agent.expecting(None) | {"lv_uuid": "AAAAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA"}
    with agent.unchanged():
        for verb, args in requests:
            more = {"lv_name": "web12", "size_bytes": 512} if verb == "volume.tag" else {}
            reply = agent.ask(verb, {"vg": "vg0", **args}, expect | more)
            assert reply["error"]["code"] == "bad_request", (verb, args)


def test_the_same_operation_id_runs_once(agent: Agent) -> None:
    args, expect = agent.call("volume.create", volume_args(new_key()))
    op = str(uuid.uuid4())
    first = agent.ask("volume.create", args, expect, id=op)
    again = agent.ask("volume.create", args, expect, id=op)
    assert first["data"] == again["data"] == {"op": op}
    assert agent.outcome(op)["state"] == "done"
    assert agent.ask("volume.create", args, expect, id=op)["data"] == {"op": op}
    assert [each["op"] for each in agent.data("op.list")["ops"]] == [op]
    assert len(agent.names()) == 1


def test_another_request_under_a_used_id_is_a_conflict(agent: Agent) -> None:
    args, expect = agent.call("volume.create", volume_args(new_key()))
    op = str(uuid.uuid4())
    agent.ask("volume.create", args, expect, id=op)
    agent.outcome(op)
    other = agent.ask("volume.create", {**args, "volume_key": new_key()}, expect, id=op)
    assert other["error"]["code"] == "op_conflict"


def test_lines_of_an_operation_are_read_from_where_one_stopped(agent: Agent) -> None:
    outcome = agent.do("volume.create", volume_args(new_key()))
    first = outcome["lines"][0]["n"]
    rest = agent.data("op.get", {"op": outcome["op"], "after": first})["lines"]
    assert rest == outcome["lines"][1:]
