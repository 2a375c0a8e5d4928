"""One transient systemd scope per operation: it outlives the SSH channel of the request.

A service would have to start a new Python and the agent in it: two seconds on a slow host. Instead,
the process that accepted the operation forks, and systemd adopts the child.

The child is a grandchild that shares nothing with the process that started it. The agent has one
thread, so forking it is safe. The fork keeps no descriptor: an inherited one would keep the SSH
channel open, and with it any flock, for as long as the work lasts.
"""

from __future__ import annotations

import os
import select
import syslog
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Callable

from .local_host import MissingTool, TimedOut
from .tools import Runner

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
    """The grandchild's life. Unhandled exceptions go to the system's log."""
    try:
        _keep_only(writer)
        try:
            enter(os.getpid())
        except OSError as error:
            os.write(writer, str(error).encode()[:ANSWER_LIMIT])
            return
        # The caller may be gone by now; the work was promised all the same.
        with suppress(BrokenPipeError):
            os.write(writer, READY)
        os.close(writer)
        work()
    except BaseException:
        syslog.openlog(name)
        syslog.syslog(syslog.LOG_ERR, traceback.format_exc())


def _keep_only(writer: int) -> None:
    """Nothing but /dev/null and the pipe to the parent."""
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


START_SECONDS = 30.0
# Of 1 to 10000; 100 is what everything else has.
IO_WEIGHT = 10
POLL_SECONDS = 0.01
CGROUP = Path("/proc/self/cgroup")
# Where systemd keeps its scopes; with control groups of version 1 there is one more folder.
SLICES = (Path("/sys/fs/cgroup/system.slice"), Path("/sys/fs/cgroup/systemd/system.slice"))
PROC = Path("/proc")
ENDED = ("inactive", "failed")
STATES = (*ENDED, "active", "activating", "deactivating", "reloading")
_MANAGER = (
    "org.freedesktop.systemd1",
    "/org/freedesktop/systemd1",
    "org.freedesktop.systemd1.Manager",
)


def name(op: str) -> str:
    return f"tiercel-op-{op}.scope"


def scope_argv(op: str, pid: int) -> list[str]:
    """Puts a process into a scope of its own. SIGINT lets an LVM command end its step and restore
    what it changed for a while; a SIGKILL could leave a device suspended and a guest frozen with
    it. The signature and the properties are those of org.freedesktop.systemd1(5)."""
    properties = (
        ("Description", "s", f"Tiercel operation {op}"),
        ("PIDs", "au", "1", str(pid)),
        ("KillSignal", "i", "2"),
        ("SendSIGKILL", "b", "false"),
        # A service has these by default. At shutdown this one then ends before /var goes.
        ("After", "as", "2", "sysinit.target", "basic.target"),
        ("TimeoutStopUSec", "t", str(2**64 - 1)),
        # What a guest does comes first, where the I/O controller is at work (bfq, io.cost).
        ("IOWeight", "t", str(IO_WEIGHT)),
        ("CollectMode", "s", "inactive-or-failed"),
    )
    return _started(name(op), properties)


def _started(unit: str, properties: Sequence[Sequence[str]]) -> list[str]:
    words = [word for each in properties for word in each]
    call = ["StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail"]
    # Else busctl takes the `-c` of a shell for an option of its own.
    return ["busctl", "--quiet", "--", "call", *_MANAGER, *call, str(len(properties)), *words, "0"]


def put_back_argv(op: str, path: str, text: str) -> list[str]:
    """Has systemd write `text` to the kernel's file `path` once the scope of the operation is gone,
    however it ended: a scope has no ExecStopPost, so that a unit bound to it has."""
    script = f"[ ! -e {path} ] || echo {text} > {path}"
    properties = (
        ("Description", "s", f"Ends the throttle of Tiercel operation {op}"),
        ("Type", "s", "oneshot"),
        ("RemainAfterExit", "b", "true"),
        ("ExecStart", "a(sasb)", "1", "/bin/true", "1", "/bin/true", "false"),
        ("ExecStopPost", "a(sasb)", "1", "/bin/sh", "3", "/bin/sh", "-c", script, "false"),
        ("BindsTo", "as", "1", name(op)),
        ("After", "as", "1", name(op)),
        ("CollectMode", "s", "inactive-or-failed"),
    )
    return _started(f"tiercel-op-{op}-throttle.service", properties)


