"""What a request may be. Nothing a client sends may crash the agent or reach a tool unchecked."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.agent import REPLY_LIMIT
from storage.agent.calls.call import VerbCall
from storage.agent.calls.refusals import Refusal
from storage.agent.state.owner import PanelIdentity
from storage.agent.verbs.registry import VERBS
from storage.agent.wire import protocol
from storage.agent.wire.serve import handle

from ..facts.replay import ReplayHost

ID = "2f1b9b1e-1111-4111-8111-111111111111"
VG_UUID = "m2HgF4-js5t-X0qT-eAMc-QICm-fqK1-0GIeGU"
CREATE = {
    "vg": "vg0",
    "name": "v-abcdefgh",
    "size_bytes": 1 << 30,
    "pvs": ["sdc"],
    "volume_key": "abcdefgh",
    "layout": "plain",
}


def line(**fields: Any) -> bytes:
    return json.dumps({"v": 1, "id": ID, **fields}).encode()


def create(**changes: Any) -> bytes:
    args = {**CREATE, **changes}
    return line(verb="volume.create", args=args, expect={"vg_uuid": VG_UUID})


def code_of(request: bytes) -> str:
    with pytest.raises(Refusal) as refused:
        protocol.parse(request)
    assert refused.value.message
    assert refused.value.correction
    return refused.value.code


def test_a_good_request_becomes_a_call_with_checked_arguments() -> None:
    request = protocol.parse(create())
    assert isinstance(request.body, VerbCall)
    assert request.id == ID
    assert request.body.verb in VERBS
    assert request.body.args["pvs"] == ("sdc",)


@pytest.mark.parametrize(
    "request_line",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"nonsense",
        b"\xff\xfe",
        b"[" * 60000,
        b'{"v":1,"v":1,"id":"' + ID.encode() + b'","verb":"hello"}',
        b'{"v":NaN}',
        b'{"v":1e999}',
        b'{"v":' + b"9" * 5000 + b"}",
        line(verb="hello", extra=1),
        line(verb="hello", args={"x": 1}),
        line(verb="hello", args=[]),
        line(verb=["hello"]),
        line(verb="hello", v=True),
        line(verb="hello", v=2),
        line(verb="hello", id=ID.upper()),
        line(verb="hello", id="../../etc/passwd"),
        line(verb="op.get", args={"op": ID + "\n"}),
        line(verb="op.get", args={"op": ID, "after": -1}),
        line(verb="op.get", args={"op": ID, "after": True}),
        line(dry_run=[]),
        line(dry_run=[{"verb": "volume.create", "args": {}, "expect": {}, "x": 1}]),
        line(dry_run=["volume.create"]),
        line(dry_run=[{"verb": "volume.create", "args": CREATE}], verb="hello"),
        line(verb="volume.create", args=CREATE, expect={}),
        line(verb="volume.create", args=CREATE),
        line(verb="cache.set", args={"vg": "vg0", "lv": "v"}, expect={"vg_uuid": VG_UUID}),
    ],
)
def test_a_malformed_request_is_refused(request_line: bytes) -> None:
    assert code_of(request_line) == "bad_request"


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "v-abcdefgh\n"},
        {"name": "v-abc"},
        {"name": "vm-101"},
        {"name": "--help"},
        {"vg": "-evil"},
        {"vg": ".."},
        {"vg": "a/b"},
        {"vg": "vg0;reboot"},
        {"vg": "vg\u0000"},
        {"vg": "\ud800"},
        {"pvs": []},
        {"pvs": ["sdc", "sdc"]},
        {"pvs": ["../etc/passwd"]},
        {"pvs": ["mapper/../sda"]},
        {"pvs": ["/dev/sda"]},
        {"pvs": "sdc"},
        {"size_bytes": 0},
        {"size_bytes": -512},
        {"size_bytes": 1 << 62},
        {"size_bytes": "1g"},
        {"size_bytes": True},
        {"layout": "thin"},
        {"volume_key": "ABCDEFGH"},
        {"force": True},
    ],
)
def test_a_hostile_argument_is_refused(changes: dict[str, Any]) -> None:
    assert code_of(create(**changes)) == "bad_request"


@pytest.mark.parametrize("name", ["v_corig", "x_cmeta", "lvol0_pmspare", "snapshot1", "pvmove0"])
def test_a_sub_volume_of_lvm_is_no_volume(name: str) -> None:
    expect = {"vg_uuid": VG_UUID, "lv_uuid": VG_UUID}
    request = line(verb="bcache.format", args={"vg": "vg0", "lv": name}, expect=expect)
    assert code_of(request) == "bad_request"


def test_an_unknown_verb_is_named_and_the_known_ones_are_listed() -> None:
    assert code_of(line(verb="lv.remove")) == "unknown_verb"
    assert code_of(line(dry_run=[{"verb": "hello"}])) == "unknown_verb"


def test_a_fence_is_a_number_beside_a_request_that_changes_something() -> None:
    document = json.loads(create())

    def fenced(fence: Any) -> bytes:
        return json.dumps({**document, "fence": fence}).encode()

    assert protocol.parse(fenced(3)).fence == 3
    assert protocol.parse(fenced(None)).fence is None
    assert protocol.parse(create()).fence is None
    for wrong in (0, -1, True, "3", [3], 1 << 54):
        assert code_of(fenced(wrong)) == "bad_request", wrong
    assert code_of(line(verb="inventory", fence=3)) == "bad_request"
    step = {key: document[key] for key in ("verb", "args", "expect")}
    assert code_of(line(dry_run=[step], fence=3)) == "bad_request"


def test_a_panel_is_named_where_only_the_owner_may_ask() -> None:
    panel = {"id": ID}
    named = line(verb="op.abort", args={"op": ID}, panel=panel)
    assert protocol.parse(named).panel == PanelIdentity(ID)
    assert code_of(line(verb="op.abort", args={"op": ID}, fence=3)) == "bad_request"
    for verb, args in (("inventory", {}), ("op.get", {"op": ID})):
        assert code_of(line(verb=verb, args=args, panel=panel)) == "bad_request"


def test_a_step_of_a_preview_need_not_know_a_uuid_that_does_not_exist_yet() -> None:
    args = {"vg": "vg0", "lv": "v-abcdefgh"}
    step = {"verb": "bcache.format", "args": args, "expect": {"vg_uuid": VG_UUID}}
    protocol.parse(line(dry_run=[step]))
    assert code_of(line(**step)) == "bad_request"


@pytest.mark.parametrize("unknown", ["vg_uuid", "lv_uuid"])
def test_null_is_no_identity(unknown: str) -> None:
    expect = {"vg_uuid": VG_UUID, "lv_uuid": VG_UUID, unknown: None}
    request = line(verb="bcache.format", args={"vg": "vg0", "lv": "web12"}, expect=expect)
    assert code_of(request) == "bad_request"


@pytest.mark.parametrize(
    ("cutoff", "good"),
    [(0, True), (4 << 20, True), (999 << 10, True), (1 << 30, True), (5_000_000, False)],
)
def test_a_cutoff_must_be_one_that_the_kernel_shows_back(cutoff: int, good: bool) -> None:
    args = {"vg": "vg0", "lv": "v-abcdefgh", "sequential_cutoff_bytes": cutoff}
    expect = {"vg_uuid": VG_UUID, "lv_uuid": VG_UUID}
    request = line(verb="bcache.set", args=args, expect=expect)
    if good:
        protocol.parse(request)
    else:
        assert code_of(request) == "bad_request"


def test_a_request_over_the_limit_is_refused() -> None:
    assert code_of(line(verb="hello", args={"x": "y" * protocol.REQUEST_LIMIT})) == "too_large"


def test_a_reply_over_the_limit_becomes_an_error_with_the_same_id() -> None:
    reply = protocol.ok_reply(ID, {"x": "y" * REPLY_LIMIT}, {"boot_id": "b"})
    answer = json.loads(protocol.encode(reply))
    assert (answer["id"], answer["ok"], answer["error"]["code"]) == (ID, False, "too_large")


def test_a_reply_is_one_ascii_line_whatever_is_in_it() -> None:
    text = "\u2028\ud800</script>\n"
    data = protocol.encode(protocol.ok_reply(ID, {"name": text}, {}))
    assert data.count(b"\n") == 1
    assert data.isascii()
    assert json.loads(data)["data"]["name"] == text


@given(st.binary(max_size=300))
def test_any_bytes_get_a_typed_error(data: bytes) -> None:
    answer = json.loads(handle(data, ReplayHost("host-cached")))
    assert answer["error"]["code"] in ("bad_request", "unknown_verb")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.sampled_from([*CREATE, "expect"]), json_values)
def test_any_value_in_any_argument_is_checked(name: str, value: Any) -> None:
    document = json.loads(create())
    if name == "expect":
        document["expect"] = value
    else:
        document["args"][name] = value
    try:
        request = protocol.parse(json.dumps(document).encode())
    except Refusal as refusal:
        assert refusal.code == "bad_request"
    else:
        assert isinstance(request.body, VerbCall)
        assert request.body.args[name] in (value, tuple(value) if name == "pvs" else value)


@pytest.mark.parametrize(
    ("verb", "args"),
    [
        ("cache.flush", {"dirty_limit_bytes": (1 << 30) + 1}),
        ("cache.detach", {"pool": "c-abcdefgh", "dirty_limit_bytes": (1 << 30) + 1}),
        ("bcache.flush", {"dirty_limit_bytes": 0, "writeback_percent": 41}),
        ("bcache.set", {"writeback_percent": -1}),
    ],
)
def test_no_more_may_be_left_dirty_than_lvm_may_flush_under_its_lock(
    verb: str, args: dict[str, Any]
) -> None:
    expect = {"vg_uuid": VG_UUID, "lv_uuid": VG_UUID}
    request = line(verb=verb, args={"vg": "vg0", "lv": "web12", **args}, expect=expect)
    assert code_of(request) == "bad_request"
