"""The agent's only access to the machine.

Everything else in this package is a function of a request and a `LocalHost`. `RealHost`
(storage/agent/realhost.py) implements it on Linux; tests may implement it with a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple, Protocol


@dataclass(frozen=True)
class CommandResult:
    """What a finished command left: `rc` (negative = killed by that signal), its output as text
    (undecodable bytes replaced), and `report`, what it wrote to LVM_REPORT_FD ("" if nothing).
    `is_cut`: it wrote more than is kept, and the end is missing."""

    rc: int
    stdout: str = ""
    stderr: str = ""
    report: str = ""
    is_cut: bool = False


class MissingTool(Exception):
    """The program is not installed in any of the system folders."""


class TimedOut(Exception):
    """The command did not end in time; it was abandoned."""

    correction = (
        "The host may be overloaded: look at `uptime`, and try again. Or a device hangs: look at "
        "`dmesg` and `ps -eo pid,stat,wchan,args | grep ' D'`."
    )


@dataclass(frozen=True)
class Reader:
    """A program that only reads and hangs in the kernel: not even SIGKILL ends it. `since_ns` =
    wall clock when it was given up."""

    command: str
    pid: int
    since_ns: int


class Stuck(TimedOut):
    """It hangs, or was not started because an earlier reader hangs."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader.command)
        self.reader = reader


class Beat(NamedTuple):
    """Whether a program stands still now, and after how many seconds that is to be asked again."""

    rests: bool
    seconds: float


class LockBusy(Exception):
    """Another operation of the agent holds the volume group."""


