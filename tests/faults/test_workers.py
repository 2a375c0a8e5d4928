"""The suite's hold on its workers."""

from __future__ import annotations

import subprocess
import sys

from tests.faults.workers import Worker

STOPS_LATE = """
import os, signal, time
time.sleep(0.5)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_worker_that_is_about_to_stop_itself_is_woken_after_it_has() -> None:
    with subprocess.Popen([sys.executable, "-c", STOPS_LATE]) as process:
        worker = Worker("", process.pid)
        worker.started.set()
        try:
            worker.go_on()
            assert process.wait(30) == 0
        finally:
            process.kill()
