"""The agent as one file."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.agent import __main__
from storage.agent.bytecode import add_bytecode
from storage.agent.realhost import RealHost
from storage.agent.wire.serve import handle
from storage.agent_zipapp import SHEBANG, build
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


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], int]:
    """What the boot unit runs, but for what it does to the host."""

    def run(agent: Path) -> int:
        monkeypatch.setattr(__main__, "boot", lambda host: ([], []))
        monkeypatch.setattr(sys, "argv", [str(agent), "boot"])
        return __main__.main(["boot"])

    return run


def test_the_boot_unit_gives_it_bytecode_for_the_python_of_its_host(
    tmp_path: Path, boots: Callable[[Path], int]
) -> None:
    agent = tmp_path / "agent.pyz"
    agent.write_bytes(build())
    assert boots(agent) == 0
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import tiercel_agent.wire.serve as module; "
    )
    code += "print(module.__cached__, module.__spec__.loader.get_data(module.__cached__)[:4].hex())"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code, agent], capture_output=True, check=True, text=True
    )
    cached = f"{agent}/tiercel_agent/wire/serve.pyc"
    assert ran.stdout.split() == [cached, importlib.util.MAGIC_NUMBER.hex()]
    assert agent.read_bytes().startswith(SHEBANG) and agent.stat().st_mode & 0o777 == 0o755


def test_an_agent_that_cannot_be_written_still_brings_caches_back(
    tmp_path: Path,
    boots: Callable[[Path], int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RealHost, "save", full)
    agent = tmp_path / "agent.pyz"
    agent.write_bytes(build())
    assert boots(agent) == 0
    assert "will start slowly: [Errno 28]" in capsys.readouterr().err


def test_bytecode_of_another_python_is_replaced_and_its_own_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = tmp_path / "agent.pyz"
    agent.write_bytes(build())
    with monkeypatch.context() as before_the_upgrade:
        before_the_upgrade.setattr(importlib.util, "MAGIC_NUMBER", b"old\n")
        assert add_bytecode(RealHost(), agent)
    assert add_bytecode(RealHost(), agent)
    made = agent.read_bytes()
    assert b"old\n\1" not in made
    assert not add_bytecode(RealHost(), agent)
    assert agent.read_bytes() == made


def test_a_file_that_is_no_zipapp_is_left_as_it_is(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text("pass\n")
    assert not add_bytecode(RealHost(), script)
    assert script.read_text() == "pass\n"


def test_the_resident_service_loads_no_verb_and_no_cryptography(tmp_path: Path) -> None:
    agent = tmp_path / "agent.pyz"
    agent.write_bytes(build())
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import tiercel_agent.heat_command; "
        "print(*sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", code, agent], capture_output=True, check=True, text=True
    )
    loaded = ran.stdout.split()
    assert "tiercel_agent.heat.service" in loaded
    heavy = ("hashlib", "ssl", "tiercel_agent.verbs", "tiercel_agent.facts", "tiercel_agent.wire")
    assert [name for name in heavy if name in loaded] == []


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
