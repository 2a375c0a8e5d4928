"""The agent as one file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from storage.agent.wire.serve import handle
from storage.agent_zipapp import build
from tests.storage.agent.facts.replay import ReplayHost


def test_two_builds_of_one_source_are_equal() -> None:
    assert build() == build()


def test_the_file_runs_alone_and_answers_a_request_per_line(tmp_path: Path) -> None:
    agent = tmp_path / "agent.pyz"
    agent.write_bytes(build())
    bad = b'{"v":1}\n' + b"x" * 100_000 + b"\n"
    done = subprocess.run(
        [sys.executable, "-I", agent], input=bad, capture_output=True, check=True, cwd="/"
    )
    codes = [json.loads(line)["error"]["code"] for line in done.stdout.splitlines()]
    assert codes == ["bad_request", "too_large"]
    assert done.stderr == b""


def test_a_wrong_command_line_prints_the_usage(tmp_path: Path) -> None:
    agent = tmp_path / "agent.pyz"
    agent.write_bytes(build())
    done = subprocess.run(
        [sys.executable, "-I", agent, "lvremove"], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"usage" in done.stderr


def test_the_host_block_carries_the_boot_and_the_clocks() -> None:
    request = {"v": 1, "id": "2f1b9b1e-1111-4111-8111-111111111111", "verb": "sample"}
    answer = json.loads(handle(json.dumps(request).encode(), ReplayHost("host-cached")))
    assert answer["ok"]
    assert set(answer["host"]) == {"boot_id", "boottime_ns", "wall_ns", "agent"}
