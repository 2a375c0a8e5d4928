"""Work that outlives the process that started it: a grandchild that shares nothing with it.

The agent has one thread, so forking it is safe. The fork keeps no descriptor: an inherited one
would keep the SSH channel open, and with it any flock, for as long as the work lasts.
"""

from __future__ import annotations

import os
import select
import syslog
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Callable

READY = b"ready"
ANSWER_LIMIT = 4096


def detach(
    name: str, enter: Callable[[int], None], work: Callable[[], None], seconds: float
) -> None:
    """Fork; the new process (its pid is given to `enter`) enters its new home, then works. Returns
    once `enter` returned. Raises OSError with what `enter` raised, or when it is not heard of
    within `seconds`; it may yet begin then."""
    reader, writer = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if child == 0:
        # No exception may leave this branch: the parent's code would run twice.
        try:
            os.setsid()
            if os.fork() == 0:
                _live(name, enter, work, writer)
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    try:
        answer = _heard(reader, time.monotonic() + seconds)
    finally:
        os.close(reader)
    if answer != READY:
        raise OSError(answer.decode("utf-8", "replace") or "it ended before it began")


def _live(name: str, enter: Callable[[int], None], work: Callable[[], None], writer: int) -> None:
    """The grandchild's life. What nobody handles goes to the system's log."""
    try:
        _keep_only(writer)
        try:
            enter(os.getpid())
        except OSError as error:
            os.write(writer, str(error).encode()[:ANSWER_LIMIT])
            return
        # Whoever asked may be gone by now; the work was promised all the same.
        with suppress(BrokenPipeError):
            os.write(writer, READY)
        os.close(writer)
        work()
    except BaseException:
        syslog.openlog(name)
        syslog.syslog(syslog.LOG_ERR, traceback.format_exc())


def _keep_only(writer: int) -> None:
    """Nothing but /dev/null and the way to tell the parent."""
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    for path in list(Path("/proc/self/fd").iterdir()):
        number = int(path.name)
        if number > 2 and number != writer:
            # The listing's own is closed by now.
            with suppress(OSError):
                os.close(number)
    os.chdir("/")
    os.umask(0o022)


def _heard(reader: int, end: float) -> bytes:
    """What the grandchild says until it closes its end."""
    parts: list[bytes] = []
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while True:
        if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
            raise OSError("the new process was not heard of in time")
        part = os.read(reader, ANSWER_LIMIT)
        if not part:
            return b"".join(parts)
        parts.append(part)
