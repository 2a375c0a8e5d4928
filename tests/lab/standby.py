"""A machine as it stood just after its boot, kept beside its image: waking it spares the boot,
which without KVM costs half a minute of both processors.

Its four disks are bare and Tiercel has never been there, so what wakes is as fresh as what boots.
What must differ from start to start (keys, machine-id) is given to it on waking; qemu's
vmgenid device tells the kernel to begin its random numbers anew.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from tests.lab.keys import Keys
from tests.lab.monitor import Monitor, connect
from tests.lab.packages import LabUnavailable, program
from tests.lab.shell import Shell

HERE = Path(__file__).parent
SOURCES = ("vm.py", "disks.py", "standby.py")
PREFIX = "standby-"
PARTS = ("memory", "root.qcow2", "id_ed25519", "host_ed25519.pub")
ROOT_DEVICE = "root"
# qemu's default holds a live migration back to what a network bears.
BYTES_PER_SECOND = 1 << 40
WAKE_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Standby:
    """A folder with the memory, what the boot wrote to the root disk, and the keys it knew."""

    folder: Path

    @property
    def exists(self) -> bool:
        """Whether every part is there; a folder gets its name when it is complete."""
        return all((self.folder / part).exists() for part in PARTS)

    @property
    def root(self) -> Path:
        """The root disk, a layer over the image."""
        return self.folder / "root.qcow2"

    def arguments(self) -> list[str]:
        """qemu's arguments that begin with the kept memory instead of a boot."""
        return ["-incoming", f"exec:cat {shlex.quote(str(self.folder / 'memory'))}"]

    def keep(self, socket: Path, image: Path, keys: Keys) -> None:
        """Write the running machine, which stands still meanwhile. Raises LabUnavailable where
        qemu refuses, OSError where there is no room; the machine goes on in any case."""
        # Two machines may boot beside each other.
        partial = self.folder.parent / f"partial-{os.getpid()}"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            with connect(socket) as machine:
                _write(machine, partial, image)
            for key in (
                keys.client,
                keys.client.with_suffix(".pub"),
                keys.host.with_suffix(".pub"),
            ):
                shutil.copy2(key, partial)
            for other in self.folder.parent.glob(f"{PREFIX}*"):
                shutil.rmtree(other)
            partial.rename(self.folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def go_on(self, socket: Path) -> None:
        """Let the machine run once qemu has loaded it: it was kept standing still."""
        with connect(socket) as machine:
            while machine.tell("query-status")["status"] == "inmigrate":
                time.sleep(0.05)
            machine.tell("cont")

    def wake(self, port: int, short: Path) -> None:
        """Give the machine, which runs again, a new identity.

        Raises LabUnavailable, LabCommandFailed or TimeoutExpired where it does not answer.
        """
        known_hosts = short / "standby_hosts"
        host = (self.folder / "host_ed25519.pub").read_text().strip()
        known_hosts.write_text(f"[127.0.0.1]:{port} {host}\n")
        kept = Keys(self.folder / "id_ed25519", self.folder / "host_ed25519", known_hosts)
        Shell(port, kept, short / "standby").run(
            # In place, as systemd may have it mounted.
            f"echo {uuid.uuid4().hex} > /etc/machine-id\n"
            # They are in the firmware of this start, as in that of each boot. sshd reads its own
            # key when it starts (`reload` does not wait for that), and this connection lives on.
            "/usr/local/sbin/lab-keys && systemctl restart ssh",
            timeout_seconds=WAKE_SECONDS,
        )

    def forget(self) -> None:
        """Remove it: the next start boots."""
        shutil.rmtree(self.folder, ignore_errors=True)


def of(image_folder: Path) -> Standby:
    """The standby of an image for this qemu and the machine that our source describes. The layer
    names its image by its path, so a folder that was moved has none."""
    version = subprocess.run(
        [program("qemu-system-x86_64"), "--version"], capture_output=True, text=True, check=True
    ).stdout
    known = hashlib.sha256(f"{version}\0{image_folder}".encode())
    for source in SOURCES:
        known.update((HERE / source).read_bytes())
    return Standby(image_folder / f"{PREFIX}{known.hexdigest()[:16]}")


def _write(machine: Monitor, folder: Path, image: Path) -> None:
    machine.tell("stop")
    try:
        _write_layer(machine, folder / "root.qcow2", image)
        machine.tell("migrate-set-parameters", **{"max-bandwidth": BYTES_PER_SECOND})
        machine.tell("migrate", uri=f"exec:cat > {shlex.quote(str(folder / 'memory'))}")
        while (status := machine.tell("query-migrate")["status"]) != "completed":
            if status in ("failed", "cancelled"):
                raise LabUnavailable("qemu could not write the machine's memory.")
            time.sleep(0.1)
    finally:
        machine.tell("cont")


def _write_layer(machine: Monitor, layer: Path, image: Path) -> None:
    """Copy the temporary layer of the root disk into a file over the image.

    Not by `drive-backup`: it hands the temporary layer's flags on to what it opens, among them
    "remove this file when opened", and so removes the image.
    """
    file = {"driver": "file", "filename": str(layer)}
    qcow2 = {"driver": "qcow2", "file": "layer-file"}
    over = {"backing-file": str(image), "backing-fmt": "raw", "size": image.stat().st_size}
    _finish(machine, "blockdev-create", options={**file, "size": 0})
    machine.tell("blockdev-add", **file, **{"node-name": "layer-file"})
    _finish(machine, "blockdev-create", options={**qcow2, **over})
    machine.tell("blockdev-add", **qcow2, **{"node-name": "layer", "backing": None})
    _finish(machine, "blockdev-backup", device=ROOT_DEVICE, target="layer", sync="top")
    for node in ("layer", "layer-file"):
        machine.tell("blockdev-del", **{"node-name": node})


def _finish(machine: Monitor, command: str, **arguments: object) -> None:
    """Run a job of qemu to its end."""
    # A block job is dismissed automatically by default; a creation stays, without such an option.
    stay = {} if command == "blockdev-create" else {"auto-dismiss": False}
    machine.tell(command, **{"job-id": "keep"}, **stay, **arguments)
    machine.wait_for("JOB_STATUS_CHANGE", id="keep", status="concluded")
    (job,) = machine.tell("query-jobs")
    machine.tell("job-dismiss", id="keep")
    if problem := job.get("error"):
        raise LabUnavailable(f"qemu could not do {command}: {problem}")
