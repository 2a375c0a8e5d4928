"""Running programs: found in fixed folders, with a fixed environment and no terminal."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable

from . import hung_readers
from .local_host import Beat, CommandResult, MissingTool, Reader, Stuck, TimedOut

FOLDERS = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
OUTPUT_LIMIT = 16 * 1024 * 1024
TICK_SECONDS = 0.5
TURN_SECONDS = 0.02
PR_SET_PDEATHSIG = 1
# They may be killed at any moment. LVM's programs may not, and are never made to stand still.
STOPPABLE = frozenset(("blkdiscard", "fio", "python3"))
# How long a killed reader may take to end.
DEATH_SECONDS = 1.0
# They ask systemd or libvirt, not a disk: what hangs does not keep them from answering.
NO_READERS = frozenset(("systemctl", "busctl", "virsh"))
# Each asks one disk: what hangs keeps the same question from being asked again, and nothing else.
OF_ONE_DISK = frozenset(("smartctl",))
ENVIRONMENT: Mapping[str, str] = {
    "LC_ALL": "C",
    "PATH": ":".join(FOLDERS),
    # Without it LVM complains on stderr about each descriptor it did not open itself.
    "LVM_SUPPRESS_FD_WARNINGS": "1",
}
REPORTS = frozenset(("lvs", "vgs", "pvs", "lvm"))


def find(name: str) -> str | None:
    """Absolute path of a program; PATH of the caller is never looked at."""
    for folder in FOLDERS:
        path = f"{folder}/{name}"
        if "/" not in name and os.access(path, os.X_OK):
            return path
    return None


class Runner:
    """Runs programs; remembers in `folder` a reader that hangs, and puts none beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stuck = hung_readers.HungReaderFiles(folder)
        self._abandoned: list[subprocess.Popen[bytes]] = []

    def stuck(self) -> Reader | None:
        self._abandoned = [process for process in self._abandoned if process.poll() is None]
        return self._stuck.find()

    def run(
        self,
        argv: Sequence[str],
        timeout: float | None,
        tick: Callable[[], None] | None = None,
        stop: Callable[[], bool] | None = None,
        rest: Callable[[], Beat] | None = None,
    ) -> CommandResult:
        """Raises MissingTool, TimedOut, Stuck. A reader that outlives its time is killed and not
        waited for: in an uninterruptible sleep it would take this process with it. `timeout` is
        None for everything that writes, because a killed LVM writer may leave guests frozen."""
        path = find(argv[0])
        if path is None:
            raise MissingTool(argv[0])
        if timeout is None or argv[0] in NO_READERS:
            return self._run(path, argv, timeout, tick, stop, rest)
        with self._turn(argv[0], timeout):
            reader = self._hung(argv).find()
            if reader is not None:
                raise Stuck(reader)
            return self._run(path, argv, timeout, tick, stop, rest)

    def _hung(self, argv: Sequence[str]) -> hung_readers.HungReaderFiles:
        """Where a program that hangs is remembered."""
        if argv[0] not in OF_ONE_DISK:
            return self._stuck
        # OpenSSL takes 4 MB of a service that stays in memory and asks no disk.
        import hashlib

        question = hashlib.sha256("\0".join(argv).encode()).hexdigest()[:16]
        return hung_readers.HungReaderFiles(self._folder / f"{argv[0]}-{question}")

    @contextmanager
    def _turn(self, program: str, timeout: float) -> Iterator[None]:
        """LVM's reports are made one at a time, whichever process of the agent asks: of two that
        met a dead disk at once both would hang. Raises TimedOut."""
        if program not in REPORTS:
            yield
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        end = time.monotonic() + timeout
        with (self._folder / "report.lock").open("a") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    reader = self.stuck()
                if reader is not None:
                    raise Stuck(reader)
                if time.monotonic() >= end:
                    raise TimedOut(program)
                time.sleep(TURN_SECONDS)
            yield

    def _run(
        self,
        path: str,
        argv: Sequence[str],
        timeout: float | None,
        tick: Callable[[], None] | None,
        stop: Callable[[], bool] | None,
        rest: Callable[[], Beat] | None,
    ) -> CommandResult:
        outputs = [os.memfd_create(name) for name in ("stdout", "stderr", "report")]
        try:
            process = self._start(
                path, argv, outputs, own_group=timeout is not None, rests=rest is not None
            )
            if rest is None:
                self._wait(process, argv, timeout, tick, stop)
            else:
                _pace(process, tick, stop, rest)
            stdout, stderr, report = (_contents(output) for output in outputs)
            is_cut = any(os.fstat(output).st_size > OUTPUT_LIMIT for output in outputs)
        finally:
            for output in outputs:
                os.close(output)
        return CommandResult(process.returncode, stdout, stderr, report, is_cut=is_cut)

    def _start(
        self,
        path: str,
        argv: Sequence[str],
        outputs: Sequence[int],
        *,
        own_group: bool,
        rests: bool,
    ) -> subprocess.Popen[bytes]:
        stdout, stderr, report = outputs
        environment = dict(ENVIRONMENT)
        passed = ()  # type: tuple[int, ...]
        if argv[0] in REPORTS:
            environment["LVM_REPORT_FD"] = str(report)
            passed = (report,)
        return subprocess.Popen(
            list(argv),
            executable=path,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=environment,
            cwd="/",
            pass_fds=passed,
            start_new_session=own_group,
            preexec_fn=_die_with_parent() if rests and argv[0] in STOPPABLE else None,
        )

    def _wait(
        self,
        process: subprocess.Popen[bytes],
        argv: Sequence[str],
        timeout: float | None,
        tick: Callable[[], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        was_signalled = False
        while True:
            slice_seconds = TICK_SECONDS
            if end is not None:
                slice_seconds = min(slice_seconds, max(0.0, end - time.monotonic()))
            try:
                process.wait(slice_seconds)
                return
            except subprocess.TimeoutExpired:
                pass
            if tick is not None:
                tick()
            if stop is not None and not was_signalled and stop():
                process.send_signal(signal.SIGINT)
                was_signalled = True
            if end is not None and time.monotonic() >= end:
                raise self._abandon(process, argv)

    def _abandon(self, process: subprocess.Popen[bytes], argv: Sequence[str]) -> TimedOut:
        process.kill()
        try:
            process.wait(DEATH_SECONDS)
        except subprocess.TimeoutExpired:
            self._abandoned.append(process)
            return Stuck(self._hung(argv).remember(argv, process.pid))
        return TimedOut(argv[0])


def _pace(
    process: subprocess.Popen[bytes],
    tick: Callable[[], None] | None,
    stop: Callable[[], bool] | None,
    rest: Callable[[], Beat],
) -> None:
    """Wait for a program that stands still while `rest` says so."""
    stands = was_signalled = False
    next_tick = time.monotonic()
    try:
        while True:
            beat = rest()
            should_stand = beat.rests and not was_signalled
            if should_stand != stands:
                process.send_signal(signal.SIGSTOP if should_stand else signal.SIGCONT)
                stands = should_stand
            with suppress(subprocess.TimeoutExpired):
                process.wait(beat.seconds)
                return
            if time.monotonic() >= next_tick:
                next_tick = time.monotonic() + TICK_SECONDS
                if tick is not None:
                    tick()
                if stop is not None and not was_signalled and stop():
                    process.send_signal(signal.SIGINT)
                    was_signalled = True
    finally:
        if stands:
            process.send_signal(signal.SIGCONT)


def _die_with_parent() -> Callable[[], None]:
    """To be run in the child: SIGKILL reaches it with the end of this process, also where it was
    made to stand still (PR_SET_PDEATHSIG, prctl(2)). The library is loaded before the fork."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def prepare() -> None:
        if prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")

    return prepare


def _contents(output: int) -> str:
    size = min(os.fstat(output).st_size, OUTPUT_LIMIT)
    return os.pread(output, size, 0).decode("utf-8", "replace")
