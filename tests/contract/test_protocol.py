"""Requests that are not requests: refused one by one, on a channel that goes on."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from storage.naming import new_key
from tests.contract.client import Agent
from tests.contract.world import World

pytestmark = pytest.mark.thorough

ID = "4d3c9e3a-9c1b-4f6e-8d3c-000000000001"
UUID = "AAAAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAAAA"
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


def test_what_is_no_request_is_refused_and_the_channel_goes_on(world: World, agent: Agent) -> None:
    for case, line in LINES.items():
        reply = json.loads(world.answer(line.replace(b"%s", ID.encode())))
        assert not reply["ok"] and reply["error"]["code"] == "bad_request", case
    for verb in ("volume.explode", "lvs; reboot"):
        assert agent.ask(verb)["error"]["code"] == "unknown_verb"
    large = {"v": 1, "id": ID, "verb": "hello", "args": {"x": "y" * 70000}}
    reply = json.loads(world.answer(json.dumps(large).encode() + b"\n"))
    assert reply["error"]["code"] == "too_large"
    assert agent.ask("sample")["ok"]


def test_a_hostile_name_is_a_bad_request(agent: Agent) -> None:
    expect = agent.expecting(None) | {"lv_uuid": UUID}

    def code(verb: str, args: dict[str, Any], **more: Any) -> str:
        return str(agent.ask(verb, {"vg": "vg0", **args}, expect | more)["error"]["code"])

    with agent.unchanged():
        for name in HOSTILE:
            named = {"lv_name": "web12", "size_bytes": 512}
            assert {
                code("volume.create", agent.volume_args(name=name)),
                code("volume.create", agent.volume_args(pvs=[name])),
                code("cache.set", {"lv": name, "mode": "writethrough"}),
                code("volume.tag", {"lv": "web12", "volume_key": name}, **named),
            } == {"bad_request"}, name
        for name in RESERVED:
            assert code("cache.set", {"lv": name, "mode": "writethrough"}) == "bad_request"


def test_the_same_operation_id_runs_once_and_never_for_another_request(agent: Agent) -> None:
    args, expect = agent.call("volume.create", agent.volume_args())
    op = str(uuid.uuid4())
    first = agent.ask("volume.create", args, expect, id=op)
    again = agent.ask("volume.create", args, expect, id=op)
    assert first["data"] == again["data"] == {"op": op}
    assert agent.outcome(op)["state"] == "done"
    assert agent.ask("volume.create", args, expect, id=op)["data"] == {"op": op}
    other = agent.ask("volume.create", {**args, "volume_key": new_key()}, expect, id=op)
    assert other["error"]["code"] == "op_conflict"
    assert [each["op"] for each in agent.data("op.list")["ops"]] == [op]
    assert len(agent.names()) == 1
