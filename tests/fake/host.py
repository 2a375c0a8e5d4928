"""`FakeHost`: the agent's `Host` over a pretended machine, and the strings a test pulls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from storage.agent.benchmark.cleanup import clean_up
from storage.agent.calls.refusals import Refusal
from storage.agent.kernel.local_host import (
    Beat,
    CommandResult,
    LockBusy,
    MissingTool,
    Reader,
    Stuck,
    TimedOut,
)
from storage.agent.operations.execute import execute
from storage.agent.wire.serve import handle
from tests.fake import (
    bcache,
    dmstats,
    fio,
    group,
    growth,
    load,
    lvm,
    mdadm,
    monitor,
    pv,
    report,
    shape,
    smartctl,
    tools,
    tree,
    udev,
)
from tests.fake.clock import Clock
from tests.fake.group import Steps
from tests.fake.hands import Hands
from tests.fake.journal import Journal
from tests.fake.machine import Machine
from tests.fake.nodes import THROTTLE
from tests.fake.parts import Array, ModelGap

COMMANDS: Mapping[str, Callable[[Machine, Sequence[str]], Steps]] = {
    "lvcreate": lvm.lvcreate,
    "lvchange": lvm.lvchange,
    "lvremove": lvm.lvremove,
    "lvconvert": lvm.lvconvert,
    "lvextend": growth.lvextend,
    "pvmove": growth.pvmove,
    "virsh": growth.virsh,
    "lvrename": lvm.lvrename,
    "vgchange": group.vgchange,
    "make-bcache": bcache.make,
    "bcache-super-show": bcache.super_show,
    "lsblk": tools.lsblk,
    "wipefs": tools.wipefs,
    "blkdiscard": tools.blkdiscard,
    "dmsetup": tools.dmsetup,
    "dpkg-query": tools.dpkg_query,
    "du": tools.du,
    "lvm": tools.lvm_version,
    "lvmconfig": tools.lvmconfig,
    "systemctl": tools.systemctl,
    "modprobe": tools.modprobe,
    "udevadm": udev.udevadm,
    "update-initramfs": tools.update_initramfs,
    "pvcreate": pv.pvcreate,
    "vgextend": pv.vgextend,
    "mdadm": mdadm.mdadm,
    "smartctl": smartctl.smartctl,
    "fio": fio.fio,
    "blockdev": fio.blockdev,
    "python3": fio.load_on_files,
    "mkfs.ext4": fio.mkfs,
}
OTHERS = ("lvs", "vgs", "pvs", "cache_check", "busctl")


class Killed(BaseException):
    """SIGKILL: nothing that would follow in the unit of an operation happens."""


class Pause:
    """A command that stands still before it begins. Wait for `reached`, then `resume()`."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._go = threading.Event()

    def resume(self) -> None:
        self._go.set()

    def wait(self) -> None:
        self.reached.set()
        self._go.wait()


