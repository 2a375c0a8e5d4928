"""The lab, as a machine of the tests: a real kernel behind a real sshd."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.contract.lab_world import LabWorld
from tests.integration.machine import Argv
from tests.integration.until import until
from tests.lab import load
from tests.lab.vm import Lab

# In place of the link to lvm: stands still before it becomes what the link would have been.
HOLD = """#!/bin/bash
ln -sf lvm /usr/sbin/{program}
echo $$ > /run/held
kill -STOP $$
exec -a {program} /usr/sbin/lvm "$@"
"""

# Reads or writes a volume as its guest does: by the file that QEMU has open, past the page cache.
DATA = """
import contextlib, hashlib, mmap, os, pathlib, sys
what, device, left = sys.argv[1], os.path.realpath(sys.argv[2]), int(sys.argv[3])
for process in pathlib.Path("/proc").glob("[0-9]*"):
    # One may end while it is looked at.
    with contextlib.suppress(OSError):
        if (process / "comm").read_text().startswith("qemu"):
            for opened in (process / "fd").iterdir():
                if os.readlink(opened) == os.path.realpath(sys.argv[2]):
                    device = opened
file = os.open(device, os.O_DIRECT | (os.O_RDONLY if what == "read" else os.O_WRONLY))
block, digest = mmap.mmap(-1, 1 << 20), hashlib.sha256()
while left:
    if what == "read":
        assert os.readv(file, [block]) == len(block)
        digest.update(block)
    else:
        block[:] = os.urandom(len(block))
        assert os.writev(file, [block]) == len(block)
    left -= len(block)
os.fsync(file)
print(digest.hexdigest())
"""

SPARE = """
set -e
modprobe scsi_debug dev_size_mb=64
udevadm settle
name=$(ls /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block)
echo $name $(lsblk -dno SERIAL /dev/$name)
"""
NO_SPARE = """
vgreduce -qq vg0 /dev/{name}
pvremove -qq -y /dev/{name}
udevadm settle
modprobe -r scsi_debug
"""

REACH_SECONDS = 150
# LVM 2.03.31 (Debian 13) keeps no archive unless it is asked to.
KEEP_ARCHIVE = """
mkdir -p /etc/lvm/archive
cd /etc/lvm && grep -qs '^backup/archive=1' lvmlocal.conf || echo backup/archive=1 >> lvmlocal.conf
"""
# Few processes: a day of tests leaves thousands of files.
DESCRIPTIONS = """
find /etc/lvm/archive -type f -print0 | sort -z | xargs -0r grep -h ^description
"""
# More than the slow disks give (300), and little enough to leave the machine to the host's work.
LOAD_IOPS = 500


class HeldProcess:
    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def wait(self) -> None:
        until("the program is held", lambda: self._pid() != "", REACH_SECONDS)

    def resume(self) -> None:
        if pid := self._pid():
            self._lab.run(f"kill -CONT {pid}; rm -f /run/held", check=False)

    def _pid(self) -> str:
        return self._lab.run("cat /run/held 2>/dev/null", check=False).stdout.strip()


class LabMachine:
    name = "lab"
    address = "127.0.0.1"

    def __init__(self, world: LabWorld) -> None:
        """`world` must be bare: agent, account and policy come by the pasted line."""
        self.world = world
        self.lab = world.lab
        self.lab.run(KEEP_ARCHIVE)

    @property
    def port(self) -> int:
        return self.lab.ssh_port

    def panel_url(self, port: int) -> str:
        return f"http://{self.lab.panel_address}:{port}"

    def paste(self, line: str) -> None:
        self.lab.run(line)

    def run(self, argv: Argv) -> None:
        self.lab.run(list(argv))

    def fingerprint(self) -> str:
        return self.lab.keys.host_fingerprint

    def allow(self, vg: str) -> None:
        self.lab.run(["/usr/lib/tiercel/agent.pyz", "allow-vg", vg])
        self.lab.run(["/usr/lib/tiercel/agent.pyz", "hide-guests"])

    def forbid_all(self) -> None:
        self.world.allow([])

    def lvs(self) -> set[str]:
        return set(self.lab.run("lvs --noheadings -o lv_name vg0").stdout.split())

    def executed(self) -> list[str]:
        """LVM writes into its archive what command it is about to run."""
        described = self.lab.run(DESCRIPTIONS).stdout
        lines: list[str] = re.findall(r"(?m)\*before\* executing '(.*)'\"$", described)
        # A command that writes metadata several times is one command.
        return [each for n, each in enumerate(lines) if n == 0 or lines[n - 1] != each]

    def as_executed(self, argvs: Sequence[Argv]) -> list[str]:
        return [" ".join(argv) for argv in argvs if argv[0].startswith("lv")]

    @contextmanager
    def hold(self, program: str) -> Iterator[HeldProcess]:
        path = f"/usr/sbin/{program}"
        # Through a copy: writing to the path itself would write to lvm.
        self.lab.shell.write("/usr/sbin/hold", HOLD.format(program=program), 0o755)
        self.lab.run(["mv", "-f", "/usr/sbin/hold", path])
        held = HeldProcess(self.lab)
        try:
            yield held
        finally:
            self.lab.run(["ln", "-sf", "lvm", path])
            held.resume()

    def cut(self) -> None:
        self.lab.run("kill $(pgrep -f '^sshd(-session)?: tiercel')")

    def digest(self, lv: str, size_bytes: int) -> str:
        return self._data("read", lv, size_bytes)

    def write(self, lv: str, size_bytes: int) -> None:
        self._data("write", lv, size_bytes)

    def _data(self, what: str, lv: str, size_bytes: int) -> str:
        device = self.world.device(lv)
        done = self.lab.run(["python3", "-c", DATA, what, device, str(size_bytes)])
        return str(done.stdout.strip())

    @contextmanager
    def kept_dirty(self, lv: str) -> Iterator[None]:
        self.world.make_dirty(lv)
        yield

    @contextmanager
    def spare_ssd(self) -> Iterator[tuple[str, str]]:
        """Of memory, but to the kernel a SCSI disk without a rotation rate."""
        name, serial = self.lab.run(SPARE).stdout.split()
        try:
            yield name, serial
        finally:
            self.lab.run(NO_SPARE.format(name=name))

    @contextmanager
    def load(self, lv: str) -> Iterator[None]:
        device = self.world.device(lv)
        running = load.read_hot(self.lab, lv, device, limit_iops=LOAD_IOPS)
        try:
            # fio stopped before it has begun leaves no report.
            load.wait_until_reading(self.lab, device)
            yield
        finally:
            running.stop()
