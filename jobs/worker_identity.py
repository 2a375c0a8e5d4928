"""The name with which a worker signs its leases. With it, another process of the same machine knows
for certain that the worker has died, long before the lease expires."""

from __future__ import annotations

import hashlib
import os
import uuid
from functools import cache
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
ZOMBIE = "Z"


def worker_name() -> str:
    """`HERE:PID:STARTED:RANDOM` of this process, another one each time."""
    return f"{process_name()}:{uuid.uuid4().hex[:12]}"


def process_name() -> str:
    """What its names have in common. `STARTED` (clock ticks since boot) tells it from a later
    process that the kernel gives the same id."""
    pid = os.getpid()
    return f"{_here()}:{pid}:{_started(pid)}"


def is_dead(name: str) -> bool:
    """Whether the process of that name is gone. False where that is unknown here: another machine,
    another container, a name of another form."""
    here, _, rest = name.partition(":")
    pid, _, rest = rest.partition(":")
    started = rest.partition(":")[0]
    if here != _here() or not (pid.isdecimal() and started.isdecimal()):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's: /proc may hide it
        return False
    return _started(int(pid)) != int(started)


@cache
def _here() -> str:
    """This boot of this kernel, and the namespace its process ids are counted in."""
    namespace = Path("/proc/self/ns/pid").readlink()
    return hashlib.sha256(f"{BOOT_ID.read_text()} {namespace}".encode()).hexdigest()[:12]


def _started(pid: int) -> int | None:
    """None where no such process runs. proc_pid_stat(5): the name, in brackets, may hold anything;
    after it come the state (field 3) and the start (field 22)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == ZOMBIE else int(fields[19])
