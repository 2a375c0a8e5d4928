"""Boots the lab and stops it again."""

import fcntl
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab import clock, disks, image, keys, monitor, standby, state
from tests.lab.packages import LabUnavailable, Say, program
from tests.lab.shell import COMMAND_SECONDS, LabCommandFailed, Shell

BOOT_TIMEOUT_SECONDS = 400
FORGET_SECONDS = 30
PATIENCE_SECONDS = 3.0
MORE_PATIENCE = 1.25
READ_BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
# Without KVM the kernel distrusts the TSC of two processors and reads the clock from the emulated
# HPET, under qemu's one lock: tsc=reliable lets `quick_clock` double the IOPS of a cached volume.
# The rest leaves out protections that cost every system call emulated instructions.
KERNEL_LINE = (
    "root=/dev/vda rw rootfstype=ext4 console=ttyS0 quiet loglevel=4 net.ifnames=0 "
    "fsck.mode=skip systemd.show_status=0 "
    "tsc=reliable mitigations=off no5lvl nosmap nosmep init_on_alloc=0"
)
# What costs more emulated than it spares: string instructions of a byte a turn, vectors that glibc
# would copy and compare with, a wider register file to save. A boot takes two thirds without.
EMULATED = "max," + ",".join(
    f"-{each}" for each in (
        "erms", "fsrm", "avx", "avx2", "fma", "pku", "la57", "svm", "xsave", "mpx",
    )
)  # fmt: skip


def quiet(_message: str) -> None:
    """Say nothing."""


class MachineEnded(LabUnavailable):
    """qemu ended by itself."""


