"""Throw-away SSH keys, made anew for each boot and handed to the machine through fw_cfg."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.lab.packages import program


@dataclass(frozen=True, slots=True)
class Keys:
    """Paths in the lab's state folder."""

    client: Path
    host: Path
    known_hosts: Path

    @property
    def host_public(self) -> str:
        """The machine's own public key, `ssh-ed25519 AAAA…`, as sshd will present it."""
        return self.host.with_suffix(".pub").read_text().strip()

    @property
    def host_fingerprint(self) -> str:
        """The SHA256 fingerprint of the machine's key, as ssh-keygen -l prints it."""
        return fingerprint(self.host.with_suffix(".pub"))


def make(folder: Path, port: int) -> Keys:
    """Write a client key, a host key and the known_hosts line for 127.0.0.1:port into `folder`."""
    keys = Keys(folder / "id_ed25519", folder / "host_ed25519", folder / "known_hosts")
    for path in (keys.client, keys.host):
        path.unlink(missing_ok=True)
        path.with_suffix(".pub").unlink(missing_ok=True)
        subprocess.run(
            [program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(path)],
            check=True,
        )
    keys.known_hosts.write_text(f"[127.0.0.1]:{port} {keys.host_public}\n")
    return keys


def fingerprint(public_key: Path) -> str:
    """Return `SHA256:…` of a public key file."""
    done = subprocess.run(
        [program("ssh-keygen"), "-l", "-E", "sha256", "-f", str(public_key)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()[1]
