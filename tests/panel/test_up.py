"""`manage.py up`: the whole panel on one machine."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from panel.operations import local_services, supervisor
from panel.operations.doctor import CHECKS

UP = [sys.executable, "manage.py", "up"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def children_of(session: int) -> set[int]:
    """Processes whose session or parent chain began with `session`."""
    found = {session}
    for _ in range(4):
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) in found:
                found.add(int(stat.parent.name))
    return found - {session}


def beat_of(pids: set[int]) -> int:
    """The process that is Celery's clock itself, none of those that started it."""
    words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in pids}
    (found,) = [
        pid
        for pid, said in words.items()
        if b"panel.configuration.beat_scheduler:Scheduler" in said
    ]
    return found


@pytest.mark.timeout(180)
def test_up_answers_is_well_and_ctrl_c_stops_all_it_started(
    installation: dict[str, str], tmp_path: Path
) -> None:
    port = free_port()
    log = tmp_path / "up.log"
    environment = installation | {
        "TIERCEL_PUBLIC_URL": f"http://localhost:{port}",
        "WEB_CONCURRENCY": "1",
    }
    with log.open("w") as output:
        up = subprocess.Popen(
            [*UP, "--port", str(port)],
            cwd=local_services.CHECKOUT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # As a shell leaves it to what it starts in the background.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        )
    try:
        end = time.monotonic() + 120
        while "Tiercel answers" not in log.read_text():
            assert up.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        assert supervisor.answers(f"http://127.0.0.1:{port}/health")
        said = log.read_text()
        well = [name for name in CHECKS if f"ok       {name}: " in said]
        assert {*CHECKS} - {*well} == {"mail"} and "off      mail: " in said
        children = children_of(up.pid)
        assert len(children) >= 6
        os.kill(beat_of(children), signal.SIGKILL)
        end = time.monotonic() + 60
        while "beat ended" not in log.read_text():
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        assert supervisor.answers(f"http://127.0.0.1:{port}/health")
        children = children_of(up.pid)
        up.send_signal(signal.SIGINT)
        assert up.wait(60) == 0, log.read_text()
    finally:
        if up.poll() is None:
            up.terminate()
            up.wait(60)
    # gunicorn's workers end by themselves within a second of their master.
    end = time.monotonic() + 10
    while left := [pid for pid in children if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < end, left
        time.sleep(0.2)
    assert not supervisor.answers(f"http://127.0.0.1:{port}/health")


def test_up_refuses_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"something listens on port {port}"):
            call_command("up", port=port)
