"""A libvirtd of its own, with QEMU without KVM, in namespaces of its own: its files, its sockets
and its domains are its own, and end with it. Needs root and Debian's libvirt packages."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from storage.agent.realhost import RealHost

PROGRAMS = ("libvirtd", "virsh", "qemu-system-x86_64", "losetup", "unshare", "nsenter")
SECONDS = 60.0
FOLDERS = (
    "/etc/libvirt",
    "/run/libvirt",
    *(f"/var/{at}/libvirt" for at in ("lib", "cache", "log")),
)
# The shell takes in the processes that libvirt leaves behind.
INIT = f"""set -e
for folder in {" ".join(FOLDERS)}; do mkdir -p $folder; mount -t tmpfs tmpfs $folder; done
for file in passwd group; do
  cp /etc/$file /etc/libvirt/$file; mount --bind /etc/libvirt/$file /etc/$file
done
echo libvirt-qemu:x:64055:64055::/:/bin/false >> /etc/libvirt/passwd
echo libvirt-qemu:x:64055: >> /etc/libvirt/group
cat > /etc/libvirt/qemu.conf << END
security_driver = "none"
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
END
printf 'auth_unix_rw = "none"\\nauth_unix_ro = "none"\\n' > /etc/libvirt/libvirtd.conf
libvirtd -p /run/libvirt/libvirtd.pid & wait
"""


def missing() -> str:
    """Why there can be no libvirtd here; "" where there can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"needs {', '.join(lacking)}"
    return "needs root" if os.geteuid() != 0 else ""


class Libvirtd:
    """Where it runs, and virsh as a person types it."""

    def __init__(self, folder: Path, pid: int) -> None:
        self.folder = folder
        self.pid = pid

    def within(self, *words: str) -> list[str]:
        return ["nsenter", "-t", str(self.pid), "-m", "--", *words]

    def virsh(self, *words: str) -> str:
        command = self.within("virsh", "-q", "-c", "qemu:///system", *words)
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd="/")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def define(self, name: str, uuid: str, disk: str) -> None:
        """A domain with one disk, of which this is the XML; it starts paused."""
        path = self.folder / f"{uuid}.xml"
        path.write_text(
            f"<domain type='qemu'><name>{name}</name><uuid>{uuid}</uuid>"
            "<memory unit='MiB'>32</memory><os><type arch='x86_64' machine='pc'>hvm</type></os>"
            f"<devices><disk device='disk' {disk}<target dev='vda' bus='virtio'/></disk>"
            "<controller type='usb' model='none'/><memballoon model='none'/></devices></domain>"
        )
        self.virsh("define", str(path))
        self.virsh("start", "--paused", name)

    @contextmanager
    def standing_still(self, words: str) -> Iterator[None]:
        """Stop the process with these words in its command line: it answers no call."""
        (pid,) = (pid for pid in self._pids() if words in command_line(pid))
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextmanager
    def without_socket(self) -> Iterator[None]:
        """As while libvirtd is not there."""
        socket = "/run/libvirt/libvirt-sock"
        subprocess.run(self.within("mv", socket, f"{socket}.away"), check=True)
        try:
            yield
        finally:
            subprocess.run(self.within("mv", f"{socket}.away", socket), check=True)

    def _pids(self) -> list[int]:
        """Of all in there but the first."""
        wanted = Path(f"/proc/{self.pid}/ns/pid").readlink()
        found = []
        for entry in Path("/proc").glob("[1-9]*"):
            try:
                if (entry / "ns/pid").readlink() == wanted and entry.name != str(self.pid):
                    found.append(int(entry.name))
            except OSError:
                continue  # it has ended
        return found


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


class Inside(RealHost):
    """The host as its agent sees it: libvirt's files and its virsh are the ones in there."""

    def __init__(self, libvirtd: Libvirtd, folder: Path) -> None:
        super().__init__(folder / "ops", folder / "locks")
        self._libvirtd = libvirtd

    def run(self, argv: Sequence[str], **options: Any) -> Any:
        words = self._libvirtd.within(*argv) if argv[0] == "virsh" else argv
        return super().run(words, **options)

    def read(self, path: str) -> bytes | None:
        return super().read(self._there(path))

    def list(self, path: str) -> Sequence[str]:
        return super().list(self._there(path))

    def _there(self, path: str) -> str:
        return f"/proc/{self._libvirtd.pid}/root{path}" if path.startswith(FOLDERS) else path


@contextmanager
def started(folder: Path) -> Iterator[Libvirtd]:
    """A libvirtd that answers."""
    words = ["unshare", "-m", "-n", "--pid", "--fork", "--kill-child", "--mount-proc"]
    log = (folder / "libvirtd.log").open("wb")
    process = subprocess.Popen(
        [*words, "--propagation", "private", "sh", "-c", INIT],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    try:
        yield Libvirtd(folder, _ready(process, folder))
    finally:
        process.kill()
        process.wait(SECONDS)
        log.close()


def _ready(process: subprocess.Popen[bytes], folder: Path) -> int:
    """The first process in there, once libvirtd answers."""
    deadline = time.monotonic() + SECONDS
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while time.monotonic() < deadline and process.poll() is None:
        inside = children.read_text().split()
        if inside:
            command = Libvirtd(folder, int(inside[0])).within(
                "virsh", "-c", "qemu:///system", "uri"
            )
            asked = subprocess.run(command, capture_output=True, timeout=SECONDS)
            if asked.returncode == 0:
                return int(inside[0])
        time.sleep(0.1)
    raise AssertionError((folder / "libvirtd.log").read_text())


@contextmanager
def loop_device(path: Path, size_bytes: int) -> Iterator[str]:
    """A block device of this size."""
    with path.open("wb") as file:
        file.truncate(size_bytes)
    done = subprocess.run(
        ["losetup", "-f", "--show", str(path)], capture_output=True, text=True, check=True
    )
    device = done.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


def enlarge(path: Path, device: str, size_bytes: int) -> None:
    os.truncate(path, size_bytes)
    subprocess.run(["losetup", "-c", device], check=True)
