"""What ends by itself is started again."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from panel.operations import supervisor
from panel.operations.local_services import Place
from panel.operations.local_services.redis import Redis
from panel.operations.supervisor import MARK, MOST_PAUSE_SECONDS, Process, Processes, marked


class Clock:
    """A clock that the test winds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(supervisor, "time", clock)
    return clock


@pytest.fixture
def short_lived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[Process]:
    """A process that ends as soon as it began."""
    procfile = tmp_path / "Procfile"
    procfile.write_text("worker: exit 3\n")
    monkeypatch.setattr(supervisor, "PROCFILE", procfile)
    with (tmp_path / "log").open("wb") as log:
        process = Process("worker", os.environ, log)
        yield process
        process.stop()
        process.wait(30)


def test_what_ran_for_a_while_is_started_again_at_once(short_lived: Process, clock: Clock) -> None:
    first = short_lived.honcho.pid
    short_lived.wait(30)
    clock.now += MOST_PAUSE_SECONDS + 1
    assert short_lived.keep() == "worker ended (3) and was started again"
    assert short_lived.honcho.pid != first


def test_what_ends_again_and_again_is_given_longer_and_longer_pauses(
    short_lived: Process, clock: Clock
) -> None:
    pauses = []
    for _ in range(7):
        short_lived.wait(30)
        began = clock.now
        while not short_lived.keep():
            clock.now += 1
        pauses.append(clock.now - began)
        clock.now += 0.1
    assert pauses == [1, 2, 4, 8, 16, 32, 32]


def test_what_runs_is_left_alone(short_lived: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Process, "has_ended", False)
    assert short_lived.keep() == ""


def test_a_service_that_was_killed_is_started_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    redis = Redis(Place(tmp_path))
    redis.place.make()
    redis.start()
    try:
        os.kill(int(redis._client().info()["process_id"]), signal.SIGKILL)
        assert redis._wait(running=False)
        running = Processes(os.environ, 0)
        running.look([redis])
        assert redis.is_running()
        running.look([redis])
        assert capsys.readouterr().out == "redis had ended and was started again\n"
    finally:
        redis.stop()
        redis.place.sockets.rmdir()


def test_what_a_killed_honcho_leaves_is_stopped_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    procfile = tmp_path / "Procfile"
    procfile.write_text("clock: exec sleep 300\n")
    monkeypatch.setattr(supervisor, "PROCFILE", procfile)
    monkeypatch.setattr(supervisor, "STOP_SECONDS", 5)
    with Processes(os.environ, 1, output=tmp_path / "log") as running:
        mark, honcho = running.environment[MARK], running.processes[0].honcho
        end = time.monotonic() + 30
        while not any(is_asleep(pid) for pid in marked(mark)):
            assert time.monotonic() < end, (tmp_path / "log").read_text()
            time.sleep(0.05)
        honcho.kill()
        honcho.wait()
        assert any(is_asleep(pid) for pid in marked(mark))
    assert marked(mark) == []


def is_asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep")
