"""A reader that hangs: one at most, and nothing else is started beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.agent.kernel import tools
from storage.agent.kernel.local_host import Stuck, TimedOut
from storage.agent.kernel.tools import Runner
from tests.contract.client import Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost


@pytest.fixture
def immortal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that SIGKILL does not end, as in an uninterruptible sleep."""
    killed: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(subprocess.Popen, "kill", lambda process: killed.append(process))
    monkeypatch.setattr(tools, "DEATH_SECONDS", 0.01)
    yield killed
    for process in killed:
        process.terminate()
        process.wait()


def test_no_reader_is_started_beside_one_that_hangs(
    tmp_path: Path, immortal: list[subprocess.Popen[bytes]]
) -> None:
    with pytest.raises(Stuck):
        Runner(tmp_path).run(["sleep", "600"], timeout=0.01)
    another = Runner(tmp_path)
    with pytest.raises(Stuck) as stuck:
        another.run(["true"], timeout=10)
    assert stuck.value.reader.command == "sleep 600"
    assert stuck.value.reader.pid == immortal[0].pid
    assert another.run(["true"], timeout=None).rc == 0, "a writer has been checked before"
    immortal[0].terminate()
    immortal[0].wait()
    assert another.stuck() is None
    assert another.run(["true"], timeout=10).rc == 0


def test_a_smartctl_that_hangs_keeps_only_itself(
    tmp_path: Path, immortal: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "OF_ONE_DISK", frozenset(("sleep",)))
    with pytest.raises(Stuck):
        Runner(tmp_path).run(["sleep", "600"], timeout=0.01)
    another = Runner(tmp_path)
    with pytest.raises(Stuck) as stuck:
        another.run(["sleep", "600"], timeout=10)
    assert stuck.value.reader.pid == immortal[0].pid and len(immortal) == 1
    assert another.run(["sleep", "0"], timeout=10).rc == 0, "another disk"
    assert another.run(["true"], timeout=10).rc == 0
    assert another.stuck() is None


def test_lvm_reports_are_made_one_at_a_time_and_the_next_one_waits_for_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "REPORTS", frozenset(("cat", "true")))
    fifo = tmp_path / "disk"
    os.mkfifo(fifo)
    first = threading.Thread(target=Runner(tmp_path).run, args=(["cat", str(fifo)], 30))
    first.start()
    disk = fifo.open("w")
    with pytest.raises(TimedOut):
        Runner(tmp_path).run(["true"], timeout=0.05)
    assert Runner(tmp_path).run(["echo", "no report"], timeout=10).stdout == "no report\n"
    disk.close()
    first.join()
    assert Runner(tmp_path).run(["true"], timeout=10).rc == 0


def test_a_report_does_not_wait_for_one_that_hangs(
    tmp_path: Path, immortal: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "REPORTS", frozenset(("sleep", "true")))
    found: list[type[Exception]] = []

    def report(*argv: str) -> None:
        try:
            Runner(tmp_path).run(argv, timeout=0.3)
        except TimedOut as error:
            found.append(type(error))

    threads = [threading.Thread(target=report, args=("sleep", "600")) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(immortal) == 1, "one hangs, and the others were never started"
    assert Stuck in found and len(found) == 3


def test_a_reader_that_can_be_killed_is_not_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "DEATH_SECONDS", 60)
    runner = Runner(tmp_path)
    with pytest.raises(TimedOut) as given_up:
        runner.run(["sleep", "600"], timeout=0.01)
    assert not isinstance(given_up.value, Stuck)
    assert runner.stuck() is None
    assert runner.run(["true"], timeout=10).rc == 0


def test_another_process_with_the_same_pid_is_not_the_one_that_hangs(
    tmp_path: Path, immortal: list[subprocess.Popen[bytes]]
) -> None:
    runner = Runner(tmp_path)
    with pytest.raises(Stuck):
        runner.run(["sleep", "600"], timeout=0.01)
    file = tmp_path / "stuck.json"
    file.write_text(file.read_text().replace('"start": "', '"start": "1'))
    assert runner.stuck() is None


@pytest.mark.parametrize("content", ["", "[]", '{"pid": 1}', "null"])
def test_a_file_that_cannot_be_read_says_that_nothing_hangs(tmp_path: Path, content: str) -> None:
    (tmp_path / "stuck.json").write_text(content)
    assert Runner(tmp_path).stuck() is None


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What a shell starts in the background ignores SIGINT, and so does all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_command_that_is_to_stop_gets_one_sigint_and_is_waited_for(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'echo stopped; sleep 1.2; exit 3' INT; >{ready}; while :; do sleep 0.05; done"
    result = Runner(tmp_path).run(["bash", "-c", script], timeout=None, stop=ready.exists)
    assert (result.rc, result.stdout) == (3, "stopped\n")


def test_a_host_with_a_hanging_reader_is_neither_read_nor_changed(host: FakeHost) -> None:
    agent = Agent(FakeWorld(host))
    args, expect = agent.call("volume.create", agent.volume_args())
    op = agent.start("volume.create", agent.volume_args())
    agent.outcome(op)
    host.executed.clear()
    host.hang_next("lvm")
    for reply in (
        agent.ask("inventory"),
        agent.ask("sample"),
        agent.ask("volume.create", args, expect),
    ):
        error = reply["error"]
        assert error["code"] == "stuck"
        assert "lvm fullreport" in error["message"] and "dmesg" in error["correction"]
    assert host.executed == []
    assert agent.data("op.get", {"op": op, "after": 0})["state"] == "done"
    problems = {problem["code"]: problem for problem in agent.data("hello")["problems"]}
    assert problems["stuck"]["severity"] == "error"
    host.unhang()
    agent.do("volume.create", args)