class Lab:
    """One lab host; a context manager. Everything it starts it stops, also when this process dies.

    Start it in the main thread: the machine is tied to the thread that starts it.
    From inside, the panel on this machine's loopback is at 10.0.2.2.
    """

    panel_address = "10.0.2.2"

    def __init__(
        self,
        name: str | None = None,
        *,
        say: Say = quiet,
        setup: bool = True,
        quick_clock: bool = False,
    ) -> None:
        """`setup=False` leaves the four disks bare instead of making /dev/md0 and vg0. With
        `quick_clock` the lab reads the TSC, unless it is seen to stray (`clock`)."""
        self.name = name or state.default_name()
        self.folder = state.folder_of(self.name)
        self.boot_seconds = 0.0
        self._say = say
        self._setup = setup
        self._trusts_tsc = quick_clock or uses_kvm()
        self._lock: TextIOWrapper | None = None
        self._qemu: subprocess.Popen[bytes] | None = None
        self._short = Path()

    def __enter__(self) -> Self:
        """Boot and wait until root's shell works; LabUnavailable says why it cannot."""
        self.start()
        self.wait_until_up()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the machine."""
        self.shutdown()

    def start(self) -> None:
        """Begin to boot, and return at once; `wait_until_up` or `shutdown` must follow."""
        self._image = image.ensure(self._say)
        self._standby = standby.of(self._image.root.parent)
        self._hold_name()
        # ssh's control socket must fit 108 bytes wherever the checkout lies.
        self._short = Path(tempfile.mkdtemp(prefix="tiercel-lab-"))
        try:
            self._launch()
        except BaseException:
            self.shutdown()
            raise

    def wait_until_up(self) -> None:
        """Return once root's shell works and the disks are made; else stop the machine."""
        try:
            if not self._woken():
                self.wait_for_boot()
                self.shell.open()
                self.run(disks.NAME_IN_ORDER, timeout_seconds=300)
                self._keep()
            began = self._set_clock()
            if self._setup:
                self.run(disks.MAKE_VG0, timeout_seconds=300)
            if self._trusts_tsc and clock.strays(began, clock.read(self.shell)):
                self._say("The lab's clock does not go right: it reads a slower one")
                self._trusts_tsc = False
                self._set_clock()
        except BaseException:
            self.shutdown()
            raise
        self.boot_seconds = time.monotonic() - self._began

    def wait_for_boot(self) -> None:
        """Return once sshd answers. A qemu that crashes at its start, as has been seen, is started
        once more: that tells nothing of what is to run in it."""
        try:
            self._wait_for_sshd(BOOT_TIMEOUT_SECONDS)
        except MachineEnded as problem:
            self._say(f"{problem}\nStarting the lab once more")
            self._stop()
            self._launch()
            self._wait_for_sshd(BOOT_TIMEOUT_SECONDS)

    def run(
        self,
        command: str | Sequence[str],
        *,
        stdin: bytes | str = b"",
        timeout_seconds: float = COMMAND_SECONDS,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run an argv or a shell script in the lab as root; see Shell.run."""
        return self.shell.run(command, stdin=stdin, timeout_seconds=timeout_seconds, check=check)

    def freeze(self) -> None:
        """Stop the processors; what reaches the machine waits."""
        self._tell("stop")

    def thaw(self) -> None:
        """Let the processors go on, and the clock, which stood still with them, be right."""
        self._tell("cont")
        self._set_clock()

    def power_cycle(self) -> None:
        """Reset the machine as a power cut does, and wait until it has booted. Its disks keep what
        was written; nothing but the root disk is mounted, assembled or named anew here."""
        self.shell.close()
        self._tell("system_reset")
        self._wait_for_sshd(BOOT_TIMEOUT_SECONDS)
        self.shell.open()
        self._set_clock()

    def restart(self, command: str) -> None:
        """Run a command that restarts the machine from within, and wait until it has booted: its
        services are stopped first, and the kernel may be another one afterwards."""
        boot_id = self.run(READ_BOOT_ID).stdout
        # A caller that waits for the command would lose its connection.
        self.run(["systemd-run", "-q", "--on-active=1", *shlex.split(command)])
        self.shell.close()
        deadline = time.monotonic() + BOOT_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            self._wait_for_sshd(deadline - time.monotonic())
            with suppress(LabCommandFailed, subprocess.TimeoutExpired):
                self.shell.open()
                if self.run(READ_BOOT_ID, timeout_seconds=30).stdout != boot_id:
                    self._set_clock()
                    return
            self.shell.close()
            time.sleep(1)
        raise LabUnavailable(f"The lab did not restart in {BOOT_TIMEOUT_SECONDS} s: {command}")

    @contextmanager
    def plugged(self, disk: disks.Disk, content: Path | None = None) -> Iterator[str]:
        """One more disk, hot-plugged into the running machine, and its name there: empty,
        or one that reads as `content`. It is pulled at the end."""
        file = content or disks.make_files(self.folder, [disk])[0]
        self._tell_all(disk.plug(file, read_only=content is not None))
        try:
            yield self.run(disks.WAIT_FOR.format(serial=disk.serial)).stdout.strip()
        finally:
            self._tell_all([disk.pull()])
            self._forget(disk)
            if content is None:
                file.unlink()

    def throttle(self, disk: disks.Disk, iops: int) -> None:
        """Let a disk that is always there do so many I/Os a second; 0 = as many as it can."""
        others = dict.fromkeys(("bps", "bps_rd", "bps_wr", "iops_rd", "iops_wr"), 0)
        limit = {"device": disk.serial, "iops": iops, **others}
        self._tell_all([("block_set_io_throttle", limit)])

    def wait(self) -> None:
        """Wait until the machine ends, as when `python -m tests.lab stop` stops it."""
        if self._qemu is not None:
            self._qemu.wait()

    def shutdown(self) -> None:
        """Stop at once. The disks are snapshots, so there is nothing to save."""
        self._stop()
        if self._lock is not None:
            state.forget(self.name)
            shutil.rmtree(self._short, ignore_errors=True)
            self._lock.close()
            self._lock = None

    def _hold_name(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = (self.folder / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise LabUnavailable(
                f"A lab called {self.name!r} is already running. Stop it "
                f"(python -m tests.lab --name {self.name} stop) or choose another --name."
            ) from None
        self._lock = lock

    def _woken(self) -> bool:
        """Wake the machine that was kept, if that is what was launched. One that does not wake is
        forgotten, and a boot begun instead."""
        if not self._wakes:
            return False
        try:
            self._standby.go_on(self._short / "qmp")
            self._wait_for_sshd(standby.WAKE_SECONDS, patience_seconds=standby.WAKE_SECONDS)
            self._standby.wake(self.ssh_port, self._short)
            self.shell.open()
        except (LabUnavailable, LabCommandFailed, subprocess.TimeoutExpired, OSError) as problem:
            self._say(f"The machine that was kept does not wake: {problem}\nBooting a new one")
            self._standby.forget()
            self._stop()
            self._launch()
            return False
        return True

    def _set_clock(self) -> clock.Reading:
        if not self._trusts_tsc:
            clock.distrust_tsc(self.shell)
        clock.put_right(self.shell)
        return clock.read(self.shell)

    def _keep(self) -> None:
        # One that booted beside this one may have been kept meanwhile, and may be waking already.
        if uses_kvm() or self._standby.exists:
            return
        try:
            self._standby.keep(self._short / "qmp", self._image.root, self.keys)
        except (LabUnavailable, OSError) as problem:
            self._say(f"The next start has to boot again: {problem}")

    def _stop(self) -> None:
        if hasattr(self, "shell"):
            self.shell.close()
        if self._qemu is not None:
            self._qemu.terminate()
            try:
                self._qemu.wait(10)
            except subprocess.TimeoutExpired:
                self._qemu.kill()
                self._qemu.wait()
            self._qemu = None

    def _launch(self) -> None:
        self._began = time.monotonic()
        self._wakes = self._standby.exists and not uses_kvm()
        self.ssh_port = free_port()
        self.keys = keys.make(self.folder, self.ssh_port)
        self.shell = Shell(self.ssh_port, self.keys, self._short / "ssh")
        with (self.folder / "qemu.log").open("wb") as log:
            self._qemu = subprocess.Popen(
                # qemu ends with the process that started it, even when that is killed.
                [program("setpriv"), "--pdeathsig", "TERM", *self._command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        pid = self._qemu.pid
        state.write(
            state.State(
                self.name, pid, state.started(pid) or 0, self.ssh_port, str(self.shell.control)
            )
        )

    def _command(self) -> list[str]:
        command = [
            program("qemu-system-x86_64"),
            "-name", f"tiercel-lab-{self.name}",
            "-nodefaults", "-no-user-config", "-display", "none",
            "-accel", "kvm" if uses_kvm() else "tcg,thread=multi",
            "-cpu", "host" if uses_kvm() else EMULATED,
            "-m", "1024", "-smp", "2",
            "-kernel", str(self._image.kernel), "-initrd", str(self._image.initrd),
            "-append", KERNEL_LINE,
            "-serial", f"file:{self.folder / 'console.log'}",
            "-qmp", f"unix:{self._short / 'qmp'},server=on,wait=off",
            "-drive", f"if=virtio,id={standby.ROOT_DEVICE},snapshot=on,{self._root()}",
            "-netdev", f"user,id=net0,hostfwd=tcp:127.0.0.1:{self.ssh_port}-:22",
            "-device", "virtio-net-pci,netdev=net0,romfile=",
            "-device", "vmgenid,guid=auto",
            "-fw_cfg", f"name=opt/tiercel/authorized_key,file={self.keys.client}.pub",
            "-fw_cfg", f"name=opt/tiercel/host_key,file={self.keys.host}",
            "-object", "iothread,id=io0", "-device", "virtio-scsi-pci,id=scsi0,iothread=io0",
        ]  # fmt: skip
        for scsi_id, (disk, file) in enumerate(
            zip(disks.DISKS, disks.make_files(self.folder), strict=True)
        ):
            command += disk.arguments(scsi_id, file)
        return command + (self._standby.arguments() if self._wakes else [])

    def _root(self) -> str:
        if self._wakes:
            return f"file={self._standby.root},format=qcow2"
        return f"file={self._image.root},format=raw"

    def _tell(self, command: str) -> None:
        self._tell_all([(command, {})])

    def _forget(self, disk: disks.Disk) -> None:
        """qemu holds the file of a disk for a moment after it was pulled."""
        deadline = time.monotonic() + FORGET_SECONDS
        while True:
            try:
                self._tell_all([disk.forget()])
            except LabUnavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return

    def _tell_all(self, commands: Iterable[monitor.Words]) -> None:
        with monitor.connect(self._short / "qmp") as machine:
            for command, arguments in commands:
                machine.tell(command, **arguments)

    def _wait_for_sshd(self, seconds: float, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Read sshd's banner: qemu accepts connections long before anything in the lab does.

        Each connection given up costs the lab a process of sshd, and on a loaded machine it would
        never be done with them: each gets more time than the last.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._qemu is None or self._qemu.poll() is not None:
                log = (self.folder / "qemu.log").read_text(errors="replace")
                raise MachineEnded(f"qemu ended while the lab started: {log.strip()}")
            try:
                with socket.create_connection(("127.0.0.1", self.ssh_port), 1) as connection:
                    connection.settimeout(patience_seconds)
                    if connection.recv(4) == b"SSH-":
                        return
            except TimeoutError:
                patience_seconds *= MORE_PATIENCE
            except OSError:
                pass
            time.sleep(0.1)
        raise LabUnavailable(
            f"The lab did not answer in {seconds:.0f} s; see {self.folder / 'console.log'}."
        )


def uses_kvm() -> bool:
    """Whether the machine runs by KVM, where it boots so fast that none is kept."""
    # Never probe KVM: on some machines /dev/kvm exists and hangs the guest.
    return os.environ.get("LAB_ACCEL") == "kvm"


def free_port() -> int:
    """Return a loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def stop(name: str) -> bool:
    """Stop the lab called `name`, whichever process holds it; False when none runs."""
    running = state.read(name)
    if running is None:
        return False
    os.kill(running.qemu_pid, signal.SIGTERM)
    while state.started(running.qemu_pid) == running.qemu_started:
        time.sleep(0.1)
    return True
