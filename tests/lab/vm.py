"""Boots the lab and stops it again."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab import disks, image, keys, state
from tests.lab.packages import LabUnavailable, Say, program
from tests.lab.shell import Shell

BOOT_TIMEOUT_SECONDS = 400
# Without KVM the kernel distrusts the TSC of two processors and reads the clock from the emulated
# HPET, under qemu's one lock: tsc=reliable doubles the IOPS of a cached volume. The rest leaves out
# protections that cost every system call emulated instructions.
KERNEL_LINE = (
    "root=/dev/vda rw rootfstype=ext4 console=ttyS0 quiet loglevel=4 net.ifnames=0 "
    "fsck.mode=skip systemd.show_status=0 "
    "tsc=reliable mitigations=off no5lvl nosmap nosmep init_on_alloc=0"
)


def quiet(_message: str) -> None:
    """Say nothing."""


class Lab:
    """One lab host; a context manager. Everything it starts it stops, also when this process dies.

    Start it in the main thread: the machine is tied to the thread that starts it.
    From inside, the panel on this machine's loopback is at 10.0.2.2.
    """

    panel_address = "10.0.2.2"

    def __init__(self, name: str | None = None, *, say: Say = quiet, setup: bool = True) -> None:
        """`setup=False` leaves the four disks bare instead of making /dev/md0 and vg0."""
        self.name = name or state.default_name()
        self.folder = state.folder_of(self.name)
        self.boot_seconds = 0.0
        self._say = say
        self._setup = setup
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
        found = image.ensure(self._say)
        self._hold_name()
        # ssh's control socket must fit 108 bytes wherever the checkout lies.
        self._short = Path(tempfile.mkdtemp(prefix="tiercel-lab-"))
        try:
            self._launch(found)
        except BaseException:
            self.shutdown()
            raise

    def wait_until_up(self) -> None:
        """Return once root's shell works and the disks are made; else stop the machine."""
        try:
            self._wait_for_sshd(self._began + BOOT_TIMEOUT_SECONDS)
            self.shell.open()
            setup = disks.NAME_IN_ORDER + (disks.MAKE_VG0 if self._setup else "")
            self.run(setup, timeout_seconds=300)
        except BaseException:
            self.shutdown()
            raise
        self.boot_seconds = time.monotonic() - self._began

    def run(
        self,
        command: str | Sequence[str],
        *,
        stdin: bytes | str = b"",
        timeout_seconds: float = 120,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run an argv or a shell script in the lab as root; see Shell.run."""
        return self.shell.run(command, stdin=stdin, timeout_seconds=timeout_seconds, check=check)

    def freeze(self) -> None:
        """Stop the processors; what reaches the machine waits."""
        self._tell("stop")

    def thaw(self) -> None:
        """Let the processors go on."""
        self._tell("cont")

    def power_cycle(self) -> None:
        """Reset the machine as a power cut does, and wait until it has booted. Its disks keep what
        was written; nothing but the root disk is mounted, assembled or named anew here."""
        self.shell.close()
        self._tell("system_reset")
        self._wait_for_sshd(time.monotonic() + BOOT_TIMEOUT_SECONDS)
        self.shell.open()

    def wait(self) -> None:
        """Wait until the machine ends, as when `python -m tests.lab stop` stops it."""
        if self._qemu is not None:
            self._qemu.wait()

    def shutdown(self) -> None:
        """Stop at once. The disks are snapshots, so there is nothing to save."""
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

    def _launch(self, found: image.Image) -> None:
        self._began = time.monotonic()
        self.ssh_port = free_port()
        self.keys = keys.make(self.folder, self.ssh_port)
        self.shell = Shell(self.ssh_port, self.keys, self._short / "ssh")
        with (self.folder / "qemu.log").open("wb") as log:
            self._qemu = subprocess.Popen(
                # qemu ends with the process that started it, even when that is killed.
                [program("setpriv"), "--pdeathsig", "TERM", *self._command(found)],
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

    def _command(self, found: image.Image) -> list[str]:
        # Never probe KVM: on some machines /dev/kvm exists and hangs the guest.
        kvm = os.environ.get("LAB_ACCEL") == "kvm"
        command = [
            program("qemu-system-x86_64"),
            "-name", f"tiercel-lab-{self.name}",
            "-nodefaults", "-no-user-config", "-display", "none",
            "-accel", "kvm" if kvm else "tcg,thread=multi",
            "-cpu", "host" if kvm else "max",
            "-m", "1024", "-smp", "2",
            "-kernel", str(found.kernel), "-initrd", str(found.initrd), "-append", KERNEL_LINE,
            "-serial", f"file:{self.folder / 'console.log'}",
            "-qmp", f"unix:{self._short / 'qmp'},server=on,wait=off",
            "-drive", f"if=virtio,file={found.root},format=raw,snapshot=on",
            "-netdev", f"user,id=net0,hostfwd=tcp:127.0.0.1:{self.ssh_port}-:22",
            "-device", "virtio-net-pci,netdev=net0,romfile=",
            "-fw_cfg", f"name=opt/tiercel/authorized_key,file={self.keys.client}.pub",
            "-fw_cfg", f"name=opt/tiercel/host_key,file={self.keys.host}",
            "-object", "iothread,id=io0", "-device", "virtio-scsi-pci,id=scsi0,iothread=io0",
        ]  # fmt: skip
        for scsi_id, (disk, file) in enumerate(
            zip(disks.DISKS, disks.make_files(self.folder), strict=True)
        ):
            command += disk.arguments(scsi_id, file)
        return command

    def _tell(self, command: str) -> None:
        """A command of qemu's monitor."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(30)
            monitor.connect(str(self._short / "qmp"))
            lines = monitor.makefile("rw")
            lines.readline()
            for each in ("qmp_capabilities", command):
                lines.write(json.dumps({"execute": each}) + "\n")
                lines.flush()
                while "return" not in (answer := json.loads(lines.readline())):
                    if "error" in answer:
                        raise LabUnavailable(f"qemu refuses {each}: {answer['error']}")

    def _wait_for_sshd(self, deadline: float) -> None:
        """Read sshd's banner: qemu accepts connections long before anything in the lab does."""
        while time.monotonic() < deadline:
            if self._qemu is None or self._qemu.poll() is not None:
                log = (self.folder / "qemu.log").read_text(errors="replace")
                raise LabUnavailable(f"qemu ended while the lab booted: {log.strip()}")
            try:
                with socket.create_connection(("127.0.0.1", self.ssh_port), 1) as connection:
                    connection.settimeout(1)
                    if connection.recv(4) == b"SSH-":
                        return
            except OSError:
                pass
            time.sleep(0.1)
        raise LabUnavailable(
            f"The lab did not boot in {BOOT_TIMEOUT_SECONDS} s; see {self.folder / 'console.log'}."
        )


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
