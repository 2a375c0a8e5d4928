"""The tool that stalls the tests' processes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.until import until
from tests.uneven import MARK, STALLS_SECONDS, Machine


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def process(mark: str) -> Iterator[subprocess.Popen[bytes]]:
    """One that waits for its input to end."""
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(
        command, env={**os.environ, MARK: mark}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as started:
        assert started.stdout is not None and started.stdin is not None
        started.stdout.readline()
        yield started
        started.stdin.close()


def state(pid: int) -> str:
    """As proc_pid_stat(5) has it: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_process_of_the_run_is_stopped_for_a_moment_and_goes_on(
    mark: str, process: subprocess.Popen[bytes]
) -> None:
    waited: list[float] = []

    def wait(seconds: float) -> None:
        until("it is stopped", lambda: state(process.pid) == "T")
        waited.append(seconds)

    assert Machine(mark, random.Random(1)).stall(wait) == process.pid
    assert len(waited) == 1 and waited[0] in STALLS_SECONDS
    until("it goes on", lambda: state(process.pid) != "T")


def test_a_process_goes_on_although_the_tool_is_interrupted(
    mark: str, process: subprocess.Popen[bytes]
) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Machine(mark, random.Random(1)).stall(interrupted)
    until("it goes on", lambda: state(process.pid) != "T")


def test_nothing_else_is_touched(process: subprocess.Popen[bytes]) -> None:
    assert Machine(uuid.uuid4().hex, random.Random(1)).stall() is None
