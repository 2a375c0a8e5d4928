"""Runs an accepted operation to its end, in the transient unit."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Callable, TypeVar

from ..benchmark import fio_jobs, scratch
from ..calls.call import VerbCall
from ..calls.refusals import Refusal
from ..commands import extents, vacated_extents
from ..commands.command import (
    BY_MIRROR,
    BY_READS,
    COUNT_READS,
    REGISTER,
    REMOVE_SCRATCH,
    WARM,
    Args,
    Command,
    refusal_of,
    stamped,
)
from ..facts.view import View
from ..guests import hiding, qmp, virsh
from ..kernel import dm
from ..kernel.local_host import Beat, LocalHost, LockBusy, MissingTool
from ..state import fence, heat_files, hot_map_files, policy, undo_window
from ..state.boot_state import FILES, BootNote
from ..state.owner import panel_from_json
from ..verbs import bench
from ..verbs.argument_checks import call_from_json
from ..verbs.registry import VERBS
from ..verbs.verb import Trait
from . import journal, pacer, sysfs, waits
from .assess import assess, settled
from .boot import note_for_boot, remember
from .cache_filler import CacheFiller, top_kname
from .fio_run import FioRun, demand_scratch
from .ops import JournalEntry, Record, aborted, interrupted
from .pacer import Pacer, throttling
from .waits import WAITS, WorkProgress, demand_flushed

_T = TypeVar("_T")
LOCK_SECONDS = 120.0
RETAKE_SECONDS = 5.0
BUSY_SECONDS = 30.0
POLL_SECONDS = 1.0
# What they write over is gone. The last word is the device.
OVERWRITE = frozenset(("blkdiscard", "make-bcache", "wipefs"))
# They write to the volume of a benchmark's run.
ON_SCRATCH = fio_jobs.LOADS | {fio_jobs.MKFS}


def execute(host: LocalHost, op: str) -> None:
    """Run the operation once; a second call of the same id does nothing, and neither does one after
    the operation was declared dead. Raises OSError where the journal takes no mark: then nothing
    was run."""
    record = host.op_load(op)
    if record is None or record["state"] != "running" or not host.op_mark(op, journal.BEGUN):
        return
    Execution(host, op, record).run()


class Execution:
    """One operation at work. The agent's lock on the VG is held but for commands and waits that
    may take hours and do not touch LVM's metadata; after those the volume is looked at again."""

    def __init__(self, host: LocalHost, op: str, record: Record) -> None:
        self._host = host
        self._op = op
        self._fence: int | None = record.get("fence")
        sender = record.get("panel")
        self._panel = None if sender is None else panel_from_json(sender)
        self._entry = JournalEntry(host, op, record)
        self._call: VerbCall = call_from_json(record["call"])
        self._lock: AbstractContextManager[None] | None = None
        self._lv_uuid = self._call.expect.get("lv_uuid", "")
        self._given: dict[str, tuple[str, ...]] = {}
        self._benchmark = self._new_benchmark() if self._call.verb == bench.RUN.name else None

    def run(self) -> None:
        try:
            self._run_to_end()
        finally:
            if self._benchmark is not None:
                self._benchmark.release()

    def _run_to_end(self) -> None:
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
            if Trait.MOVES in VERBS[self._call.verb].traits:
                pacer.end_resumed(self._host)
        if self._benchmark is not None:
            self._benchmark.end(error)
        if error is not None and error.rc != 0 and self._stopping():
            # The same SIGINT ended the command or the report that failed; not one that ended well.
            state, error = "interrupted", aborted() if self._aborted() else interrupted()
        if error is not None:
            self._entry.say(f"{error.code}: {error.message} {error.correction}")
        self._entry.close(state, error)

    def _run(self) -> None:
        if self._benchmark is not None:
            self._benchmark.enter()
        self._acquire()
        # Another owner may have come while this operation waited for the lock.
        vg_uuid = self._call.expect["vg_uuid"]
        fence.check_fence(self._host, vg_uuid, self._fence, self._op, self._panel)
        view, todo = self._patiently(lambda view: (view, assess(view, self._call)))
        commands = [*todo]
        self._entry.plan(commands)
        if VERBS[self._call.verb].boot_note in (BootNote.SETTINGS, BootNote.TAGGED):
            # Before the first command: else a host that stops after the last one boots without.
            self._note_for_boot()
        self._note_retirement(view, commands)
        if self._benchmark is not None and len(commands) > 1:
            self._benchmark.begin()
        for number, command in enumerate(commands):
            if self._stopping():
                raise interrupted()
            self._command(number, command)
            if command.reveals:
                remaining_names = {each.name for each in self._assess()}
                commands[number + 1 :] = [
                    c for c in commands[number + 1 :] if c.name in remaining_names
                ]
                self._entry.replan(number + 1, commands)
        view, is_settled = self._patiently(lambda view: (view, settled(view, self._call)))
        if not is_settled:
            raise Refusal(
                "cmd_failed",
                "Every command succeeded, but the host does not show the result.",
                "Check the output and the host, then plan again.",
            )
        self._remember_for_boot(view)
        if self._call.verb == "volume.destroy":
            self._forget_reads()

    def _demand_device(self, view: View, path: str) -> None:
        """The path leads to the volume that LVM calls so. udev makes it, and may be late: what is
        overwritten, or registered, by an old link is another volume."""
        lv = self._target(view, path.rsplit("/", 1)[-1])
        real = self._host.real(path)
        kname = "" if real is None else real.rsplit("/", 1)[-1]
        dm_uuid = dm.text(self._host, f"/sys/block/{kname}/dm/uuid") if kname else ""
        if dm_uuid != hiding.dm_uuid(lv):
            raise Refusal(
                "stale",
                f"{path} leads to {kname or 'nothing'}, which is not {lv['vg_name']}/{lv['name']}.",
                "Let udev renew its links on the host (udevadm trigger --subsystem-match=block; "
                "udevadm settle), then plan again.",
            )

    def _note_retirement(self, view: View, commands: Sequence[Command]) -> None:
        """Before the mark: without the note the end of the undo window is unknown."""
        if self._call.verb != "volume.retire" or "mark" not in [each.name for each in commands]:
            return
        try:
            with self._host.lock(FILES, RETAKE_SECONDS):
                undo_window.note_retirement(self._host, self._lv_uuid, view.facts)
        except OSError as error:
            raise journal.unwritable(error) from None

    def _note_for_boot(self) -> None:
        """The operation ends here where that fails: a restart would take a volume from its guest
        that is not noted."""
        try:
            self._patiently(lambda view: note_for_boot(view, self._call))
        except LockBusy:
            raise Refusal(
                "busy",
                "Another program of the agent is recording what starts after a restart.",
                "Wait: the boot unit may be at work (systemctl status tiercel-boot).",
            ) from None
        except OSError as error:
            raise journal.unwritable(error) from None

    def _remember_for_boot(self, view: View) -> None:
        """After the last command: what is noted already, paths, and what is not there any more.
        What of it cannot be written now is said, and fails nothing."""
        try:
            for line in remember(view, self._call):
                self._entry.say(f"$ {line}")
        except (Refusal, LockBusy, OSError) as problem:
            self._entry.say(f"The notes for the next boot could not be written: {problem}")

    def _forget_reads(self) -> None:
        """What of the volume was read most ends with it."""
        try:
            hot_map_files.forget_maps(self._host, (self._lv_uuid,))
        except (OSError, LockBusy) as problem:
            self._entry.say(f"What was counted of its reads stays for some hours: {problem}")

    def _assess(self) -> tuple[Command, ...]:
        """The checks once more, under the lock."""
        return self._patiently(lambda view: assess(view, self._call))

    def _patiently(self, ask: Callable[[View], _T]) -> _T:
        """Another LVM command may be at work for a moment: that is waited for."""
        end = self._host.boottime_ns() + int(BUSY_SECONDS * 1e9)
        while True:
            try:
                return ask(self._view())
            except Refusal as refusal:
                if refusal.code != "busy" or self._host.boottime_ns() >= end:
                    raise
            self._host.sleep(POLL_SECONDS)

    def _command(self, number: int, command: Command) -> None:
        if command.noted:
            self._note_for_boot()
        if command.argv[0] in OVERWRITE or command.argv[:2] == ("write", REGISTER):
            self._patiently(lambda view: self._demand_device(view, command.argv[-1]))
        if self._benchmark is not None and command.argv[0] in ON_SCRATCH:
            self._patiently(lambda view: demand_scratch(view, self._call.args))
        self._entry.say(f"$ {command.shell}")
        if not command.locked:
            if command.argv[0] != REMOVE_SCRATCH:
                self._remember()
            self._release()
        with self._room_on_disks(command) as pacing:
            self._begin(number, command, pacing)
        if self._lock is None:
            self._retake()

    @contextmanager
    def _room_on_disks(self, command: Command) -> Iterator[Pacer | None]:
        """The disks of a command that takes long, for it alone, and its pace on them."""
        if not command.pace:
            yield None
            return
        host, args = self._host, self._call.args
        if command.pace == BY_READS:
            own = top_kname(host, args)
        elif command.argv[0] in fio_jobs.LOADS:
            own = dm.kname(host, args["vg"], self._name())
        elif command.pace == BY_MIRROR:
            own = waits.kname(host, args)
        else:
            own = waits.kname_at(host, command.argv[-1])
        under = pacer.under(host, self._call, command, own)
        locks = {*under, pacer.ALL_MIRRORS} if command.pace == BY_MIRROR else under
        while True:
            with pacer.alone_on(host, locks, self._entry.say, self._go_on) as has_waited:
                # Whose volume it is, and whether this may still be done, was seen long ago.
                obstacle = self._obstacle() if has_waited else ""
                self._release()
                if not obstacle:
                    yield Pacer(host, under, own, self._allowed_percent, command.pace)
                    return
            # That may take hours: meanwhile others have the disks.
            self._retake()
            self._release()

    def _allowed_percent(self) -> int:
        return pacer.allowed(
            self._host, self._op, policy.load_policy(self._host).others_rise_percent
        )

    def _go_on(self) -> None:
        if self._stopping():
            raise interrupted()

    def _begin(self, number: int, command: Command, pacing: Pacer | None) -> None:
        watch = self._question(command)
        if watch is not None and pacing is not None:
            watch = _beside_others(watch, pacing)
        if command.gives:
            self._given[command.gives] = self._patiently(
                lambda view: extents.of(
                    view.host,
                    self._call.expect["vg_uuid"],
                    self._call.args["vg"],
                    command.gives,
                )
            )
        self._entry.begin(number)
        try:
            if self._benchmark is not None and self._benchmark.does(command):
                rc = self._benchmark.do(command)
            else:
                rc = self._do(command, watch, pacing)
        except Refusal as refusal:
            self._entry.end(number, refusal.rc)
            raise
        self._entry.end(number, rc)
        if watch is not None:
            self._glance(watch, force=True)
        if command.wait:
            self._wait(command)

    def _do(
        self, command: Command, watch: Callable[[], WorkProgress] | None, pacing: Pacer | None
    ) -> int:
        program, args = command.argv[0], self._args(command)
        if program == "write":
            return sysfs.run_sysfs(self._host, command, args, self._entry.say)
        if program == "qmp":
            return qmp.run_qmp(self._host, command, args, self._entry.say)
        if program == "virsh":
            return virsh.run_virsh(self._host, command, args, self._entry.say)
        if program == COUNT_READS:
            self._entry.say(self._count_reads())
        elif program == WARM and pacing is not None:
            self._entry.say(self._filler(pacing).run())
            self._go_on()
        elif program != "wait":
            return self._paced(command, watch, pacing)
        return 0

    def _count_reads(self) -> str:
        """Has the service count; what came of it, in a sentence: a cold cache is no error."""
        observed = heat_files.observed_now(self._host, policy.load_policy(self._host))
        if self._lv_uuid not in observed:
            return "Its reads are not counted on this host: the cache starts empty."
        try:
            if hot_map_files.mark(self._host, self._lv_uuid, self._call.args["cache"]):
                return "Its reads are counted."
        except (OSError, LockBusy) as problem:
            return f"Its reads cannot be counted: {problem} The cache starts empty."
        return "Reads of other volumes are being counted: the cache starts empty."

    def _new_benchmark(self) -> FioRun:
        return FioRun(
            self._host,
            self._op,
            self._call.args,
            self._allowed_percent,
            self._entry.say,
            lambda progress: self._entry.show(progress, force=True),
            self._stopping,
        )

    def _filler(self, pacing: Pacer) -> CacheFiller:
        return CacheFiller(
            self._host,
            self._call.args,
            self._lv_uuid,
            pacing,
            lambda progress: self._entry.show(progress, force=True),
            self._stopping,
        )

    def _paced(
        self, command: Command, watch: Callable[[], WorkProgress] | None, pacing: Pacer | None
    ) -> int:
        if pacing is None:
            return self._program(command, watch, None)
        while (beat := pacing.beat()).rests:
            self._go_on()
            if watch is not None:
                self._glance(watch)
            self._host.sleep(beat.seconds)
        if command.pace != BY_MIRROR:
            return self._program(command, watch, pacing.beat)
        try:
            self._host.op_mark(self._op, journal.THROTTLED)
        except OSError as error:
            raise journal.unwritable(error) from None
        try:
            self._host.op_put_back(self._op, pacer.THROTTLE, pacer.FULL)
        except OSError as error:
            self._entry.say(f"Were this killed, only the panel would end its throttle: {error}")
        with throttling(self._host, pacing) as rests:
            return self._program(command, watch, rests)

    def _program(
        self,
        command: Command,
        watch: Callable[[], WorkProgress] | None,
        rest: Callable[[], Beat] | None,
    ) -> int:
        def tick() -> None:
            if watch is not None:
                self._glance(watch)

        try:
            words = extents.filled(stamped(command, self._host.wall_ns()), self._given)
            if self._benchmark is not None:
                words = tuple(self._benchmark.words(words))
            if vacated_extents.asks(words):
                words = self._of_host(command)
            # What takes long is watched. Anything else is let end: no further command follows.
            stop = self._aborted if command.watch else None
            result = self._host.run(words, timeout=None, tick=tick, stop=stop, rest=rest)
        except MissingTool:
            raise Refusal(
                "missing_tool",
                f"{command.argv[0]} is not installed on this host.",
                "Install it, then plan again.",
                argv=command.argv,
            ) from None
        lines = (result.stdout + result.stderr).splitlines()
        for before, line in zip(["", *lines], lines):
            # LVM repeats "Flushing N blocks" twice a second while N stays the same.
            if line != before:
                self._entry.say(line)
        if result.rc != 0:
            raise refusal_of(command, result.rc, result.stderr)
        demand_flushed(command, result.stdout + result.stderr)
        return 0

    def _of_host(self, command: Command) -> tuple[str, ...]:
        """The words that only the host knows now; says what of it is left alone."""
        vg_uuid, args = self._call.expect["vg_uuid"], self._call.args
        words, skipped = self._patiently(
            lambda view: (
                tuple(vacated_extents.filled(view.host, vg_uuid, args, command.argv)),
                vacated_extents.not_cleared(view.host, vg_uuid, args, command.argv),
            )
        )
        self._entry.say(f"$ {shlex.join(words)}")
        if skipped:
            self._entry.say(skipped)
        return words

    def _args(self, command: Command) -> Args:
        return {**self._call.args, **command.about}

    def _question(self, command: Command) -> Callable[[], WorkProgress] | None:
        name = command.watch
        return WAITS[name].begin(self._host, self._args(command)) if name else None

    def _wait(self, command: Command) -> None:
        wait = WAITS[command.wait]
        if wait.seconds is None:
            self._remember()
            self._release()
        ask = wait.begin(self._host, self._args(command))
        start = self._host.boottime_ns()
        while True:
            progress = ask()
            self._entry.show(progress, force=progress.met)
            if progress.met:
                return
            if self._stopping():
                raise interrupted()
            if command.argv[:2] == ("write", REGISTER):
                # A process that has the device open at that moment prevents its registration, and
                # register_quiet says nothing of it; nor does it of a device that is registered.
                sysfs.run_sysfs(self._host, command, self._args(command), self._entry.say)
            waited = (self._host.boottime_ns() - start) / 1e9
            if wait.seconds is not None and waited > wait.seconds:
                raise Refusal(
                    "timeout",
                    f"Not {progress.label} after {wait.seconds:.0f} seconds.",
                    "Check the last lines of `dmesg` on the host, then plan again.",
                    argv=command.argv,
                )
            self._host.sleep(POLL_SECONDS)

    def _acquire(self, seconds: float = LOCK_SECONDS) -> None:
        lock = self._host.lock(self._call.args["vg"], seconds)
        lock.__enter__()
        self._lock = lock

    def _retake(self) -> None:
        """Hold the VG again. What took hours is not to be begun anew because others are at work in
        the VG now: they are waited for, however long, until this operation is asked to stop."""
        was_said = False
        while why := self._obstacle():
            self._release()
            self._go_on()
            if not was_said:
                self._entry.say(f"Waiting: {why}")
            was_said = True
            self._host.sleep(POLL_SECONDS)

    def _obstacle(self) -> str:
        """Take the VG, once: what passing thing keeps this operation from going on there, ""
        where nothing does and the VG is held."""
        try:
            self._acquire(RETAKE_SECONDS)
            self._recheck()
        except LockBusy:
            return self._busy().message
        except Refusal as refusal:
            if refusal.code not in ("busy", "occupied", "timeout", "stuck"):
                raise
            return refusal.message
        return ""

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.__exit__(None, None, None)

    def _name(self) -> str:
        args = self._call.args
        if self._benchmark is not None:
            return scratch.data_name(args["key"])
        return str(args["lv"] if "lv" in args else args["name"])

    def _remember(self) -> None:
        """Which volume this is, before the lock is given away. An array is known by its uuid."""
        if "array" in self._call.args:
            return
        known = dm.lv_uuid(self._host, self._call.args["vg"], self._name())
        self._lv_uuid = known or self._patiently(self._target)["uuid"]

    def _recheck(self) -> None:
        """The volume is still the one the operation began with, and what is left may still be
        done: no one else zeroes or holds it, and root still allows it."""

        view = self._view()
        assess(view, self._call)
        is_gone = self._benchmark is not None and self._benchmark.is_over
        if "array" in self._call.args or is_gone:
            return
        volume = self._target(view)
        if volume["uuid"] != self._lv_uuid:
            raise Refusal(
                "stale",
                f"{self._call.args['vg']}/{self._name()} was replaced meanwhile.",
                "Read the host's facts again, then plan again.",
            )

    def _view(self) -> View:
        return View(self._host, vg=self._call.args["vg"])

    def _target(self, view: View, name: str = "") -> dict[str, Any]:
        return view.lv(self._call.args["vg"], name or self._name())

    def _glance(self, watch: Callable[[], WorkProgress], force: bool = False) -> None:
        """Progress of a running command is only for show: dmsetup may time out while LVM has the
        device suspended, and an operation that ended over it would leave LVM at work unlocked."""
        try:
            self._entry.show(watch(), force=force)
        except (Refusal, OSError) as problem:
            self._entry.say(f"The progress cannot be read just now: {problem}")

    def _stopping(self) -> bool:
        return self._host.stopping() or self._aborted()

    def _aborted(self) -> bool:
        return self._host.op_marked(self._op, journal.ABORT)

    def _busy(self) -> Refusal:
        return Refusal(
            "busy",
            f"Another operation holds VG {self._call.args['vg']}.",
            "Wait until it ends (op.list shows it); then try again.",
        )


def _beside_others(watch: Callable[[], WorkProgress], pacing: Pacer) -> Callable[[], WorkProgress]:
    return lambda: replace(watch(), others=pacing.others)
