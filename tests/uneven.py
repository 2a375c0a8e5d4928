"""The tests on an uneven machine: `python -m tests.uneven` with pytest's arguments.

A hypervisor whose processors are needed elsewhere stops a machine's programs at random moments. So
does this, to the run's own processes, the busiest first: a test that fails here and passes in
`make test` waits too briefly, or relies on seeing what may be over before it looks. The lab's
virtual machine is left alone: what its clock makes of such a stop is tried elsewhere.

The seed is printed; SEED= gives the same choices again, as far as the processes are the same.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from panel.operations.supervisor import marked

MARK = "TIERCEL_UNEVEN"
STALLS_SECONDS = (0.05, 0.2, 0.5, 1.0, 1.5)
REST_SECONDS = (0.02, 0.3)
LEAST_TICKS, MOST_TICKS = 0.15, 20.0
"""The weight of a process that did nothing since the last look, and of the busiest."""


class Machine:
    """The processes that were started with this value of MARK."""

    def __init__(self, mark: str, chance: random.Random) -> None:
        self._mark, self._chance = mark, chance
        self._ticks: dict[int, int] = {}

    def stall(self, wait: Callable[[float], None] = time.sleep) -> int | None:
        """Stop one of them for a moment; returns its process id, None where there is none."""
        now = {pid: ticks for pid in marked(self._mark, MARK) if (ticks := _ticks(pid)) is not None}
        weights = [
            LEAST_TICKS + min(MOST_TICKS, ticks - self._ticks.get(pid, 0))
            for pid, ticks in now.items()
        ]
        self._ticks = now
        if not now:
            return None
        (pid,) = self._chance.choices(list(now), weights)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            try:
                wait(self._chance.choice(STALLS_SECONDS))
            finally:
                os.kill(pid, signal.SIGCONT)
        return pid


def _ticks(pid: int) -> int | None:
    """Processor time that a process has had (proc_pid_stat(5), utime and stime); None for one that
    ended, and for a virtual machine."""
    try:
        name, _, fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return None
    user, system = fields.split()[11:13]
    return None if "qemu" in name else int(user) + int(system)


def main() -> int:
    """Run pytest, and stall what it runs until it ends; returns its exit code."""
    seed = int(os.environ.get("SEED") or random.randrange(10_000))
    print(f"SEED={seed}", flush=True)
    chance, mark = random.Random(seed), uuid.uuid4().hex
    machine = Machine(mark, chance)
    tests = subprocess.Popen(
        [sys.executable, "-m", "pytest", *sys.argv[1:]], env={**os.environ, MARK: mark}
    )
    try:
        while tests.poll() is None:
            machine.stall()
            time.sleep(chance.uniform(*REST_SECONDS))
    except KeyboardInterrupt:
        # It had the same signal, and ends what it started.
        tests.wait()
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