def follow_argv(op: str, words: Sequence[str]) -> list[str]:
    """Has systemd run a program once the scope of the operation is gone, however it ended."""
    argv = (str(len(words)), *words)
    properties = (
        ("Description", "s", f"Removes what Tiercel operation {op} leaves"),
        ("Type", "s", "oneshot"),
        ("RemainAfterExit", "b", "true"),
        ("ExecStart", "a(sasb)", "1", "/bin/true", "1", "/bin/true", "false"),
        ("ExecStopPost", "a(sasb)", "1", words[0], *argv, "false"),
        # LVM's programs are never killed.
        ("TimeoutStopUSec", "t", str(2**64 - 1)),
        ("SendSIGKILL", "b", "false"),
        ("BindsTo", "as", "1", name(op)),
        ("After", "as", "1", name(op)),
        ("CollectMode", "s", "inactive-or-failed"),
    )
    return _started(f"tiercel-op-{op}-cleanup.service", properties)


def follow(op: str, words: Sequence[str], runner: Runner) -> None:
    """Raises OSError with systemd's words."""
    _ask(follow_argv(op, words), runner)


def put_back(op: str, path: str, text: str, runner: Runner) -> None:
    """Raises OSError with systemd's words."""
    _ask(put_back_argv(op, path, text), runner)


def start(op: str, work: Callable[[], None], runner: Runner) -> None:
    """Run `work` in the scope of the operation; returns once it is there. Raises OSError with
    systemd's words."""
    detach(name(op), lambda pid: _enter(op, pid, runner), work, START_SECONDS)


def alive(op: str, runner: Runner) -> bool:
    """Whether the scope is there and has not ended. Only a certain answer may turn an operation
    into an interrupted one. Asked for at each look at a running operation, so the kernel is asked
    first: it needs no process. Where systemd gives no answer, the scope has ended once no process
    is in it: an operation of unknown state would hold up its volume group for ever."""
    if any((folder / name(op)).is_dir() for folder in SLICES):
        return True
    # Not by -P, which systemd has since 246 only: RHEL 8 has 239, Ubuntu 20.04 has 245.
    command = ["systemctl", "show", "--property=ActiveState", "--value", name(op)]
    try:
        state = runner.run(command, timeout=10.0).stdout.strip()
    except (MissingTool, TimedOut):
        state = ""
    return state not in ENDED if state in STATES else _has_process(op)


def _has_process(op: str) -> bool:
    return any(name(op) in _cgroup(each) for each in PROC.iterdir() if each.name.isdecimal())


def _cgroup(process: Path) -> str:
    """ "" of a process that has ended meanwhile."""
    try:
        return (process / "cgroup").read_text()
    except OSError:
        return ""


def _ask(argv: Sequence[str], runner: Runner) -> None:
    try:
        result = runner.run(argv, timeout=START_SECONDS)
    except MissingTool:
        raise OSError("busctl is not installed") from None
    except TimedOut:
        raise OSError(f"systemd did not answer within {START_SECONDS:.0f} seconds") from None
    if result.rc != 0:
        raise OSError(result.stderr.strip() or f"busctl failed with exit code {result.rc}")


def _enter(op: str, pid: int, runner: Runner) -> None:
    _ask(scope_argv(op, pid), runner)
    # systemd answers before it has moved the process; until then the channel's end could take it.
    end = time.monotonic() + START_SECONDS
    while name(op) not in CGROUP.read_text():
        if time.monotonic() >= end:
            raise OSError(f"systemd did not take the process into {name(op)}")
        time.sleep(POLL_SECONDS)
