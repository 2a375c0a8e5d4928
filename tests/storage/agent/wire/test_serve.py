from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from storage.agent.wire.serve import replies, serve, unreplaced
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host

HELLO = b'{"v":1,"id":"2f1b9b1e-1111-4111-8111-111111111111","verb":"hello"}\n'


def test_each_line_is_answered_until_the_channel_ends(fake_host: FakeHost) -> None:
    out = io.BytesIO()
    serve(io.BytesIO(HELLO + b"x" * 100_000 + b"\n" + HELLO), out, fake_host, lambda: True)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [answer["ok"] for answer in answers] == [True, False, True]


def test_an_agent_that_was_replaced_leaves_the_next_line_to_the_new_one(
    fake_host: FakeHost, tmp_path: Path
) -> None:
    installed, new = tmp_path / "agent.pyz", tmp_path / "agent.pyz.new"
    installed.write_bytes(b"old")
    is_installed = unreplaced(str(installed))
    assert is_installed()
    new.write_bytes(b"new")
    new.replace(installed)
    out = io.BytesIO()
    serve(io.BytesIO(HELLO), out, fake_host, is_installed)
    assert out.getvalue() == b""


def watch(host: FakeHost, **args: Any) -> bytes:
    uuid = host.root.add_lv("web12", 1 << 30).uuid
    host.root.load("web12")
    args = {"lv_uuids": [uuid], "every_seconds": 1, "count": 5, **args}
    request = {"v": 1, "id": "2f1b9b1e-1111-4111-8111-111111111111", "verb": "sample.watch"}
    return json.dumps({**request, "args": args}).encode() + b"\n"


def test_a_watch_has_as_many_replies_as_it_asks_for_at_even_times(fake_host: FakeHost) -> None:
    waits = []

    def is_quiet(seconds: float) -> bool:
        waits.append(seconds)
        fake_host.advance(seconds + 0.25)
        return True

    lines = [json.loads(line) for line in replies(watch(fake_host), fake_host, is_quiet)]
    assert [len(line["data"]["volumes"]) for line in lines] == [1] * 5
    assert waits == [1.0, 0.75, 0.75, 0.75], "being late once delays no other"
    reads = [line["data"]["volumes"][0]["disk"][0] for line in lines]
    assert reads == sorted(set(reads))


def test_a_watch_ends_when_the_panel_says_something_else(fake_host: FakeHost) -> None:
    answers = iter([True, True, False])
    lines = list(replies(watch(fake_host), fake_host, lambda seconds: next(answers)))
    assert len(lines) == 3


def test_a_watch_ends_with_its_channel(fake_host: FakeHost) -> None:
    ours, theirs = os.pipe()
    out = io.BytesIO()
    with os.fdopen(ours, "rb") as reader, os.fdopen(theirs, "wb") as writer:
        agent = threading.Thread(target=serve, args=(reader, out, fake_host, lambda: True))
        writer.write(watch(fake_host, count=900, every_seconds=60))
        writer.flush()
        agent.start()
        writer.close()
        agent.join(10)
        assert not agent.is_alive()
    assert len(out.getvalue().splitlines()) <= 2


@pytest.mark.parametrize(
    "args",
    [
        {"lv_uuids": []},
        {"lv_uuids": "AbCdEf-GhIj-KlMn-OpQr-StUv-WxYz-012345"},
        {"lv_uuids": ["x"]},
        {"lv_uuids": ["AbCdEf-GhIj-KlMn-OpQr-StUv-WxYz-012345"] * 2},
        {"lv_uuids": [f"AbCdEf-GhIj-KlMn-OpQr-StUv-WxYz-0123{n}" for n in range(10, 27)]},
        {"every_seconds": 0},
        {"every_seconds": 61},
        {"count": 901},
    ],
)
def test_a_watch_is_bounded(fake_host: FakeHost, args: dict[str, Any]) -> None:
    (line,) = replies(watch(fake_host, **args), fake_host, lambda seconds: True)
    assert json.loads(line)["error"]["code"] == "bad_request"
