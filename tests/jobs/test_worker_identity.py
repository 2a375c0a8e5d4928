"""A worker's name tells whether it still lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from jobs.models import Job
from jobs.worker_identity import is_dead, worker_name

SIGNS = "from jobs.worker_identity import worker_name; print(worker_name(), flush=True); input()"


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[str]]:
    """A process that signs once and then waits."""
    argv = [sys.executable, "-c", SIGNS]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as made:
        yield made
        made.kill()


def test_a_name_is_of_one_use_and_fits_its_column() -> None:
    assert worker_name() != worker_name()
    assert len(worker_name()) <= (Job._meta.get_field("lease_owner").max_length or 0)


def test_a_worker_is_dead_once_it_was_killed_even_before_anybody_reaped_it(
    worker: subprocess.Popen[str],
) -> None:
    assert worker.stdout is not None
    name = worker.stdout.readline().strip()
    assert not is_dead(name)
    worker.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(name)
    worker.wait()
    assert is_dead(name)


def test_a_later_process_of_the_same_id_is_not_the_worker() -> None:
    here, pid, started, rest = worker_name().split(":")
    assert not is_dead(f"{here}:{pid}:{started}:{rest}")
    assert is_dead(f"{here}:{pid}:{int(started) - 1}:{rest}")


def test_a_process_of_another_user_that_cannot_be_seen_is_not_called_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbidden(pid: int, signal_: int) -> None:
        raise PermissionError

    here, pid, started, rest = worker_name().split(":")
    monkeypatch.setattr(os, "kill", forbidden)
    assert not is_dead(f"{here}:{pid}:{int(started) - 1}:{rest}")


@pytest.mark.parametrize("name", ["", "me", "elsewhere:999999999:1:x", "web1:1:cafe", "a:b:c:d"])
def test_a_worker_of_another_machine_or_another_form_is_not_called_dead(name: str) -> None:
    assert not is_dead(name)
    here = worker_name().partition(":")[0]
    assert not is_dead(f"{here}:x{name}")
