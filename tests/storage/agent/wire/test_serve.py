from __future__ import annotations

import io
import json
from pathlib import Path

from storage.agent.wire.serve import serve, unreplaced
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