class LocalHost(Protocol):
    """A storage host. Paths are absolute. Methods raise OSError only where they say so."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = 10.0,
        tick: Callable[[], None] | None = None,
        stop: Callable[[], bool] | None = None,
        rest: Callable[[], Beat] | None = None,
    ) -> CommandResult:
        """Run a program to its end, without a shell and with stdin empty.

        `argv[0]` is a bare name ("lvs") found in the system folders, never through PATH: raises
        MissingTool. After `timeout` seconds raises TimedOut (only ever given for commands that
        read), and Stuck at once while an earlier reader hangs; None waits for ever, which every
        command that writes uses. `tick` is called about twice a second meanwhile; so is `stop`,
        and once it says True the program gets one SIGINT and is waited for. `rest` is called as
        often as it asks for; while it says so the program stands still, and it dies with this
        process, so that it never does so for ever. LVM reports ask for their JSON on
        LVM_REPORT_FD: it is returned as `CommandResult.report`; a host may leave that empty and
        put the JSON on stdout.
        """

    def stuck(self) -> Reader | None:
        """A reader that hangs on this host, whichever process of the agent started it."""

    def has_tool(self, name: str) -> bool:
        """Whether `run([name])` would find the program."""

    def read(self, path: str) -> bytes | None:
        """Contents of a file of /proc, /sys, /etc or /run; None when missing or unreadable."""

    def write(self, path: str, text: str) -> None:
        """Write to a sysfs file in one write(2). Raises OSError with the kernel's errno."""

    def save(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Replace an ordinary file atomically (temporary file, fsync, rename, fsync of the
        folder), making its folder if needed. Raises OSError."""

    def remove(self, path: str) -> None:
        """Remove an ordinary file, if it is there. Raises OSError."""

    def make_folder(self, path: str, mode: int) -> None:
        """Make a folder for ordinary files, and those above it. Raises OSError."""

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of an ordinary file of root's alone. Raises OSError."""

    def read_part(self, path: str, offset: int, size_bytes: int) -> bytes:
        """Up to `size_bytes` of an ordinary file; empty where it is missing or unreadable."""

    def size_bytes(self, path: str) -> int | None:
        """Of an ordinary file; None where there is none."""

    def rename(self, path: str, to: str) -> None:
        """Give an ordinary file another name. Raises OSError."""

    def remove_folder(self, path: str) -> None:
        """Remove a folder of ordinary files, if it is there. Raises OSError."""

    def list(self, path: str) -> Sequence[str]:
        """Sorted names in a folder; empty when it is missing or unreadable."""

    def link(self, path: str) -> str | None:
        """Target of a symbolic link as stored (not resolved); None when it is no link.
        Used on /sys (`/sys/dev/block/8:0`, `/sys/block/dm-4/bcache/cache`) and /proc/*/fd."""

    def real(self, path: str) -> str | None:
        """The path with every link resolved ("/dev/vg/lv" -> "/dev/dm-4",
        "/sys/block/dm-4/bcache" -> "/sys/devices/…"); None when it does not exist."""

    def exists(self, path: str) -> bool:
        """Whether the path exists (links followed)."""

    def rdev(self, path: str) -> str | None:
        """ "MAJOR:MINOR" of a block device node; None for anything else."""

    def exclusive(self, path: str) -> bool:
        """Whether the block device can be opened for exclusive use just now (O_EXCL): another
        sign of use beside open descriptors, mounts and holders, never the only one."""

    def direct_reads(self, path: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """Open a block device for reading alone, past the page cache (O_DIRECT), inside a `with`:
        what it gives reads so many bytes from an offset, both multiples of 4 KiB, and throws them
        away. Both raise OSError."""

    def qmp(self, path: str, commands: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """Say commands to the QEMU monitor behind a Unix socket and return what each returned.
        Raises OSError, also where QEMU refuses one."""

    def dm_message(self, name: str, message: str) -> str:
        """Send a message to sector 0 of a device-mapper device (what `dmsetup message NAME 0 …`
        does, without a process per volume) and return its answer. Raises OSError."""

    def boottime_ns(self) -> int:
        """CLOCK_BOOTTIME."""

    def wall_ns(self) -> int:
        """CLOCK_REALTIME."""

    def sleep(self, seconds: float) -> None:
        """Wait; a model advances its clock instead."""

    def hostname(self) -> str:
        """The node name."""

    def lock(self, vg: str, timeout: float) -> AbstractContextManager[None]:
        """Hold the agent's own lock on a volume group (or `fence.lock_name`) inside a `with`.
        Waits up to `timeout` seconds, then raises LockBusy. Not re-entrant."""

    def start_op(self, op: str) -> None:
        """Start `execute.execute(host, op)` apart from this process (in a transient systemd scope).
        Returns once it is started. Raises OSError with the reason when it cannot be."""

    def op_put_back(self, op: str, path: str, text: str) -> None:
        """Have `text` written to the kernel's file `path` once what `start_op` started is gone,
        however it ended. Raises OSError with the reason where systemd does not take that on."""

    def op_clean_up(self, op: str) -> None:
        """Have what a benchmark leaves removed (benchmark/cleanup.py) once what `start_op` started
        is gone, however it ended. Raises OSError with the reason where systemd does not take that
        on."""

    def op_alive(self, op: str) -> bool:
        """Whether what `start_op` started is still there."""

    def stopping(self) -> bool:
        """Whether this process was asked to stop (SIGINT): an operation then waits for its
        running command, starts no further one and records `interrupted`."""

    def op_load(self, op: str) -> dict[str, Any] | None:
        """The saved record of an operation, or None."""

    def op_save(self, op: str, record: dict[str, Any]) -> None:
        """Save the record of an operation, atomically and fsynced. Raises OSError."""

    def op_create(self, op: str, record: dict[str, Any]) -> bool:
        """Save a new record, fsynced; False, and nothing changed, when one is already there.
        Raises OSError."""

    def op_mark(self, op: str, mark: str) -> bool:
        """Leave a mark beside an operation, fsynced; False when it was there already. Of several
        processes that try, only one gets True. Raises OSError."""

    def op_marked(self, op: str, mark: str) -> bool:
        """Whether the mark is there."""

    def op_remove(self, op: str) -> None:
        """Remove the record of an operation with its log and its marks. Raises OSError."""

    def op_ids(self) -> Sequence[str]:
        """Ids of all saved operations."""

    def op_log(self, op: str, text: str) -> None:
        """Append one line (no newline inside) to the log of an operation. Raises OSError."""

    def op_lines(self, op: str) -> Sequence[str]:
        """The log of an operation, oldest first."""
