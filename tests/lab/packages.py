"""The Debian packages that building and booting the lab needs on this machine."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
COMMAND_OF_PACKAGE = {
    "qemu-system-x86": "qemu-system-x86_64",
    "mmdebstrap": "mmdebstrap",
    "genext2fs": "genext2fs",
    "e2fsprogs": "resize2fs",
    "openssh-client": "ssh",
    "util-linux": "setpriv",
}

Say = Callable[[str], None]


class LabUnavailable(Exception):
    """The lab cannot be used on this machine; the message says what to do about it."""


def program(name: str) -> str:
    """Return the absolute path of `name`, also where /usr/sbin is not on PATH."""
    found = shutil.which(name, path=SEARCH_PATH)
    if found is None:
        raise LabUnavailable(f"{name} is not installed. {correction()}")
    return found


def is_root() -> bool:
    """Tell whether we may install packages and build without user namespaces."""
    return os.geteuid() == 0


def missing_packages() -> list[str]:
    """Return the Debian packages the lab still needs here, sorted; [] when all are present."""
    missing = {
        package
        for package, command in COMMAND_OF_PACKAGE.items()
        if shutil.which(command, path=SEARCH_PATH) is None
    }
    if not KEYRING.exists():
        missing.add("debian-archive-keyring")
    if not is_root() and shutil.which("newuidmap", path=SEARCH_PATH) is None:
        missing.add("uidmap")
    return sorted(missing)


def correction() -> str:
    """Return the line an administrator types to make the lab possible."""
    return f"As root: apt-get install --no-install-recommends {' '.join(missing_packages())}"


def install_packages(say: Say) -> None:
    """Install what is missing with apt-get, saying which packages first.

    Raises LabUnavailable when something is missing and we are not root, when this is no Debian
    family machine, or when apt-get fails.
    """
    missing = missing_packages()
    if not missing:
        return
    if not is_root():
        raise LabUnavailable(f"The lab needs {', '.join(missing)}. {correction()}")
    if shutil.which("apt-get") is None:
        raise LabUnavailable(
            f"The lab needs {', '.join(missing)}, and this machine has no apt-get to install them."
        )
    say(f"Installing Debian packages for the lab: {' '.join(missing)}")
    _apt_get("update")
    _apt_get("install", "-y", "--no-install-recommends", *missing)


def _apt_get(*arguments: str) -> None:
    done = subprocess.run(
        ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise LabUnavailable(
            f"apt-get {arguments[0]} failed: {done.stderr.strip()[-2000:]}\n"
            "Check the package sources in /etc/apt, then run the same command again."
        )