class FakeHost(Journal):
    """A storage host in memory; `shape.machine` says what may differ (`split_vgs=True`, …).

    Each gap in the model is raised and kept in `gaps`: the fixtures fail a test that left one.
    `root` is what root, guests and loads do; `executed` is what operations ran and wrote to sysfs.
    """

    def __init__(
        self, seed: str = "1", *, real_time: bool = False, haste: float = 1.0, **variation: Any
    ) -> None:
        super().__init__()
        self.machine = shape.machine(seed, **variation)
        self.clock = Clock(real=real_time, haste=haste)
        self.machine.clock_ns = self.clock.boottime_ns
        self.root = Hands(self)
        self.gaps: list[str] = []
        self.executed: list[tuple[str, ...]] = []
        self._guard = threading.RLock()
        self._settled_ns = self.clock.boottime_ns()
        self._tree: tuple[int, tree.Tree] | None = None
        self._failures: dict[str, list[CommandResult]] = {}
        self._pauses: dict[str, list[Pause]] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._hanging: list[str] = []
        self._hung_disks: set[str] = set()
        self._slow: dict[str, list[float]] = {}
        self._kills: list[str] = []
        self._cuts: list[str] = []
        self._stuck: Reader | None = None
        self._put_back: dict[str, tuple[str, str]] = {}
        self._cleaned: set[str] = set()
        self.failed_units: list[str] = []
        self.started_units: list[str] = []
        self.modes: dict[str, int] = {}

    # What a test does.

    def fail_next(self, program: str, rc: int = 5, stderr: str = "  Failed.\n") -> None:
        """The next run of `program` fails instead of doing anything."""
        self._failures.setdefault(program, []).append(CommandResult(rc, "", stderr))

    def pause_next(self, program: str) -> Pause:
        """The next run of `program` stops before it begins, until `resume()`."""
        pause = Pause()
        self._pauses.setdefault(program, []).append(pause)
        return pause

    def kill_next(self, program: str) -> None:
        """The unit that runs `program` next is killed when that has ended, before it notes so."""
        self._kills.append(program)

    def cut_next(self, program: str) -> None:
        """The unit that runs `program` next is killed in the midst of it, and `program` with it."""
        self._cuts.append(program)

    def hang_next(self, program: str) -> None:
        """The next run of `program` that only reads hangs in the kernel, until `unhang()`."""
        self._hanging.append(program)

    def slow_next(self, program: str, seconds: float) -> None:
        """The next run of `program` takes so long, or until it is given up."""
        self._slow.setdefault(program, []).append(seconds)

    def hang_disk(self, device: str) -> None:
        """From now on, a smartctl that asks this device hangs in the kernel."""
        self._hung_disks.add(device)

    def unhang(self) -> None:
        self._stuck = None
        self._hung_disks.clear()

    def advance(self, seconds: float) -> None:
        """Let time pass: loads move the counters, caches warm up, dirty data is written back."""
        with self._guard:
            self.clock.advance(seconds)
            self._settle()

    @contextmanager
    def vg_lock(self, vg: str) -> Iterator[None]:
        """Hold LVM's own lock on a VG, as a long lvconvert by hand would."""
        self.machine.locked.add(vg)
        try:
            yield
        finally:
            self.machine.locked.discard(vg)

    @contextmanager
    def changing(self) -> Iterator[Machine]:
        """Change the machine by hand, as root on the host would."""
        with self._guard:
            self._settle()
            yield self.machine
            self.machine.changed()

    def wait_for_ops(self, timeout_seconds: float = 30.0) -> None:
        """Until no operation is at work any more."""
        for thread in list(self._threads.values()):
            thread.join(timeout_seconds)
            if thread.is_alive():
                raise TimeoutError("an operation does not end")

    def answer(self, line: bytes) -> bytes:
        """One request line -> one reply line, as the agent on this host would give it."""
        return handle(line, self)

    # The agent's Host.

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = 10.0,
        tick: Callable[[], None] | None = None,
        stop: Callable[[], bool] | None = None,
        rest: Callable[[], Beat] | None = None,
    ) -> CommandResult:
        program = argv[0]
        if not self.has_tool(program):
            raise MissingTool(program)
        if program == "virsh":
            self._ask_libvirt(argv, timeout)
        elif program == "smartctl":
            self._ask_disk(argv, timeout)
        elif timeout is None:
            self.executed.append(tuple(argv))
        elif self._stuck is not None:
            raise Stuck(self._stuck)
        elif program in self._hanging:
            self._hanging.remove(program)
            self._stuck = Reader(" ".join(argv[:2]), 4711, self.wall_ns())
            self.sleep(timeout)
            raise Stuck(self._stuck)
        for seconds in self._take(self._slow, program):
            self.sleep(seconds if timeout is None else min(seconds, timeout))
            if timeout is not None and seconds > timeout:
                raise TimedOut(program)
        for pause in self._take(self._pauses, program):
            pause.wait()
        failures: Sequence[CommandResult] = self._take(self._failures, program)
        if failures:
            return failures[0]
        if argv[:2] == ["lvm", "fullreport"]:
            with self._guard, self._noting_gaps():
                self._settle()
                return report.run(self.machine, argv, sorted(self.machine.locked))
        if argv[:2] == ["lvm", "pvs"]:
            with self._guard, self._noting_gaps():
                return report.pieces(self.machine, argv)
        if argv[:2] == ("systemctl", "start"):
            self.started_units.append(argv[-1])
        steps = COMMANDS[program](self.machine, argv)
        if timeout is None and program in self._cuts:
            self._cuts.remove(program)
            self._cut(steps, program)
        result = self._drive(steps, argv, tick, stop, rest)
        if timeout is None and program in self._kills:
            self._kills.remove(program)
            raise Killed(program)
        return result

    def _ask_libvirt(self, argv: Sequence[str], timeout: float | None) -> None:
        """A daemon that hangs blocks no other call, and virsh can be killed."""
        if timeout is None:
            self._gap("virsh without a time limit")
        elif argv[0] in self._hanging:
            self._hanging.remove(argv[0])
            self.sleep(timeout)
            raise TimedOut(argv[0])
        if "blockresize" in argv:
            self.executed.append(tuple(argv))

    def _ask_disk(self, argv: Sequence[str], timeout: float | None) -> None:
        """One disk that hangs keeps none of the other readers."""
        if timeout is None:
            self._gap("smartctl without a time limit")
        elif argv[-1] in self._hung_disks:
            self.sleep(timeout)
            raise Stuck(Reader(" ".join(argv[:2]), 4712, self.wall_ns()))

    def _drive(
        self,
        steps: Steps,
        argv: Sequence[str],
        tick: Callable[[], None] | None,
        stop: Callable[[], bool] | None,
        rest: Callable[[], Beat] | None,
    ) -> CommandResult:
        while True:
            with self._guard, self._noting_gaps():
                self._settle()
                try:
                    seconds = next(steps)
                except StopIteration as stop:
                    result: CommandResult = stop.value
                    return result
            if seconds:
                self._pass(seconds, argv, stop, rest)
                if tick is not None:
                    tick()
                if stop is not None and stop():
                    with self._guard:
                        steps.close()
                    return CommandResult(-2, "", "  Interrupted...\n")

    def _pass(
        self,
        seconds: float,
        argv: Sequence[str],
        stop: Callable[[], bool] | None,
        rest: Callable[[], Beat] | None,
    ) -> None:
        """A program works for so long, and rests in between where `rest` says so."""
        if rest is None:
            self.sleep(seconds)
            return
        while seconds > 0:
            beat = rest()
            with self.machine.resting(argv):
                while beat.rests and not (stop is not None and stop()):
                    self.sleep(beat.seconds)
                    self.advance(0.0)
                    beat = rest()
            self.sleep(min(seconds, beat.seconds))
            self.advance(0.0)
            seconds -= beat.seconds

    def _cut(self, steps: Steps, program: str) -> None:
        """SIGKILL where the program would wait for the first time."""
        with self._guard, self._noting_gaps():
            self._settle()
            next(steps)
            steps.throw(Killed(program))

    def stuck(self) -> Reader | None:
        return self._stuck

    def has_tool(self, name: str) -> bool:
        known = name in COMMANDS or name in OTHERS
        if not known and name != "xenstore-read":
            self._gap(f"the fake host has no program {name}")
        has_it = self.machine.has_systemd or name not in ("busctl", "systemctl")
        return has_it and known and name not in self.machine.missing_tools

    def read(self, path: str) -> bytes | None:
        with self._guard:
            files, real = self._look(path)
            content = files.files.get(real or "")
            return None if content is None else content()

    def write(self, path: str, text: str) -> None:
        self.executed.append(("write", path, text))
        for pause in self._take(self._pauses, "write"):
            pause.wait()
        self._set(path, text)

    def _set(self, path: str, text: str) -> None:
        with self._guard, self._noting_gaps():
            self._settle()
            if path == THROTTLE:
                self.machine.mirror_throttle = int(text)
            elif path.endswith("/md/sync_action"):
                self._array(path).begin(text)
                self.machine.changed()
            elif path.endswith("/md/sync_min"):
                self._array(path).demand_idle().sync_min = int(text)
            else:
                bcache.write(self.machine, path, text)

    def _array(self, path: str) -> Array:
        return next(each for each in self.machine.arrays if each.name == path.split("/")[3])

    @contextmanager
    def direct_reads(self, path: str) -> Iterator[Callable[[int, int], None]]:
        def read(offset: int, size_bytes: int) -> None:
            with self._guard, self._noting_gaps():
                self._settle()
                seconds = load.read_directly(self.machine, path, offset, size_bytes)
            self.advance(seconds)

        yield read

    def save(self, path: str, data: bytes, mode: int = 0o644) -> None:
        if path.startswith("/var/lib/tiercel/"):
            self.room()
        with self._guard:
            self.modes[path] = mode
            self.machine.files[path] = data
            if self._tree is not None:
                self._tree[1].file(path, data)

    def remove(self, path: str) -> None:
        with self._guard:
            if self.machine.files.pop(path, None) is not None:
                self.machine.changed()

    def make_folder(self, path: str, mode: int) -> None:
        self.modes[path] = mode

    def append(self, path: str, data: bytes) -> None:
        with self._guard:
            self.save(path, self.machine.files.get(path, b"") + data, 0o600)

    def read_part(self, path: str, offset: int, size_bytes: int) -> bytes:
        return self.machine.files.get(path, b"")[offset : offset + size_bytes]

    def size_bytes(self, path: str) -> int | None:
        found = self.machine.files.get(path)
        return None if found is None else len(found)

    def rename(self, path: str, to: str) -> None:
        with self._guard:
            self.machine.files[to] = self.machine.files.pop(path)
            self.machine.changed()

    def remove_folder(self, path: str) -> None:
        with self._guard:
            kept = {
                name: data
                for name, data in self.machine.files.items()
                if not name.startswith(f"{path}/")
            }
            self.machine.files.clear()
            self.machine.files.update(kept)
            self.machine.changed()

    def list(self, path: str) -> Sequence[str]:
        with self._guard:
            files, real = self._look(path)
            return sorted(files.folders.get(real or "", ()))

    def link(self, path: str) -> str | None:
        with self._guard:
            files, _ = self._look(path, follow=False)
            return files.stored(path)

    def real(self, path: str) -> str | None:
        with self._guard:
            return self._look(path)[1]

    def exists(self, path: str) -> bool:
        return self.real(path) is not None

    def rdev(self, path: str) -> str | None:
        with self._guard:
            files, real = self._look(path)
            return files.devices.get(real or "")

    def exclusive(self, path: str) -> bool:
        with self._guard:
            if any(path == mount for mount, _ in self.machine.mounts):
                return False
            lv = self.machine.lv_at(path)
            return self.exists(path) if lv is None else not self.machine.under_bcache(lv)

    def qmp(self, path: str, commands: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        with self._guard, self._noting_gaps():
            return [monitor.answer(self.machine, path, command) for command in commands]

    def dm_message(self, name: str, message: str) -> str:
        with self._guard, self._noting_gaps():
            self._settle()
            return dmstats.message(self.machine, name, message)

    def boottime_ns(self) -> int:
        return self.clock.boottime_ns()

    def wall_ns(self) -> int:
        return self.clock.wall_ns()

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)

    def hostname(self) -> str:
        return self.machine.hostname

    @contextmanager
    def lock(self, vg: str, timeout: float) -> Iterator[None]:
        lock = self._locks.setdefault(vg, threading.Lock())
        end_ns = self.boottime_ns() + int(timeout * 1e9)
        while not lock.acquire(timeout=0.005):
            if self.boottime_ns() >= end_ns:
                raise LockBusy(vg)
            self.sleep(0.1)
        try:
            yield
        finally:
            lock.release()

    def start_op(self, op: str) -> None:
        if not self.machine.has_systemd:
            raise OSError("busctl is not installed")
        if not self.machine.has_bus:
            raise OSError("Failed to connect to bus: No such file or directory")
        thread = threading.Thread(target=self._unit, args=(op,), name=f"op-{op}", daemon=True)
        self._threads[op] = thread
        thread.start()

    def _unit(self, op: str) -> None:
        """What the scope of an operation does; where the journal fails it, the system log says."""
        try:
            execute(self, op)
        except (Refusal, OSError, Killed):
            self.failed_units.append(op)
        finally:
            if op in self._put_back:
                self._set(*self._put_back.pop(op))
            if op in self._cleaned:
                self._cleaned.discard(op)
                clean_up(self)

    def op_put_back(self, op: str, path: str, text: str) -> None:
        if not self.machine.has_bus:
            raise OSError("Failed to connect to bus: No such file or directory")
        self._put_back[op] = path, text

    def op_clean_up(self, op: str) -> None:
        if not self.machine.has_bus:
            raise OSError("Failed to connect to bus: No such file or directory")
        self._cleaned.add(op)

    def op_alive(self, op: str) -> bool:
        return op in self._threads and self._threads[op].is_alive()

    def stopping(self) -> bool:
        return False

    # The rest.

    def restarted(self, up_seconds: float) -> None:
        """The clock that counts since the boot begins anew."""
        self.clock.restart(up_seconds)
        self._settled_ns = self.clock.boottime_ns()

    def _settle(self) -> None:
        now = self.clock.boottime_ns()
        if now > self._settled_ns:
            load.advance(self.machine, (now - self._settled_ns) / 1e9)
            self._settled_ns = now

    def _look(self, path: str, *, follow: bool = True) -> tuple[tree.Tree, str | None]:
        """The machine's files as they are now, and the path with its links followed."""
        self._settle()
        try:
            if self._tree is None or self._tree[0] != self.machine.generation:
                self._tree = (self.machine.generation, tree.build(self.machine))
            return self._tree[1], self._tree[1].look(path, follow=follow)
        except ModelGap as gap:
            self._gap(str(gap))

    @contextmanager
    def _noting_gaps(self) -> Iterator[None]:
        try:
            yield
        except ModelGap as gap:
            self.gaps.append(str(gap))
            raise

    def _gap(self, text: str) -> NoReturn:
        self.gaps.append(text)
        raise ModelGap(text)

    @staticmethod
    def _take(waiting: dict[str, Any], program: str) -> Sequence[Any]:
        return [waiting[program].pop(0)] if waiting.get(program) else []
