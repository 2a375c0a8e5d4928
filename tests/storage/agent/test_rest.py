"""A program that stands still in between, with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from storage.agent.kernel.local_host import Beat
from storage.agent.kernel.tools import Runner

SCRIPT = """
import sys
from pathlib import Path
from storage.agent.kernel import tools
from storage.agent.kernel.local_host import Beat
tools.STOPPABLE = frozenset(("sleep",))
started = tools.subprocess.Popen
def noted(*args, **more):
    process = started(*args, **more)
    print(process.pid, flush=True)
    return process
tools.subprocess.Popen = noted
tools.Runner(Path(sys.argv[1])).run(["sleep", "300"], None, rest=lambda: Beat(True, 0.05))
"""


def state(pid: int) -> str:
    """As /proc has it: T = it stands still; "" once the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return ""


def until(pid: int, *states: str) -> None:
    end = time.monotonic() + 20
    while state(pid) not in states:
        assert time.monotonic() < end, state(pid)
        time.sleep(0.02)


def test_a_program_rests_while_it_is_asked_to_and_then_ends(tmp_path: Path) -> None:
    began = time.monotonic()
    seen: list[str] = []

    def rest() -> Beat:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        seen.extend(state(int(pid)) for pid in children)
        return Beat(time.monotonic() < began + 1.0, 0.05)

    result = Runner(tmp_path).run(["sleep", "0.3"], None, rest=rest)
    assert result.rc == 0 and time.monotonic() >= began + 1.0
    assert "T" in seen


def test_a_program_that_rests_can_be_stopped(tmp_path: Path) -> None:
    # A shell that starts the tests in the background has them ignore it, and their programs too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = Runner(tmp_path).run(
            ["sleep", "60"], None, stop=lambda: True, rest=lambda: Beat(True, 0.05)
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.rc == -signal.SIGINT


def test_what_stands_still_ends_with_who_made_it_stand(tmp_path: Path) -> None:
    """Else a killed agent would leave a volume held, and its operation alive, for ever."""
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    until(child, "T")
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(child, "", "Z")
