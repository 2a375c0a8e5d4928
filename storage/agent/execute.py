"""Running an accepted operation to its end; this is what the transient unit does."""

from __future__ import annotations

import errno
from contextlib import AbstractContextManager
from typing import Any, Callable, TypeVar

from . import failure
from .assess import assess, settled
from .command import Args, Command
from .errors import Refusal
from .host import Host, LockBusy, MissingTool
from .ops import Record, interrupted
from .protocol import Call, call_from_json
from .view import View
from .waits import WAITS, Progress, kname

_T = TypeVar("_T")
LOCK_SECONDS = 120.0
BUSY_SECONDS = 30.0
POLL_SECONDS = 1.0
SAVE_NS = 2_000_000_000
# op.get gives 2000 lines at most: they must fit into one reply.
LINE_LIMIT = 300
_SYSFS_MEANINGS = {
    errno.EINVAL: "the kernel does not accept it for this device (dmesg may say why)",
    errno.ENOENT: "the kernel does not know that cache set, or the data belongs to another one",
    errno.EBUSY: "the device is in use",
}


def execute(host: Host, op: str) -> None:
    """Run the operation once; a second call of the same id does nothing."""
    record = host.op_load(op)
    if record is None or record["state"] != "running" or record["begun"]:
        return
    record["begun"] = True
    host.op_save(op, record)
    Execution(host, op, record).run()


