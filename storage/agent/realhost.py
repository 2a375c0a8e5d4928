"""`LocalHost` on Linux."""

# Plain os calls: a sample of many volumes makes thousands of them, and Path objects cost more.
# ruff: noqa: PTH102, PTH103, PTH106, PTH112, PTH118, PTH105, PTH108, PTH110, PTH115, PTH116, PTH120, PTH123, PTH208

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import signal
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable

from .guests import qmp
from .kernel import dm, transient_units
from .kernel.local_host import Beat, CommandResult, LockBusy, Reader
from .kernel.tools import Runner, find

READ_LIMIT = 8 * 1024 * 1024
PIECE = 64 * 1024
DIRECT_LIMIT = 64 * 1024
LOCKS = Path("/run/tiercel")
OPS = Path("/var/lib/tiercel/ops")


class RealHost:
    """See `host.LocalHost` for the contract of each method."""

    def __init__(self, ops: Path = OPS, locks: Path = LOCKS) -> None:
        self._ops = ops
        self._locks = locks
        self._runner = Runner(locks)
        self._stop_requested = False

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = 10.0,
        tick: Callable[[], None] | None = None,
        stop: Callable[[], bool] | None = None,
        rest: Callable[[], Beat] | None = None,
    ) -> CommandResult:
        return self._runner.run(argv, timeout, tick, stop, rest)

    def stuck(self) -> Reader | None:
        return self._runner.stuck()

    def has_tool(self, name: str) -> bool:
        return find(name) is not None

    def read(self, path: str) -> bytes | None:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            return _read_all(handle)
        except OSError:
            return None
        finally:
            os.close(handle)

    def write(self, path: str, text: str) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)

    def save(self, path: str, data: bytes, mode: int = 0o644) -> None:
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            os.makedirs(folder, mode=0o755, exist_ok=True)
            _sync_folder(os.path.dirname(folder))
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".tiercel-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        _sync_folder(folder)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(path)

    def make_folder(self, path: str, mode: int) -> None:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        os.mkdir(path, mode)

    def append(self, path: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        handle = os.open(path, flags, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(data)

    def read_part(self, path: str, offset: int, size_bytes: int) -> bytes:
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                return file.read(size_bytes)
        except OSError:
            return b""

    def size_bytes(self, path: str) -> int | None:
        try:
            status = os.stat(path)
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def rename(self, path: str, to: str) -> None:
        os.replace(path, to)

    def remove_folder(self, path: str) -> None:
        for name in self.list(path):
            os.unlink(os.path.join(path, name))
        with suppress(FileNotFoundError):
            os.rmdir(path)

    def list(self, path: str) -> Sequence[str]:
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        try:
            return os.readlink(path)
        except (OSError, ValueError):
            return None

    def real(self, path: str) -> str | None:
        resolved = os.path.realpath(path)
        return resolved if os.path.exists(resolved) else None

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def rdev(self, path: str) -> str | None:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        if not stat.S_ISBLK(status.st_mode):
            return None
        return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"

    def exclusive(self, path: str) -> bool:
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError:
            return False
        return True

    @contextmanager
    def direct_reads(self, path: str) -> Iterator[Callable[[int, int], None]]:
        # O_DIRECT asks for memory that is aligned as the device's sectors are: a page of its own.
        with mmap.mmap(-1, DIRECT_LIMIT) as memory, memoryview(memory) as whole:
            device = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)

            def read(offset: int, size_bytes: int) -> None:
                with whole[:size_bytes] as part:
                    os.preadv(device, [part], offset)

            try:
                yield read
            finally:
                os.close(device)

    def qmp(self, path: str, commands: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        return qmp.talk(path, commands, timeout=5.0)

    def dm_message(self, name: str, message: str) -> str:
        return dm.message(name, message)

    def boottime_ns(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def wall_ns(self) -> int:
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def hostname(self) -> str:
        return os.uname().nodename

    @contextmanager
    def lock(self, vg: str, timeout: float) -> Iterator[None]:
        self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._locks / f"vg-{vg}.lock"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _take(handle, timeout)
            yield
        finally:
            os.close(handle)

    def start_op(self, op: str) -> None:
        transient_units.start(op, lambda: self._work(op), self._runner)

    def op_put_back(self, op: str, path: str, text: str) -> None:
        transient_units.put_back(op, path, text, self._runner)

    def op_clean_up(self, op: str) -> None:
        words = ("/usr/lib/tiercel/agent.pyz", "clean-benchmarks")
        transient_units.follow(op, words, self._runner)

    def op_alive(self, op: str) -> bool:
        return transient_units.alive(op, self._runner)

    def stopping(self) -> bool:
        return self._stop_requested

    def _work(self, op: str) -> None:
        """SIGINT (systemctl stop, shutdown) reaches the running command too; the operation waits
        for it and records how it ended."""
        # All verbs, which a service that stays in memory does not need.
        from .operations.execute import execute

        signal.signal(signal.SIGINT, self._stop)
        execute(self, op)

    def _stop(self, number: int, frame: object) -> None:
        self._stop_requested = True

    def op_load(self, op: str) -> dict[str, Any] | None:
        try:
            document = json.loads((self._ops / f"{op}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return document if isinstance(document, dict) else None

    def op_save(self, op: str, record: dict[str, Any]) -> None:
        self.save(str(self._ops / f"{op}.json"), json.dumps(record).encode())

    def op_create(self, op: str, record: dict[str, Any]) -> bool:
        self._ops.mkdir(mode=0o755, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self._ops, prefix=".tiercel-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(record).encode())
                file.flush()
                os.fsync(file.fileno())
            # A hard link fails where a rename would replace: two requests with one id cannot
            # both believe that they were first.
            os.link(temporary, self._ops / f"{op}.json")
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
        _sync_folder(str(self._ops))
        return True

    def op_mark(self, op: str, mark: str) -> bool:
        try:
            file = os.open(self._ops / f"{op}.{mark}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return False
        os.close(file)
        _sync_folder(str(self._ops))
        return True

    def op_marked(self, op: str, mark: str) -> bool:
        return os.path.exists(self._ops / f"{op}.{mark}")

    def op_remove(self, op: str) -> None:
        for name in self.list(str(self._ops)):
            if name.partition(".")[0] == op:
                os.unlink(self._ops / name)
        _sync_folder(str(self._ops))

    def op_ids(self) -> Sequence[str]:
        return [
            name[: -len(".json")]
            for name in self.list(str(self._ops))
            if name.endswith(".json") and not name.startswith(".")
        ]

    def op_log(self, op: str, text: str) -> None:
        with open(self._ops / f"{op}.log", "a", encoding="utf-8", errors="replace") as file:
            file.write(text.replace("\n", " ") + "\n")

    def op_lines(self, op: str) -> Sequence[str]:
        try:
            data = (self._ops / f"{op}.log").read_bytes()
        except OSError:
            return []
        # Split at newlines only: splitlines() would also cut at form feeds in a tool's output.
        return data.decode("utf-8", "replace").split("\n")[:-1]


def _read_all(handle: int) -> bytes:
    """In small pieces: /proc/sys refuses a read of megabytes (ENOMEM)."""
    parts = []
    left_bytes = READ_LIMIT
    while left_bytes > 0:
        part = os.read(handle, min(left_bytes, PIECE))
        if not part:
            break
        parts.append(part)
        left_bytes -= len(part)
    return b"".join(parts)


def _take(handle: int, timeout: float) -> None:
    end = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
        if time.monotonic() >= end:
            raise LockBusy()
        time.sleep(0.1)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