class Execution:
    """One operation at work. The agent's lock on the VG is held but for commands and waits that
    may take hours and do not touch LVM's metadata; after those the volume is looked at again."""

    def __init__(self, host: Host, op: str, record: Record) -> None:
        self._host = host
        self._op = op
        self._record = record
        self._call: Call = call_from_json(record["call"])
        self._lock: AbstractContextManager[None] | None = None
        self._lv_uuid = self._call.expect.get("lv_uuid", "")
        self._saved_ns = 0

    def run(self) -> None:
        state = "done"
        error: Refusal | None = None
        try:
            self._run()
        except Refusal as refusal:
            state, error = "failed", refusal
        except LockBusy:
            state, error = "failed", self._busy()
        except Exception as problem:
            error = Refusal(
                "internal",
                f"The agent failed: {type(problem).__name__}: {problem}.",
                "Report this with the agent's version; read the host's facts before going on.",
            )
            state = "failed"
        finally:
            self._release()
        if error is not None and self._host.stopping():
            # The same SIGINT ended the command or the report that failed.
            state, error = "interrupted", interrupted()
        if error is not None:
            self._say(f"{error.code}: {error.message} {error.correction}")
        self._save(state=state, error=None if error is None else error.to_json())

    def _run(self) -> None:
        self._acquire()
        commands = self._assess()
        self._record["commands"] = [{**each.to_json(), "rc": None} for each in commands]
        self._save()
        for number, command in enumerate(commands):
            if self._host.stopping():
                raise interrupted()
            self._command(number, command)
        view = View(self._host)
        if not settled(view, self._call):
            raise Refusal(
                "cmd_failed",
                "Every command succeeded, but the host does not show the result.",
                "Look at the output and at the host; then plan anew.",
            )

    def _assess(self) -> tuple[Command, ...]:
        """The checks once more, under the lock."""
        return self._patiently(lambda view: assess(view, self._call))

    def _patiently(self, ask: Callable[[View], _T]) -> _T:
        """Another LVM command may be at work for a moment: that is waited for."""
        end = self._host.boottime_ns() + int(BUSY_SECONDS * 1e9)
        while True:
            try:
                return ask(View(self._host))
            except Refusal as refusal:
                if refusal.code != "busy" or self._host.boottime_ns() >= end:
                    raise
            self._host.sleep(POLL_SECONDS)

    def _command(self, number: int, command: Command) -> None:
        self._say(f"$ {command.shell}")
        if not command.locked:
            self._remember()
            self._release()
        watch = self._question(command.watch)
        try:
            if command.argv[0] == "write":
                rc = self._write(command)
            else:
                rc = self._program(command, watch)
        except Refusal as refusal:
            self._record["commands"][number]["rc"] = refusal.rc
            raise
        self._record["commands"][number]["rc"] = rc
        if watch is not None:
            self._glance(watch, force=True)
        if command.wait:
            self._wait(command)
        if self._lock is None:
            self._acquire()
            self._recheck()
        self._save()

    def _program(self, command: Command, watch: Callable[[], Progress] | None) -> int:
        def tick() -> None:
            if watch is not None:
                self._glance(watch)

        try:
            result = self._host.run(command.argv, timeout=None, tick=tick)
        except MissingTool:
            raise Refusal(
                "missing_tool",
                f"{command.argv[0]} is not installed on this host.",
                "Install it and plan anew.",
                argv=command.argv,
            ) from None
        lines = (result.stdout + result.stderr).splitlines()
        for before, line in zip(["", *lines], lines):
            # LVM repeats "Flushing N blocks" twice a second while N stays the same.
            if line != before:
                self._say(line)
        if result.rc != 0:
            raise failure.of_command(command, result.rc, result.stderr)
        return 0

    def _write(self, command: Command) -> int:
        _, target, value = command.argv
        path = resolve(self._host, target, self._call.args)
        try:
            self._host.write(path, value)
        except OSError as error:
            meaning = _SYSFS_MEANINGS.get(error.errno or 0, str(error.strerror))
            self._say(f"{path}: {error.strerror}")
            raise Refusal(
                "cmd_failed",
                f"Writing {value} to {path} failed: {meaning}.",
                "Look at the last lines of `dmesg` on the host; then plan anew.",
                argv=command.argv,
                rc=error.errno,
                stderr=str(error.strerror),
            ) from None
        return 0

    def _question(self, name: str) -> Callable[[], Progress] | None:
        return WAITS[name].begin(self._host, self._call.args) if name else None

    def _wait(self, command: Command) -> None:
        wait = WAITS[command.wait]
        if wait.seconds is None:
            self._remember()
            self._release()
        ask = wait.begin(self._host, self._call.args)
        start = self._host.boottime_ns()
        while True:
            progress = ask()
            self._show(progress, force=progress.met)
            if progress.met:
                return
            if self._host.stopping():
                raise interrupted()
            waited = (self._host.boottime_ns() - start) / 1e9
            if wait.seconds is not None and waited > wait.seconds:
                raise Refusal(
                    "timeout",
                    f"Not {progress.label} after {wait.seconds:.0f} seconds.",
                    "Look at the last lines of `dmesg` on the host; then plan anew.",
                    argv=command.argv,
                )
            self._host.sleep(POLL_SECONDS)

    def _acquire(self) -> None:
        lock = self._host.lock(self._call.args["vg"], LOCK_SECONDS)
        lock.__enter__()
        self._lock = lock

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.__exit__(None, None, None)

    def _name(self) -> str:
        args = self._call.args
        return str(args["lv"] if "lv" in args else args["name"])

    def _remember(self) -> None:
        self._lv_uuid = self._patiently(self._target)["uuid"]

    def _recheck(self) -> None:
        """The volume is still the one the operation began with, and what is left may still be
        done: nobody else zeroes or holds it, and root still allows it."""

        def look(view: View) -> dict[str, Any]:
            assess(view, self._call)
            return self._target(view)

        found = self._patiently(look)
        if found["uuid"] != self._lv_uuid:
            raise Refusal(
                "stale",
                f"{self._call.args['vg']}/{self._name()} was replaced meanwhile.",
                "Read the host's facts again and plan anew.",
            )

    def _target(self, view: View) -> dict[str, Any]:
        return view.lv(self._call.args["vg"], self._name())

    def _glance(self, watch: Callable[[], Progress], force: bool = False) -> None:
        """Progress of a running command is only for show: dmsetup may time out while LVM has the
        device suspended, and an operation that ended over it would leave LVM at work unlocked."""
        try:
            self._show(watch(), force=force)
        except (Refusal, OSError) as problem:
            self._say(f"The progress cannot be read just now: {problem}")

    def _show(self, progress: Progress, force: bool = False) -> None:
        now = self._host.boottime_ns()
        if progress.total_bytes or progress.label != "flushed":
            self._record["progress"] = progress.to_json()
        if force or now - self._saved_ns >= SAVE_NS:
            self._save()

    def _save(self, **changes: Any) -> None:
        self._record.update(changes)
        self._host.op_save(self._op, self._record)
        self._saved_ns = self._host.boottime_ns()

    def _say(self, line: str) -> None:
        self._host.op_log(self._op, line[:LINE_LIMIT])

    def _busy(self) -> Refusal:
        return Refusal(
            "busy",
            f"Another operation holds VG {self._call.args['vg']}.",
            "Wait until it ends (op.list shows it); then try again.",
        )


def resolve(host: Host, target: str, args: Args) -> str:
    """The real path of a symbolic `/sys/block/<VG/LV>/bcache/…`."""
    head, opening, rest = target.partition("<")
    if not opening:
        return target
    name = kname(host, args)
    if not name:
        raise Refusal(
            "not_found",
            f"{rest.partition('>')[0]} has no device node.",
            f"Activate it: lvchange -ay {rest.partition('>')[0]}",
        )
    return f"{head}{name}{rest.partition('>')[2]}"
